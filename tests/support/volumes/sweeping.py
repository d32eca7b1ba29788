"""Unmounting what an agent that was killed, or a test that failed, has left."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from actors.volumes.mounts.mount_table import mounts_below
from actors.volumes.mounts.system_calls import KernelMounts


def sweep(place: Path) -> list[str]:
    """Unmount all below a place, and return what there was."""
    found = mounts_below(KernelMounts().table(), str(place.resolve()))
    for each in reversed(found):
        with suppress(OSError):
            KernelMounts().unmount(each.path, lazily=True)
    return [each.path for each in found]


def sweep_garbage() -> list[str]:
    """Unmount what runs that were killed have left where pytest tries to remove it; return what there was.

    It renames a directory first, so nobody uses what it could not remove.
    """
    places = Path(tempfile.gettempdir()).glob("pytest-of-*/garbage-*")
    return [path for place in places for path in sweep(place)]
