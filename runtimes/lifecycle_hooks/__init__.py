"""What a container's ``lifecycle`` says: hooks that are carried out after its start and before its stop.

The runtime of pods tells ``HookRunner`` which hook to run (``RunHook``). That asks the runtime of
containers to run a command, or speaks HTTP on the loop of all hooks, each within its time, and tells how
it ended (``HookEnded``).
"""
