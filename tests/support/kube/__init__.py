"""Stages, servers and credentials for the calls and watches of ``kube``."""
