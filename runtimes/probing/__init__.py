"""Carries out the probes of containers that really run: over sockets, and by commands in the containers."""
