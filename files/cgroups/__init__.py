"""The cgroups of this machine, under v1, v2 and both, as folders or as slices of systemd.

``mounts`` says which file systems there are, ``names`` what the cgroups of pods are called. A tree makes,
limits and removes them: ``v1_tree``, ``v2_tree``, and ``systemd_tree`` over one of these; ``writes`` and
``slices`` are what it writes, pure. Which limits a pod has is decided above.
"""
