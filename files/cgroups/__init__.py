"""The cgroups of this machine, under v1, v2 and both, as folders or as slices of systemd.

``mounts`` finds the file systems, ``names`` names the cgroups of pods. A tree makes, limits and removes
cgroups: one of ``kernel_trees``, or ``systemd_tree`` over one of these. ``limits`` has what a tree writes,
pure. The limits of a pod are decided above.
"""
