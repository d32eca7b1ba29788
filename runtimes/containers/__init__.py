"""Runs pods as containers: the runtime of pods that drives any runtime of containers.

- ``shape`` is what a pod's specification says of its containers, ``hashes`` and ``image_names`` belong to
  it.
- ``plan`` decides what to do next with one pod: ``container_steps``, ``running_steps``, ``stopping`` and
  ``leftovers`` are its parts, ``crash_backoff`` and ``manifests.restart_rules`` its rules, ``situation`` what
  it looks at.
- ``learning`` is what answers and facts teach of one pod, ``observing`` what others are told of it, and
  ``sayings`` what people are told.
- ``actor`` is around it all; ``record`` is what it keeps of each pod, and ``calls`` of each call.
"""
