"""What is mounted, as ``/proc/self/mountinfo`` says it. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")
_LEAST_FIELDS: Final = 6
_LEAST_KINDS: Final = 3
_UNITS: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class MountPoint:
    """One mount."""

    number: int
    """The kernel's own. No two mounts have the same at one time."""
    device: str
    """Its file system: the kernel's two numbers of it, as ``8:1``."""
    root: str
    """What of its file system is mounted: ``/`` for all of it."""
    path: str
    options: frozenset[str]
    """Of this mount."""
    tags: frozenset[str]
    """Of its propagation: ``shared:N``, ``master:N``, ``unbindable``."""
    kind: str
    """The type of the file system."""
    super_options: frozenset[str]
    """Of the file system."""

    @property
    def is_shared(self) -> bool:
        """Whether what is mounted below it appears in its peers, and the other way round."""
        return any(tag.startswith("shared:") for tag in self.tags)

    @property
    def is_follower(self) -> bool:
        """Whether what is mounted below its master appears in it."""
        return any(tag.startswith("master:") for tag in self.tags)

    @property
    def size(self) -> int | None:
        """Bytes that a file system in memory may have; None if none are named."""
        return _amount(self.super_options, "size=")


def mounts_of(mountinfo: bytes) -> tuple[MountPoint, ...]:
    """Return the mounts that the text names, in its order. Lines that cannot be read count as absent."""
    return tuple(_mounts(mountinfo.split(b"\n")))


def mounts_below(mounts: Iterable[MountPoint], directory: str) -> tuple[MountPoint, ...]:
    """Return what is mounted at ``directory`` and below it. The path has to be without links."""
    start = directory.rstrip("/") + "/"
    return tuple(each for each in mounts if f"{each.path.rstrip('/')}/".startswith(start))


def mount_at(mounts: Iterable[MountPoint], path: str) -> MountPoint | None:
    """Return what is mounted at exactly this path. Of several, the last one hides the others."""
    found = None
    for each in mounts:
        if each.path == path:
            found = each
    return found


def mount_over(mounts: Sequence[MountPoint], path: str) -> MountPoint | None:
    """Return the mount that a path is in. The path has to be absolute, and without links."""
    best: MountPoint | None = None
    for each in mounts:
        start = each.path.rstrip("/") + "/"
        is_in = f"{path.rstrip('/')}/".startswith(start)
        if is_in and (best is None or len(each.path) >= len(best.path)):
            best = each
    return best


def _mounts(lines: Iterable[bytes]) -> Iterator[MountPoint]:
    for line in lines:
        before, dash, after = line.partition(b" - ")
        fields, kinds = before.split(b" "), after.split(b" ")
        is_whole = dash and len(fields) >= _LEAST_FIELDS and len(kinds) >= _LEAST_KINDS
        if is_whole and fields[0].isdigit():
            yield MountPoint(
                number=int(fields[0]),
                device=_plain(fields[2]),
                root=_plain(fields[3]),
                path=_plain(fields[4]),
                options=_words(fields[5], b","),
                tags=_words(b" ".join(fields[6:]), b" "),
                kind=_plain(kinds[0]),
                super_options=_words(kinds[2], b","),
            )


@lru_cache(maxsize=256)
def _words(text: bytes, between: bytes) -> frozenset[str]:
    """Return the words of a field. Most mounts have the same ones, which are kept once."""
    return frozenset(_plain(word) for word in text.split(between) if word)


def _plain(escaped: bytes) -> str:
    r"""Return a name without its escapes: blanks and backslashes are written as ``\040``."""
    if b"\\" in escaped:
        escaped = _ESCAPED.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), escaped)
    return os.fsdecode(escaped)


def _amount(options: Iterable[str], name: str) -> int | None:
    for option in options:
        if option.startswith(name):
            text = option.removeprefix(name).lower()
            unit = _UNITS.get(text[-1:], 1)
            digits = text[:-1] if text[-1:] in _UNITS else text
            return int(digits) * unit if digits.isascii() and digits.isdigit() else None
    return None


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
