"""Volumes of pods: what their files are, how directories show them, and what is mounted for them.

Everything here is a pure function, or may block and belongs on a thread. Nobody here decides when, and nobody
keeps a lock: a call that hangs can be left to its thread.
"""
