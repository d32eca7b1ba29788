"""What a look found at a path, as values: of the path as a whole, and of each name there."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from files.looking.signature import Signature


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
