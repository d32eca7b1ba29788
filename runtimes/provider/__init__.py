"""Runtimes of pods that somebody else wrote, as a Python class: a provider.

The worker of a pod tells the runtime what should run, as any other. It calls the class on threads, one
call for each pod at a time (``plan`` decides which), follows what the class reports, and tells the worker
what is observed.
"""
