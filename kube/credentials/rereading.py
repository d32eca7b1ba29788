"""Keeps credentials fresh: reads them again when a file changed, when they expire or were refused.

Knows nothing of kubeconfigs: it calls a loader, which says which files it read. A reading is a value that
is never changed, only replaced by the next one, so any thread may take it at any time. Files and commands
may hang, so a helper thread touches them, one at a time: nobody wants eight copies of a command to run. A
caller that has good credentials waits only a moment for the helper thread. A caller without waits for its
result.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import structlog
from typing_extensions import override

from kernel import Clock
from kube.credentials.access import Access, Credentials, CredentialsError
from messages.units import Seconds, Timestamp

CHECK_EVERY: Final = Seconds(1.0)
"""Files are checked at most this often, however many requests there are."""
READ_AGAIN_AFTER: Final = Seconds(5.0)
"""Credentials that could not be read or were refused are read again after this, even if no file changed."""
GRACE: Final = Seconds(1.0)
"""How long a caller with good credentials waits for the check that it starts, so that a changed file is
used at once."""
LONGEST_WAIT: Final = Seconds(40.0)
"""How long a caller without credentials waits: longer than a command may take. If it takes longer a file
system hangs, and the caller must be told."""
_CHECK: Final = "check"

NEVER: Final = Timestamp(math.inf)
Stamp: TypeAlias = tuple[int, int, int] | None
NoteFile: TypeAlias = Callable[[Path], None]

_log = structlog.get_logger("credentials")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedAccess:
    """What a loader read."""

    access: Access
    refresh_at: Timestamp = NEVER
    """When to read again even if no file changed."""
    expires: Timestamp = NEVER
    """When the access becomes useless."""


class LoadAccess(Protocol):
    """Reads credentials, wherever they are."""

    def __call__(self, note: NoteFile, /) -> LoadedAccess:
        """Return the current credentials. Raises ``CredentialsError``.

        Calls ``note`` with each file before it is read.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    files: Mapping[Path, Stamp]
    read_at: Seconds
    """When the attempt ended."""
    found: LoadedAccess | None
    """None if nothing usable is known."""
    trouble: str = ""
    """Why it could not be read. ``found`` is then from an earlier reading."""

    @property
    def access(self) -> Access:
        if self.found is None:
            raise CredentialsError(self.trouble)
        return self.found.access


class RereadCredentials(Credentials):
    """What a loader reads, read again when it changed.

    When a later reading fails, the earlier one stays in use as long as it is good: a kubeconfig that an
    editor is writing must not cut the agent off from its cluster.
    """

    def __init__(
        self,
        read: LoadAccess,
        clock: Clock,
        *,
        grace: Seconds = GRACE,
        longest_wait: Seconds = LONGEST_WAIT,
    ) -> None:
        self._read = read
        self._clock = clock
        self._grace = grace
        self._longest_wait = longest_wait
        self._reading: _Reading | None = None
        self._checked_at = Seconds(-math.inf)
        self._under_way: dict[str, Future[_Reading]] = {}
        """The check that is under way, if there is one."""

    @override
    def access(self) -> Access:
        # In this order: ``_run`` sets the reading first and the time second.
        checked_at, known = self._checked_at, self._reading
        if known is not None and self._clock.monotonic() - checked_at < CHECK_EVERY:
            return known.access
        check, is_mine = self._check(known)
        if known is None or not self._is_good(known):
            return self._awaited(check).access
        wait([check], self._grace if is_mine else 0.0)
        return (check.result() if check.done() else known).access

    @override
    def reload(self, refused: Access) -> Access:
        known = self._reading
        if known is None or known.found is None or known.found.access != refused:
            return self.access()
        check, is_mine = self._check(known, is_refused=True)
        latest = self._awaited(check)
        if latest is known and not is_mine:
            # The check under way did not know of the refusal.
            return self.reload(refused)
        return latest.access

    @property
    @override
    def trouble(self) -> str:
        reading = self._reading
        return reading.trouble if reading is not None else ""

    def _is_good(self, reading: _Reading) -> bool:
        return reading.found is not None and self._clock.wall() < reading.found.expires

    def _awaited(self, check: Future[_Reading]) -> _Reading:
        wait([check], self._longest_wait)
        if not check.done():
            raise CredentialsError(f"credentials are being read since {self._longest_wait:g} s")
        return check.result()

    # Checking.

    def _check(
        self, known: _Reading | None, *, is_refused: bool = False
    ) -> tuple[Future[_Reading], bool]:
        """Return the check that is under way, and whether it was started here since there was none."""
        mine: Future[_Reading] = Future()
        # ``setdefault`` is atomic: it decides which thread starts the check.
        check = self._under_way.setdefault(_CHECK, mine)
        if check is mine:
            work = partial(self._run, mine, known, is_refused=is_refused)
            try:
                threading.Thread(target=work, name="credentials", daemon=True).start()
            except RuntimeError:  # there are too many threads
                work()
        return check, check is mine

    def _run(self, check: Future[_Reading], known: _Reading | None, *, is_refused: bool) -> None:
        end: Callable[[], None]
        before = self._reading
        try:
            self._reading = reading = self._latest(known, is_refused=is_refused)
            _log_change(before, reading)
            end = partial(check.set_result, reading)
        except BaseException as error:  # noqa: BLE001  # a bug, raised in all who wait
            end = partial(check.set_exception, error)
        self._checked_at = self._clock.monotonic()
        # In this order: whoever finds no check under way finds the result of the last one.
        del self._under_way[_CHECK]
        end()

    def _latest(self, known: _Reading | None, *, is_refused: bool) -> _Reading:
        """Return ``known`` if it is still good, or else the newest reading."""
        present = self._reading
        if present is not None and present is not known:
            return present  # another check ended before this one began
        if known is not None and not self._is_stale(known, is_refused=is_refused):
            return known
        return self._read_now(None if is_refused else known)

    def _is_stale(self, reading: _Reading, *, is_refused: bool) -> bool:
        if is_refused or reading.trouble:
            # A command whose credentials are refused is not run again for every refusal.
            is_due = self._clock.monotonic() - reading.read_at >= READ_AGAIN_AFTER
        else:
            is_due = reading.found is not None and self._clock.wall() >= reading.found.refresh_at
        return is_due or _has_changed(reading.files)

    def _read_now(self, before: _Reading | None) -> _Reading:
        files: dict[Path, Stamp] = {}

        def note(path: Path) -> None:
            # Before the file is read, so that a change meanwhile is noticed.
            files.setdefault(path, _stamp(path))

        trouble = ""
        try:
            found: LoadedAccess | None = self._read(note)
        except CredentialsError as error:
            trouble = str(error)
            found = before.found if before is not None and self._is_good(before) else None
        now = self._clock.monotonic()
        return _Reading(files=files, read_at=now, found=found, trouble=trouble)


def _log_change(before: _Reading | None, after: _Reading) -> None:
    """Log what has changed. If no credentials are kept, whoever is refused says so."""
    if before is None or before.found is None or before.trouble == after.trouble:
        return
    if not after.trouble:
        _log.info("credentials can be read again", reason_was=before.trouble)
    elif after.found is not None:
        _log.warning("credentials cannot be read again, keeping the last", reason=after.trouble)


def _has_changed(files: Mapping[Path, Stamp]) -> bool:
    return any(_stamp(path) != stamp for path, stamp in files.items())


def _stamp(path: Path) -> Stamp:
    """Return a value that changes when the file does; for a link, that of its target."""
    try:
        status = os.stat(path)  # noqa: PTH116  # looked at for every request: no object for it
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
