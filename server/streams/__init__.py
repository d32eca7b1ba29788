"""Streams to containers: ``kubectl exec``, ``attach`` and ``port-forward``.

``upgrades`` decides, pure: what a request asks for, which head goes to the container runtime, and where that
may be. ``dialling`` connects to the runtime and reads its answer. Not a byte behind the two heads is looked
at: what the runtime has accepted is switched, and the door copies it.
"""
