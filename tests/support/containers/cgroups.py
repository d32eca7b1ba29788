"""Cgroups that tests have made: found in every hierarchy, and removed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def hierarchies() -> Iterator[Path]:
    """Yield where each cgroup hierarchy is mounted: one of them with cgroup v2 alone."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, target, kind, *_ = line.split()
        if kind in {"cgroup", "cgroup2"}:
            yield Path(target)


def make_cgroup(name: str) -> None:
    """Make a cgroup in every hierarchy, if it is not there."""
    for hierarchy in hierarchies():
        (hierarchy / name.strip("/")).mkdir(exist_ok=True)


def remove_cgroup(name: str) -> None:
    """Remove an empty cgroup with all below it, in every hierarchy. ``name`` is its path from the root."""
    name = name.strip("/")
    if not name or ":" in name:  # A slice of systemd, which removes it by itself.
        return
    for hierarchy in hierarchies():
        top = hierarchy / name
        if top.is_dir():
            below = sorted((path for path in top.rglob("*/")), reverse=True)
            for path in (*below, top):
                with suppress(OSError):
                    path.rmdir()


def cgroups_below(name: str) -> list[Path]:
    """Return every cgroup below one, in every hierarchy."""
    found = (
        path for hierarchy in hierarchies() for path in (hierarchy / name.strip("/")).rglob("*/")
    )
    return sorted(found)
