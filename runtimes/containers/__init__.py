"""Runs pods as containers: the runtime of pods that drives any runtime of containers.

- ``shape`` is what a pod's specification says of its containers, ``contents`` what the runtime has of it
  and what is remembered beside that, and ``situation`` all that a decision looks at.
- ``plan`` decides what to do next with one pod. ``container_steps``, ``running_steps``, ``images`` and
  ``stopping`` are its parts, ``crash_backoff`` and ``manifests.restart_rules`` its rules.
- ``commands`` is what commands change of a pod, ``learning`` what answers and exits teach of it.
  ``observing`` is what others are told of it, ``event_texts`` what people are told, and ``pod_reporter``
  tells it.
- ``actor`` hears it all, and ``driver`` brings a pod a step further. ``record`` is what is kept of each pod,
  ``calls`` and ``hook_calls`` have what is in flight, and ``pod_turns`` who is next.
"""
