"""The lives of pods on this node: who runs, who waits, who stops, and what people are told of it.

PodManager tells ``PodKeeper`` which pods there are; it admits them, starts a ``PodWorker`` for each and
tells it what is wished. The worker asks for objects, volumes and probes, tells the runtime what should
run, hears what runs, and tells ``StatusKeeper``, which writes the status at the API server.

- ``keeper`` keeps all pods of this node: ``roster`` decides over ``pod_records``, with ``admission``,
  ``replacements``, ``resizes`` and ``preemption``; ``keeper_work`` and ``launcher`` carry that out.
- ``worker`` carries one pod through its life, as ``lifecycle`` has it.
- ``status_keeper`` writes the statuses of pods to the API server, ``records`` keeps on disk what the next
  process is to know, and ``rollout_keeper`` lets one container of a group restart at a time.
"""
