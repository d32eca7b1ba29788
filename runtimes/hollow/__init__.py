"""A runtime of containers that run nothing: all states of a real one, in memory.

``HollowContainers`` hears what a runtime of containers hears, the hooks and the probes too, and tells
what happens by itself. Annotations of a pod and rules say how its containers behave. With records
``HollowRecordKeeper`` saves each pod that changed, for the next process.
"""
