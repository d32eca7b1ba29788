"""The lives of pods on this node: who runs, who waits, who stops, and what people are told of it.

PodManager tells ``PodKeeper`` which pods there are; it admits them, starts a ``PodWorker`` for each and
tells it what is wished. The worker asks for objects, volumes and probes, tells the runtime what should
run, hears what runs, and tells ``StatusKeeper``, which writes the status at the API server.

- ``keeper`` keeps all pods of this node: ``pod_workers`` decides over ``pod_workers_state`` by
  ``pod_workers_steps``, with ``admission`` and ``node_fit``; ``keeper_work`` and ``launcher``
  carry that out, and ``times`` counts how long it takes.
- ``worker`` carries one pod through its life, as ``lifecycle`` has it; ``orders`` is what it and the keeper
  tell each other.
- ``status_keeper`` has the statuses of pods, which ``status_writer`` writes to the API server as
  ``status_writes`` decides. ``records`` is what is kept on disk for the next process, and
  ``rollout_keeper`` lets one container of a group restart at a time.
"""
