"""A runtime of containers that run nothing: all states of a real one, in memory.

``HollowContainers`` hears what a runtime of containers hears, the hooks and the probes too, and tells what
happens by itself. ``core`` decides all of it: ``machine`` is what there is and what each step does to it,
``probing`` and ``questions`` are what containers answer. ``behaviours`` and ``rules`` say how
containers behave. With records, ``saved`` and ``record_file`` save each pod that changed for the next
process.
"""
