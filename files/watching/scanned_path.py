"""A path that is looked at: at once, when something changes there, and at every scan.

For any actor that reads files, whatever is in them. The actor hands its ``FilesMessage`` on to this,
and gets back what is at the path. So everything goes through one mailbox, and no look can overtake a
newer one (K7).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, assert_never

from structlog.typing import FilteringBoundLogger

from files.looking.directory import looking
from files.looking.found import Listed, Listing
from files.looking.settling import LookTime
from files.looking.steps import Steps
from files.watching.inotify import KeepWatch
from files.watching.messages import (
    FilesHost,
    FilesMessage,
    FilesNoticed,
    LookDue,
    WatchDue,
    WatchLost,
)
from files.watching.pace import ScanPace, until_next_scan
from files.watching.path_watch import PathWatch
from kernel import Timer
from messages.units import Seconds


class Look(NamedTuple):
    """What one look found, and when it was made."""

    listing: Listing
    time: LookTime


class ScannedPath:
    """Looks at ``path`` for one life of ``host``, every ``check_frequency`` seconds or less often."""

    def __init__(
        self,
        path: Path,
        check_frequency: Seconds,
        host: FilesHost,
        keep_watch: KeepWatch,
        log: FilteringBoundLogger,
    ) -> None:
        """Have the host told that the first look is due."""
        self._path = path
        self._check_frequency = check_frequency
        self._host = host
        self._log = log
        self._pace = ScanPace(check_frequency)
        self._watch = PathWatch(path, host, keep_watch, log)
        self._next_look: Timer | None = None
        # As a message: ten thousand files take longer to read than a start may.
        host.me.tell(LookDue())

    def hear(self, message: FilesMessage) -> bool:
        """Do what ``message`` asks for; return whether it asks for a look."""
        match message:
            case FilesNoticed() | LookDue():
                return True
            case WatchLost(reason=reason):
                self._watch.lose(reason)
                return False
            case WatchDue():
                self._watch.forget()
                return True
            case _:
                assert_never(message)

    def looking(self, previous: Listed | None) -> Steps[Look]:
        """Find in steps what is at the path, and plan the next scan.

        ``previous`` is what was listed last: see ``files.looking.directory.looking``.
        """
        # The watch comes first, so that changes during the look are noticed, at worst for nothing.
        clock = self._host.clock
        started = clock.monotonic()
        self._watch.renew()
        began = clock.wall()
        listing = yield from looking(self._path, now=began, previous=previous)
        took = Seconds(clock.monotonic() - started)
        self._plan_look(until_next_scan(self._check_frequency, took))
        self._say_pace(self._pace.note(took))
        return Look(listing, LookTime(began, clock.wall()))

    def look_again_in(self, delay: Seconds) -> None:
        """Look in ``delay`` seconds, unless a scan is due before: something may have settled then."""
        self._plan_look(min(self._check_frequency, delay))

    def _say_pace(self, every: Seconds | None) -> None:
        if every is None:
            return
        asked = self._check_frequency
        if every > asked:
            self._log.info(
                "scans come less often than asked for, since they take long",
                path=str(self._path),
                asked_seconds=asked,
                seconds=round(every, 1),
            )
        else:
            self._log.info(
                "scans come as often as asked for again", path=str(self._path), seconds=asked
            )

    def _plan_look(self, delay: Seconds) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        self._next_look = self._host.after(delay, LookDue())
