"""Small file systems in memory for tests. Only root mounts them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

_IN_MEMORY: Final = Path("/dev/shm")  # for tests alone

needs_root: Final = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a tmpfs")


@contextmanager
def quick_place(usual: Path) -> Iterator[Path]:
    """Have a directory in memory for the ``with`` block, or ``usual`` where there is no such place."""
    if not _IN_MEMORY.is_dir():
        yield usual
        return
    with TemporaryDirectory(dir=_IN_MEMORY) as place:
        yield Path(place)


@contextmanager
def small_disk(place: Path, options: str) -> Iterator[Path]:
    """Have a tmpfs mounted at ``place`` for the ``with`` block."""
    with _mounted(place, "-t", "tmpfs", "-o", options, "tmpfs"):
        yield place


@contextmanager
def shown_again(directory: Path, place: Path) -> Iterator[Path]:
    """Have a directory mounted at ``place``, too, for the ``with`` block."""
    with _mounted(place, "--bind", str(directory)):
        yield place


@contextmanager
def _mounted(place: Path, *how: str) -> Iterator[None]:
    place.mkdir()
    subprocess.run(["mount", *how, str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)
