"""The worker of one pod.

- ``actor`` carries the pod through its life, which ``actors.pods.lifecycle`` decides on; ``parts`` is whom
  it talks to, and what outlives it.
- ``commands`` is what it tells the runtime, ``news`` what it tells of the pod, and ``keeping`` what it has
  kept on disk.
- ``supply`` is what the pod is run with: objects of its variables (``needed_objects``), Services, and
  ``volumes``.
- ``probes`` has the pod's probes run; ``probe_reading`` says what counts of them.
- ``hooks`` is what follows from objects that changed: ``object_hooks`` decides and remembers, and
  ``hook_actions`` sends signals and restarts containers. Most pods have none of this.
"""
