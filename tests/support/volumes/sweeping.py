"""Unmounting what an agent that was killed, or a test that failed, has left."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from volumes.mounts.mount_table import mounts_below
from volumes.mounts.system_calls import KernelMounts


def sweep(place: Path) -> list[str]:
    """Unmount all below a place, and return what there was."""
    found = mounts_below(KernelMounts().table(), str(place.resolve()))
    for each in reversed(found):
        with suppress(OSError):
            KernelMounts().unmount(each.path, lazily=True)
    return [each.path for each in found]
