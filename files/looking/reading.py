"""Holding a directory open, and reading one of its files. Never waits, and never raises for what is there.

The directory is held, so that it is known whether another one has come to its path. It opens regular files
only, in a way that a fifo swapped in at the last moment cannot block.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final, Self

from files.looking.found import Content, Entry, Found, Problem, ProblemKind, Signature
from messages.units import Timestamp


class OpenDirectory:
    """The directory that was at ``path`` when this was made. A context: it is closed at the end.

    Names are looked up in this directory, wherever somebody moves it.
    """

    def __init__(self, path: Path, *, for_listing: bool = True) -> None:
        """Open it. Raises ``OSError``. What is not for listing need not be readable."""
        self.path = path
        access = os.O_RDONLY if for_listing else os.O_PATH
        self.descriptor = os.open(path, access | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self.descriptor)

    def is_in_its_place(self) -> bool:
        """Return whether the path still leads to this directory."""
        try:
            present = self.path.stat()
        except OSError:
            return False
        return os.path.samestat(present, os.fstat(self.descriptor))


SIZE_LIMIT: Final = 10 * 1024 * 1024
"""Bytes. A file has to be smaller: exactly this many are too many, as in a kubelet."""


def read(
    name: str, directory: OpenDirectory, now: Timestamp, known: Entry | None = None
) -> Entry | None:
    """Return the entry of ``name`` in ``directory`` at ``now``, or None if there is no such name.

    It is ``known`` itself if that is still true.
    """
    found: Found
    try:
        status = os.stat(name, dir_fd=directory.descriptor)
        signature = Signature.of(status)
        if known is not None and known.final and known.signature == signature:
            return known
        if not stat.S_ISREG(status.st_mode):
            # It is not opened, since that would wake the writer of a fifo, or rewind a tape.
            found = _not_a_file(status.st_mode)
        else:
            found, signature = _content(name, directory)
    except OSError as error:
        unread = _unread(name, directory, error)
        if unread is None:
            return None
        found, signature = unread
    if known is not None and known.found == found:
        found = known.found  # the identical bytes, although they were read again
    final = signature.is_final(now) and not isinstance(found, Problem)
    path = directory.path / name if known is None else known.path
    entry = Entry(name=name, path=path, found=found, signature=signature, final=final)
    return known if known == entry and known.final == final else entry


def _content(name: str, directory: OpenDirectory) -> tuple[Found, Signature]:
    """Return what the file ``name`` holds, and a signature that is no older than that.

    The signature is taken after the read. One from before it could show the state before a write, with a
    modification time that looks long settled, beside bytes from the middle of that write.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    descriptor = os.open(name, flags, dir_fd=directory.descriptor)
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


def _unread(
    name: str, directory: OpenDirectory, error: OSError
) -> tuple[Problem, Signature] | None:
    """Return why ``name`` could not be read; None if it has vanished since it was listed (rule F7)."""
    try:
        status = os.stat(name, dir_fd=directory.descriptor, follow_symlinks=False)
    except OSError:
        return None
    leads_nowhere = stat.S_ISLNK(status.st_mode) and error.errno == errno.ENOENT
    reason = (
        "is a link to something that does not exist"
        if leads_nowhere
        else f"cannot be read: {sentence(error)}"
    )
    return Problem(kind=ProblemKind.UNREADABLE, reason=reason), Signature.of(status)


def _not_a_file(mode: int) -> Problem:
    return Problem(kind=ProblemKind.NOT_A_FILE, reason=f"is a {kind_of(mode)}, not a file")


def _too_large() -> Problem:
    return Problem(kind=ProblemKind.TOO_LARGE, reason="has 10 MiB or more")


def kind_of(mode: int) -> str:
    """Return what people call a thing with this ``mode`` that is not a file."""
    kinds = {
        stat.S_IFDIR: "directory",
        stat.S_IFIFO: "fifo",
        stat.S_IFSOCK: "socket",
        stat.S_IFCHR: "device",
        stat.S_IFBLK: "device",
    }
    return kinds.get(stat.S_IFMT(mode), "special file")


def sentence(error: OSError) -> str:
    """Return the system's words for ``error``, without the path, which readers see beside it."""
    return os.strerror(error.errno) if error.errno is not None else type(error).__name__
