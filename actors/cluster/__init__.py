"""What containers depend on in the cluster beside objects: its Services and its RuntimeClasses.

``ServiceKeeper`` and ``RuntimeClassKeeper`` follow theirs by one watch each, from the first follower on.
Workers of pods follow the level of the Services of their namespace and tell the runtime with the pod; the
runtime of containers follows that of the RuntimeClasses. ``known_services`` has as much of a Service as
variables need.
"""
