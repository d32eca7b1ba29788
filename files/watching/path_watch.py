"""The watch on a path: renewed when other directories matter, and tried again after it was lost."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

from structlog.typing import FilteringBoundLogger

from files.watching.directories import watched_directories
from files.watching.inotify import KeepWatch
from files.watching.messages import FilesHost, FilesNoticed, WatchDue, WatchLost
from messages.units import Seconds

FIRST_RETRY: Final = Seconds(1.0)
LONGEST_RETRY: Final = Seconds(20.0)
"""A watch that could not begin, or ended, is tried again after 1, 2, 4, ... s, at most 20 s (rule F20). Until
then the scans notice everything, only later."""


class PathWatch:
    """The watch on ``path``. Tells its host ``FilesNoticed`` and ``WatchLost`` for as long as that lives."""

    def __init__(
        self, path: Path, host: FilesHost, keep_watch: KeepWatch, log: FilteringBoundLogger
    ) -> None:
        self._path = path
        self._host = host
        self._keep_watch = keep_watch
        self._log = log
        self._watched: object = None
        self._watched_since = Seconds(0.0)
        self._watch = host.resources.enter_context(ExitStack())
        self._retry_after = FIRST_RETRY

    def renew(self) -> None:
        """Watch the directories that matter at present. Does nothing while they are the same."""
        wanted = watched_directories(self._path)
        if wanted == self._watched:
            return
        self._watch.close()
        self._watched = wanted
        self._watched_since = self._host.clock.monotonic()
        me = self._host.me
        watch = self._keep_watch(
            wanted,
            lambda: me.tell(FilesNoticed()),
            lambda reason: me.tell(WatchLost(reason=reason)),
        )
        self._watch.callback(watch.close)

    def forget(self) -> None:
        """Make the next ``renew`` watch anew in any case."""
        self._watched = None

    def lose(self, reason: str) -> None:
        """Close the watch, and have the host told ``WatchDue`` when it is time to try again."""
        self._watch.close()
        if self._host.clock.monotonic() - self._watched_since > LONGEST_RETRY:
            self._retry_after = FIRST_RETRY  # that watch worked for long: this is another problem
        delay = self._retry_after
        self._retry_after = Seconds(min(LONGEST_RETRY, delay * 2))
        # A warning once, and not with every attempt: the scans go on, and little is missed.
        log = self._log.warning if delay == FIRST_RETRY else self._log.debug
        log("cannot watch for changes, scanning only", reason=reason, retry=delay)
        self._host.after(delay, WatchDue())
