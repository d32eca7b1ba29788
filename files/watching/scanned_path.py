"""A path that is looked at: at once, when something changes there, and at every scan.

For any actor that reads files, whatever is in them. The actor hands its ``FilesMessage`` on to this,
and gets back what is at the path. So everything goes through one mailbox, and no look can overtake a
newer one (K7).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, assert_never

from structlog.typing import FilteringBoundLogger

from files.looking.directory import look
from files.looking.found import Listed, Listing
from files.watching.inotify import KeepWatch
from files.watching.messages import (
    FilesHost,
    FilesMessage,
    FilesNoticed,
    LookDue,
    WatchDue,
    WatchLost,
)
from files.watching.path_watch import PathWatch
from kernel import Timer
from messages.units import Seconds, Timestamp


class Look(NamedTuple):
    """What one look found, and when."""

    listing: Listing
    at: Timestamp


class ScannedPath:
    """Looks at ``path`` for one life of ``host``, every ``check_frequency`` seconds at least."""

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
        self._watch = PathWatch(path, host, keep_watch, log)
        self._next_look: Timer | None = None
        # As a message: ten thousand files take longer to read than a start may.
        host.me.tell(LookDue())

    def hear(self, message: FilesMessage, previous: Listed | None) -> Look | None:
        """Do what ``message`` asks for; return what is at the path if that was to look.

        ``previous`` is what was listed last: see ``files.looking.directory.look``.
        """
        match message:
            case FilesNoticed() | LookDue():
                return self.look(previous)
            case WatchLost(reason=reason):
                self._watch.lose(reason)
                return None
            case WatchDue():
                self._watch.forget()
                return self.look(previous)
            case _:
                assert_never(message)

    def look(self, previous: Listed | None) -> Look:
        """Return what is at the path at this moment, and plan the next scan."""
        # The watch comes first, so that changes during the look are noticed, at worst for nothing.
        self._watch.renew()
        now = self._host.clock.wall()
        listing = look(self._path, now=now, previous=previous)
        self._plan_look(self._check_frequency)
        return Look(listing, now)

    def look_again_in(self, delay: Seconds) -> None:
        """Look in ``delay`` seconds, unless a scan is due before: something may have settled then."""
        self._plan_look(min(self._check_frequency, delay))

    def _plan_look(self, delay: Seconds) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        self._next_look = self._host.after(delay, LookDue())
