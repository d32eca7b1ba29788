"""Runtimes of pods that somebody else wrote, as a Python class."""
