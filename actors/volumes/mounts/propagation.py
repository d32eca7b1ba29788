"""Whether mounts of the node can propagate into a container, or out of it, as a pod demands it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from actors.volumes.mounts.mount_table import MountPoint, mount_over

BIDIRECTIONAL: Final = "Bidirectional"
HOST_TO_CONTAINER: Final = "HostToContainer"


def propagation_trouble(mounts: Sequence[MountPoint], path: str, wanted: str) -> str:
    """Return why ``path`` cannot be mounted with this ``mountPropagation``; empty if it can.

    The path has to be absolute, and without links.
    """
    over = mount_over(mounts, path)
    if over is None or wanted not in {BIDIRECTIONAL, HOST_TO_CONTAINER}:
        return ""
    where = f"path {path!r} is mounted on {over.path!r}"
    if wanted == BIDIRECTIONAL:
        return "" if over.is_shared else f"{where} but it is not a shared mount"
    return (
        ""
        if over.is_shared or over.is_follower
        else f"{where} but it is not a shared or slave mount"
    )
