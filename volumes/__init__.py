"""Volumes of pods: what their files are, and how directories show them.

Everything here is a pure function, or may block and belongs on a thread. Nobody here decides when.
"""
