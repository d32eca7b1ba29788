"""Credentials that stay fresh: read again when a file changed, when they expire, when they were refused.

Knows nothing of kubeconfigs: it asks a reader, which says what it looked at. A reading is a value that
is never changed, only replaced by the next one, so any thread may take it at any time. Of the threads
that find it stale at the same time one reads, and the others wait for its result: reading may run a
command, which nobody wants eight times at once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import structlog
from typing_extensions import override

from actors.kernel import Clock
from actors.messages.units import Seconds, Timestamp
from kube.access import Access, Credentials, CredentialsError

LOOK_EVERY: Final = Seconds(1.0)
"""Files are looked at this often at most, however many requests there are."""
READ_AGAIN_AFTER: Final = Seconds(5.0)
"""What could not be read, or was refused, is read again after this, even if no file changed."""
_REMEMBERED: Final = 8
"""Readings whose outcome a thread may still ask for that slept all the while."""

NEVER: Final = Timestamp(math.inf)
Stamp: TypeAlias = tuple[int, int, int] | None
Note: TypeAlias = Callable[[Path], None]

_log = structlog.get_logger("credentials")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a reader found."""

    access: Access
    refresh_at: Timestamp = NEVER
    """When to read again, whether or not a file changed."""
    expires: Timestamp = NEVER
    """From when on it is of no use."""


class Reader(Protocol):
    """Reads credentials, from wherever they are."""

    def __call__(self, note: Note, /) -> Found:
        """Return the present credentials; raise ``CredentialsError``.

        ``note`` is told each file before it is read.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    number: int
    files: Mapping[Path, Stamp]
    read_at: Seconds
    found: Found | None
    """None if nothing usable is known."""
    trouble: str = ""
    """Why it could not be read. With ``found``, that is of an earlier reading."""

    @property
    def access(self) -> Access:
        if self.found is None:
            raise CredentialsError(self.trouble)
        return self.found.access


class RereadCredentials(Credentials):
    """What a reader finds, read again when it has changed.

    When a later reading fails, the earlier goes on to be used as long as it is good: a kubeconfig that
    an editor is just writing must not part the agent from its cluster.
    """

    def __init__(self, read: Reader, clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._reading: _Reading | None = None
        self._looked_at = Seconds(-math.inf)
        self._flights: dict[int, Future[_Reading]] = {}

    @override
    def access(self) -> Access:
        reading = self._reading
        if reading is None or self._is_stale(reading):
            reading = self._next_after(reading, keep=True)
        return reading.access

    @override
    def reload(self, refused: Access) -> Access:
        reading = self._reading
        if reading is None or reading.found is None or reading.found.access != refused:
            return self.access()
        # A command that gives what is refused is not run again for every refusal.
        is_old = self._clock.monotonic() - reading.read_at >= READ_AGAIN_AFTER
        if is_old or _has_changed(reading.files):
            reading = self._next_after(reading, keep=False)
        return reading.access

    def _is_stale(self, reading: _Reading) -> bool:
        now = self._clock.monotonic()
        if now - self._looked_at < LOOK_EVERY:
            return False
        self._looked_at = now
        if reading.found is not None and self._clock.wall() >= reading.found.refresh_at:
            # At its time, or when the attempt at its time failed, a while after that.
            return not reading.trouble or now - reading.read_at >= READ_AGAIN_AFTER
        if reading.trouble and now - reading.read_at >= READ_AGAIN_AFTER:
            return True
        return _has_changed(reading.files)

    def _next_after(self, reading: _Reading | None, *, keep: bool) -> _Reading:
        """Return the reading that comes after ``reading``, whichever thread makes it."""
        number = reading.number + 1 if reading is not None else 1
        mine: Future[_Reading] = Future()
        # One atomic step decides who reads.
        first = self._flights.setdefault(number, mine)
        if first is mine:
            try:
                self._reading = self._read_now(number, reading if keep else None)
            except BaseException as error:
                del self._flights[number]
                mine.set_exception(error)
                raise
            self._flights.pop(number - _REMEMBERED, None)
            mine.set_result(self._reading)
        return first.result()

    def _read_now(self, number: int, before: _Reading | None) -> _Reading:
        files: dict[Path, Stamp] = {}

        def note(path: Path) -> None:
            # Before it is read: what changes meanwhile is then noticed, at worst for nothing.
            files.setdefault(path, _stamp(path))

        now = self._looked_at = self._clock.monotonic()
        try:
            found = self._read(note)
        except CredentialsError as error:
            kept = self._still_good(before, str(error))
            return _Reading(number=number, files=files, read_at=now, found=kept, trouble=str(error))
        return _Reading(number=number, files=files, read_at=now, found=found)

    def _still_good(self, before: _Reading | None, trouble: str) -> Found | None:
        found = before.found if before is not None else None
        if before is None or found is None or found.expires <= self._clock.wall():
            return None
        if trouble != before.trouble:
            _log.warning("credentials cannot be read again, keeping the last", reason=trouble)
        return found


def _has_changed(files: Mapping[Path, Stamp]) -> bool:
    return any(_stamp(path) != stamp for path, stamp in files.items())


def _stamp(path: Path) -> Stamp:
    """Return what changes when a file does; of a link, that of its target."""
    try:
        status = os.stat(path)  # noqa: PTH116  # looked at for every request: no object for it
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
