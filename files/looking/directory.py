"""Looking at a path: what is there, as values. Decides nothing and remembers nothing.

``look`` reads a directory of files, or a single file, and says for each name what was found: bytes, a
problem, or a name that is ignored. It never raises for what it finds, and never waits: it opens regular
files only, in a way that a fifo swapped in at the last moment cannot block.

A file that did not change costs one ``stat``, and comes back as the *identical* entry of the look before.
So two listings can be compared by identity.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import translate
from pathlib import Path
from re import compile as compiled
from typing import Final, TypeAlias

from files.looking.signature import Signature
from messages.snapshots import same_objects
from messages.units import Timestamp

SIZE_LIMIT: Final = 10 * 1024 * 1024
"""Bytes. A file has to be smaller: exactly this many are too many, as in a kubelet."""

LEFTOVERS: Final = (
    "*~",
    "*.bak",
    "*.swp",
    "*.swo",
    "*.orig",
    "*.old",
    "*.save",
    "*.tmp",
    "*.rej",
    "#*#",
)
"""Names of what editors and patch tools leave beside a file."""

_LEFTOVER: Final = compiled("|".join(translate(pattern) for pattern in LEFTOVERS))


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


def look(path: Path, *, now: Timestamp, previous: Listed | None = None) -> Listing:
    """Return what is at ``path``, a directory of files or a single file. Never raises.

    ``previous`` is what the last look listed. Its entries that are still true are returned as the identical
    objects, and ``previous`` itself if all are. ``now`` is the time of the look. Sub-directories are not
    entered (rules F3, F6).

    A single file is read whatever its name is, since somebody configured it. If it was there once, and its
    directory still is, then its absence is its removal.
    """
    try:
        listed = _listed(path, now, previous)
    except OSError as error:
        if error.errno != errno.ENOENT:
            return Unlistable(reason=f"cannot be read: {_sentence(error)}", missing=False)
        if previous is None or not previous.single or not path.parent.is_dir():
            return Unlistable(reason="does not exist", missing=True)
        listed = Listed(entries=(), single=True)
    if (
        isinstance(listed, Listed)
        and previous is not None
        and previous.single == listed.single
        and same_objects(previous.entries, listed.entries)
    ):
        return previous
    return listed


def _listed(path: Path, now: Timestamp, previous: Listed | None) -> Listing:
    status = path.stat()
    mode, device = status.st_mode, status.st_dev
    single = stat.S_ISREG(mode)
    if not single and not stat.S_ISDIR(mode):
        reason = f"is a {_kind(mode)}, neither a directory nor a file"
        return Unlistable(reason=reason, missing=False)
    comparable = previous is not None and previous.single == single
    known = {entry.name: entry for entry in previous.entries} if previous and comparable else {}
    if single:
        entries = [_read(path.name, path, now, known.get(path.name))]
    else:
        entries = [_entry(name, path, now, known.get(name)) for name in _names(path)]
    if known and not entries and previous is not None and previous.device != device:
        # A file system was unmounted here, and this is its empty mount point.
        return Unlistable(reason="is empty, and on another file system than before", missing=True)
    return Listed(entries=tuple(filter(None, entries)), single=single, device=device)


def is_ignored(name: str) -> bool:
    """Return whether ``name`` is a dotfile (rule F6) or an editor's leftover.

    ``..data`` and the dated directories of a mounted ConfigMap are dotfiles too. The links beside them are
    what such a mount shows to its users.
    """
    return name.startswith(".") or _LEFTOVER.match(name) is not None


def _names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory), key=os.fsencode)  # noqa: PTH208 - names, not paths


def _entry(name: str, directory: Path, now: Timestamp, known: Entry | None) -> Entry | None:
    if known is not None:
        return known if isinstance(known.found, Ignored) else _read(name, known.path, now, known)
    if not is_ignored(name):
        return _read(name, directory / name, now, None)
    reason = "a dotfile" if name.startswith(".") else "what an editor or a patch leaves behind"
    return Entry(name=name, path=directory / name, found=Ignored(reason=reason))


def _read(name: str, path: Path, now: Timestamp, known: Entry | None) -> Entry | None:
    """Return the entry for ``path``: ``known`` itself if that is still true, None if the file is gone."""
    found: Found
    try:
        signature = Signature.of(status := path.stat())
        if known is not None and known.final and known.signature == signature:
            return known
        if not stat.S_ISREG(status.st_mode):
            # It is not opened, since that would wake the writer of a fifo, or rewind a tape.
            found = _not_a_file(status.st_mode)
        else:
            found, signature = _content(path)
    except OSError as error:
        unread = _unread(path, error)
        if unread is None:
            return None
        found, signature = unread
    if known is not None and known.found == found:
        found = known.found  # the identical bytes, although they were read again
    final = signature.is_final(now) and not isinstance(found, Problem)
    entry = Entry(name=name, path=path, found=found, signature=signature, final=final)
    return known if known == entry and known.final == final else entry


def _content(path: Path) -> tuple[Found, Signature]:
    """Return what the file at ``path`` holds, and a signature that is no older than that.

    The signature is taken after the read. One from before it could show the state before a write, with a
    modification time that looks long settled, beside bytes from the middle of that write.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        before = Signature.of(status)
        if not stat.S_ISREG(status.st_mode):
            return _not_a_file(status.st_mode), before
        if before.size >= SIZE_LIMIT:
            return _too_large(), before
        data = _bytes_of(descriptor)
        after = Signature.of(os.fstat(descriptor))
    finally:
        os.close(descriptor)
    return _found_between(before, data, after), after


def _found_between(before: Signature, data: bytes, after: Signature) -> Found:
    if len(data) >= SIZE_LIMIT:  # it has grown, or its file system tells no sizes
        return _too_large()
    return Content(data=data, torn=before != after)


def _bytes_of(descriptor: int) -> bytes:
    """Return the content of the file, but never more than ``SIZE_LIMIT`` bytes."""
    chunks: list[bytes] = []
    left = SIZE_LIMIT
    # 64 KiB holds nearly every manifest, so that it takes one read and one for the end of the file.
    while chunk := os.read(descriptor, min(left, 64 * 1024)):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _unread(path: Path, error: OSError) -> tuple[Problem, Signature] | None:
    """Return why ``path`` could not be read; None if it has vanished since it was listed (rule F7)."""
    try:
        signature = Signature.of(status := path.lstat())
    except OSError:
        return None
    leads_nowhere = stat.S_ISLNK(status.st_mode) and error.errno == errno.ENOENT
    reason = (
        "is a link to something that does not exist"
        if leads_nowhere
        else f"cannot be read: {_sentence(error)}"
    )
    return Problem(kind=ProblemKind.UNREADABLE, reason=reason), signature


def _not_a_file(mode: int) -> Problem:
    return Problem(kind=ProblemKind.NOT_A_FILE, reason=f"is a {_kind(mode)}, not a file")


def _too_large() -> Problem:
    return Problem(kind=ProblemKind.TOO_LARGE, reason="has 10 MiB or more")


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "directory",
        stat.S_IFIFO: "fifo",
        stat.S_IFSOCK: "socket",
        stat.S_IFCHR: "device",
        stat.S_IFBLK: "device",
    }
    return kinds.get(stat.S_IFMT(mode), "special file")


def _sentence(error: OSError) -> str:
    """Return the system's words for ``error``, without the path, which readers see beside it."""
    return os.strerror(error.errno) if error.errno is not None else type(error).__name__
