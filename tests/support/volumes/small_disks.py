"""Small file systems in memory for tests. Only root mounts them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

needs_root: Final = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a tmpfs")


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
