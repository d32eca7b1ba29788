"""Cgroups as a kubelet keeps them: one for each pod, below one for each class of quality of service.

``limits_of_pod`` and ``container_resources`` are pure: they turn a specification into limits.
"""
