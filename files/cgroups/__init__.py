"""The cgroups of this machine: which file systems there are, and making, limiting and removing in them.

Under v1, v2 and both, by folders or by slices of systemd. Who wants which cgroup is not known here.
"""
