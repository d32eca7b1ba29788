"""What a look found, as values: signatures of files, what is at a path, and whether a file there has settled.

A signature is what differs between two states of a file without reading it, and who may read it.

No system call tells that a writer is done. A very recent modification time tells that it may not be. Who
writes elsewhere and renames the file does not have to wait, since that keeps the time of writing.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from messages.units import Seconds, Timestamp

TIMESTAMP_GRANULE: Final = Seconds(2.0)
"""Two writes this close may leave the same modification time: 2 s on FAT, 1 s on old NFS, 4 ms elsewhere."""


class Signature(NamedTuple):
    """What differs between two states of a file. For a link it is that of its *target*.

    The inode alone is not enough: a file system gives the number of a deleted file to the next one.
    """

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    mode: int = 0
    """Type and permissions."""

    @classmethod
    def of(cls, status: os.stat_result) -> Signature:
        """Return the signature in ``status``."""
        return cls(
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_mode,
        )

    def is_of(self, status: os.stat_result) -> bool:
        """Return whether this is the signature in ``status``; takes half the time of making that."""
        return (
            self.modified_ns == status.st_mtime_ns
            and self.changed_ns == status.st_ctime_ns
            and self.inode == status.st_ino
            and self.size == status.st_size
            and self.mode == status.st_mode
            and self.device == status.st_dev
        )

    @property
    def modified(self) -> Timestamp:
        """When the content was last written, as the file system (or its server) believes."""
        return Timestamp(self.modified_ns / 1e9)

    @property
    def is_open_to_others(self) -> bool:
        """Whether users who neither own the file nor are in its group may read or write it."""
        return bool(self.mode & stat.S_IRWXO)

    def is_final(self, seen: Timestamp) -> bool:
        """Return whether any write after ``seen`` is sure to change this signature.

        It is not if the last change was so close to ``seen`` that another one may have the same time.
        """
        return max(self.modified_ns, self.changed_ns) / 1e9 <= seen - TIMESTAMP_GRANULE


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The bytes of a regular file. The ``repr`` does not show them, since they may hold a password."""

    data: bytes = field(repr=False)
    torn: bool = False
    """The file was written to while it was read: part of it may be missing."""


class ProblemKind(StrEnum):
    """Why there is no content, in one word."""

    UNREADABLE = "unreadable"
    """Permissions, an I/O error, a link that leads nowhere."""
    NOT_A_FILE = "not_a_file"
    """A directory, fifo, socket or device."""
    TOO_LARGE = "too_large"
    """``SIZE_LIMIT`` bytes or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something has this name, but it cannot be read as a file."""

    kind: ProblemKind
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A name that files of users do not have. The file was not touched."""

    reason: str


Found: TypeAlias = Content | Problem | Ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One name in a directory, and what was found there."""

    name: str
    path: Path
    found: Found
    signature: Signature | None = None
    """None for an ignored name. That of the link itself if it leads nowhere."""
    final: bool = field(default=False, compare=False, repr=False)
    """The same signature in a later look proves the same content."""

    @property
    def is_open_to_others(self) -> bool:
        """Whether anybody on this machine may read or write it."""
        return self.signature is not None and self.signature.is_open_to_others

    def says_the_same_as(self, other: Entry) -> bool:
        """Whether content, or problem, and possible readers are the same. Names and times may differ."""
        return self.found == other.found and self.is_open_to_others == other.is_open_to_others


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What the path holds. Sorted by the bytes of the names, which is the order in which a kubelet reads."""

    entries: tuple[Entry, ...]
    single: bool = False
    """The path is a file, not a directory of files."""
    device: int | None = field(default=None, compare=False)
    """The number of the file system that the directory is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlistable:
    """The path as a whole could not be looked at, so nothing is known about its files."""

    reason: str
    missing: bool
    """Nothing is at this path. False for something that cannot be read."""


Listing: TypeAlias = Listed | Unlistable


QUIET: Final = Seconds(0.05)
"""A file written less than this ago counts as it was before, and so does one missing for less than this.

Writers take a few milliseconds from the first write to the last, and editors less than one between moving
a file away and making it anew. From "written" to "served" there are 150 ms: these 50, at most 50 more until
the notification is handed over, and 50 for the look, decoding and telling.
"""

GRACE: Final = Seconds(0.1)
"""A file that cannot be used counts as it was before for this long: a slower writer may not be done yet.
Costs a good file nothing, and a bad one 50 to 100 ms more until it is reported."""

PATIENCE: Final = Seconds(2.0)
"""A file that has not been quiet for so long is taken as it is. A guess: no writer takes as long, and a log
that grows in this directory has to be judged some time."""

ROUNDING: Final = Seconds(0.001)
"""Added to waiting times. A float of today's seconds is good to 0.0000002 s only, and a look that comes
that much too early would have to be repeated."""


class LookTime(NamedTuple):
    """When a look was made that took its time."""

    began: Timestamp
    ended: Timestamp


def unrest(entry: Entry, quiet: Seconds, now: Timestamp, ended: Timestamp | None = None) -> Seconds:
    """Return in how many seconds ``entry`` will have been unchanged for ``quiet``; 0 if it has been.

    A look that began ``now`` and has ``ended`` found it; in an instant if that is not said. What was written
    meanwhile may have been read before its writer was done.

    If the clock of a file server is a little ahead, this is a little longer. A modification time that is
    farther in the future than ``quiet`` says nothing, and counts as settled.
    """
    if entry.signature is None:
        return Seconds(0.0)
    if isinstance(entry.found, Content) and entry.found.torn:
        return quiet
    ended = now if ended is None else ended
    modified = entry.signature.modified
    if not now - quiet < modified < ended + quiet:
        return Seconds(0.0)
    return Seconds(max(ROUNDING, modified + quiet - ended))
