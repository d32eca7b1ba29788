"""Records: small files on disk for the next process. Each is whole or not there, for the agent's user alone.

A record is written by rename. In the agent's own form it is a line with the name of the form and a digest of
the rest, then JSON: what is torn, of another version, or anything else, is set aside, and done without.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, TypeVar

import structlog

K = TypeVar("K")
V = TypeVar("V")

NEW: Final = ".new"
"""Suffix of a record while it is being written."""
UNUSABLE: Final = ".unusable"
"""Suffix of a record that is set aside: one that this agent cannot have written."""
MOST_RECORDS: Final = 20_000
"""Records of a directory that are read. More are not of this agent's pods."""

_log = structlog.get_logger("records")


# --- one file -----------------------------------------------------------------------------------------------


def read_file(file: Path, limit: int) -> bytes:
    """Return the first ``limit`` + 1 bytes of a file; nothing of a link, or of what is no file."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as opened:  # noqa: PTH123 - it is open already
        status = os.fstat(descriptor)
        is_file = stat.S_ISREG(status.st_mode)
        return opened.read(min(limit, status.st_size) + 1) if is_file else b""


def write_file(file: Path, data: bytes) -> None:
    """Replace a file by one with ``data``, which survives a loss of power. Raises OSError.

    Then the file is as it was, or is the new one, which a loss of power may take back.
    """
    with replaced(file) as opened:
        opened.write(data)
    sync_directory(file.parent)


@contextmanager
def replaced(file: Path) -> Iterator[BinaryIO]:
    """Replace a file by what the ``with`` block writes. If that raises, the file is as it was.

    Until ``sync_directory`` a loss of power may bring back the file that was there before.
    """
    new = file.with_suffix(NEW)
    new.unlink(missing_ok=True)  # of a process that was killed while it wrote
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with open(os.open(new, flags, 0o600), "wb") as opened:  # noqa: PTH123 - it must not be others' for a moment
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
        new.replace(file)
    except BaseException:
        remove_file(new)
        raise


def remove_file(file: Path) -> None:
    """Remove a file if that is possible."""
    with suppress(OSError):
        file.unlink()


def set_aside(file: Path) -> Path:
    """Give a file that cannot be used another name, for people to look at. Return it. Raises OSError."""
    return file.replace(file.with_suffix(UNUSABLE))


def make_directory(directory: Path, mode: int = 0o700) -> None:
    """Make a directory that survives a loss of power, and those above it, unless they are there.

    Those above get the usual mode. Raises OSError.
    """
    if directory.is_dir():
        return
    make_directory(directory.parent, 0o777)
    directory.mkdir(mode, exist_ok=True)
    sync_directory(directory.parent)


def sync_directory(directory: Path) -> None:
    """Have the names in a directory survive a loss of power."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- the agent's own form -----------------------------------------------------------------------------------


def encoded(form: bytes, document: object) -> bytes:
    """Return a document as it is on disk."""
    body = json.dumps(document).encode("ascii")
    return b"%s\n%s" % (_head(form, body), body)


def decoded(form: bytes, data: bytes) -> Any:
    """Return the document that ``data`` is; None if it is torn, of another form, or anything else."""
    head, _, body = data.partition(b"\n")
    # Nobody but ``encoded`` makes a body with this digest by accident; who does it on purpose is root.
    return json.loads(body) if head == _head(form, body) else None


def _head(form: bytes, body: bytes) -> bytes:
    return b"%s %s" % (form, sha256(body).hexdigest().encode("ascii"))


# --- a directory of them ------------------------------------------------------------------------------------


class Trouble:
    """What keeps records from the next process. The log says it once, and once that it is over."""

    def __init__(self, what: str, path: Path) -> None:
        self._what = what
        self._path = str(path)
        self._reason = ""

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._reason)

    def note(self, reason: str) -> None:
        """Note what is wrong now; nothing if all is well."""
        before, self._reason = self._reason, reason
        if reason and not before:
            _log.warning(f"{self._what} are not kept for a restart", path=self._path, reason=reason)
        elif before and not reason:
            _log.info(f"{self._what} are kept again", path=self._path)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordForm(Generic[K, V]):
    """How the records of one kind are on disk."""

    what: str
    """What they are, for the log."""
    pattern: str
    """Their names, as a shell writes it."""
    limit: int
    """Bytes of a record. One with more is not this agent's."""
    name_of: Callable[[K], str]
    encode: Callable[[K, V], bytes]
    decode: Callable[[str, bytes], tuple[K, V] | None]
    """Returns what a record of that name says; None if it cannot be used."""


class RecordDirectory(Generic[K, V]):
    """The records of one kind in a directory. It may block: one actor at a time owns it.

    What cannot be read is set aside, which the log says once. People may look at it until the next start.
    """

    def __init__(self, directory: Path, form: RecordForm[K, V]) -> None:
        self.trouble = Trouble(form.what, directory)
        self._directory = directory
        self._form = form

    def read(self) -> Mapping[K, V]:
        """Return all records."""
        return dict(each for each in self.reading() if each is not None)

    def reading(self) -> Iterator[tuple[K, V] | None]:
        """Yield each record, or None in the place of one that is set aside.

        What earlier processes set aside or left half written is removed.
        """
        unusable = 0
        for name in self._names():
            found = self._read(name)
            unusable += found is None
            yield found
        if unusable:
            _log.warning(
                f"{self._form.what} are set aside", path=str(self._directory), records=unusable
            )

    def write(self, records: Mapping[K, V | None]) -> Mapping[K, OSError]:
        """Write these records; None removes one. Return what keeps some from being written.

        Raises OSError if nothing can be written, or may not outlive a loss of power.
        """
        refused: dict[K, OSError] = {}
        self.make()
        for key, value in records.items():
            try:
                self.put(key, value)
            except OSError as error:
                refused[key] = error
        self.sync()
        return refused

    def make(self) -> None:
        """Make the directory for the agent's user alone, unless it is there."""
        make_directory(self._directory)
        self._directory.chmod(0o700)

    def put(self, key: K, value: V | None) -> None:
        """Write one record, or remove it. Its name may not outlive a loss of power before ``sync``."""
        file = self._directory / self._form.name_of(key)
        if value is None:
            file.unlink(missing_ok=True)
        else:
            with replaced(file) as opened:
                opened.write(self._form.encode(key, value))

    def sync(self) -> None:
        """Have what was put survive a loss of power."""
        sync_directory(self._directory)

    def _names(self) -> list[str]:
        pattern = self._form.pattern
        suffix = Path(pattern).suffix
        names = []
        try:
            files = sorted(self._directory.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            self.trouble.note(f"cannot be read: {error.strerror}")
            return []
        for file in files:
            if fnmatchcase(file.name, pattern):
                names.append(file.name)
            elif file.suffix in {NEW, UNUSABLE} and fnmatchcase(f"{file.stem}{suffix}", pattern):
                remove_file(file)
        return names[:MOST_RECORDS]

    def _read(self, name: str) -> tuple[K, V] | None:
        file, data = self._directory / name, b""
        with suppress(OSError):
            data = read_file(file, self._form.limit)
        found = self._form.decode(name, data)
        if found is None:
            with suppress(OSError):
                set_aside(file)
        return found
