"""The worker of one pod.

- ``actor`` carries the pod through its life, which ``actors.pods.lifecycle`` decides on; ``parts`` is whom
  it talks to, and what outlives it.
- ``commands`` is what it tells the runtime, ``news`` what it tells of the pod, ``keeping`` what it has kept
  on disk, and ``deadline`` when the pod has run for as long as it may.
- ``supply`` is what the pod is run with: ``needs`` of its variables (``object_reading`` with
  ``needed_objects``, and ``service_following``), and ``volumes``.
- ``probes`` is what follows from them: ``wanted_probes`` has them run, ``probe_reading`` says what counts.
- ``changes`` is what it hears of objects that changed: ``hooks`` acts on them by ``signals`` and restarts,
  for which there are ``turns``; ``object_hooks`` decides, ``hook_reports`` tells of it, and ``hook_memory``
  outlives it. Most pods have none of this.
"""
