"""A path that is looked at: at once, when something changes there, and at every scan.

For any actor that reads files, whatever is in them. The actor hands its ``FilesMessage`` on to this,
and gets back what is at the path. So everything goes through one mailbox, and no look can overtake a
newer one (K7).

inotify reports some changes elsewhere than at the path: that of a link's target in the target's directory,
the replacement of a single file in its parent, and the birth of a missing directory in the nearest ancestor
that exists (rules F17, F18, K6). All of these directories are watched. The watch is renewed when other
directories matter, and tried again after it was lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple, assert_never

from structlog.typing import FilteringBoundLogger

from files.looking.directory import is_ignored, looking
from files.looking.found import Listed, Listing, LookTime
from files.looking.steps import Steps
from files.watching.inotify import KeepWatch
from files.watching.messages import (
    FilesHost,
    FilesMessage,
    FilesNoticed,
    LookDue,
    ScanPace,
    WatchDue,
    WatchLost,
    until_next_scan,
)
from kernel import Timer
from messages.units import Seconds

MAX_LINKS: Final = 40
"""As many links as Linux follows in one path before it answers ELOOP."""

FIRST_RETRY: Final = Seconds(1.0)
LONGEST_RETRY: Final = Seconds(20.0)
"""A watch that could not begin, or ended, is tried again after 1, 2, 4, ... s, at most 20 s (rule F20). Until
then the scans notice everything, only later."""


class DirectoryId(NamedTuple):
    """Which directory stands at a path: another one at the same path has another id."""

    device: int
    inode: int


def watched_directories(path: Path) -> Mapping[Path, DirectoryId]:
    """Return the directories to watch for ``path``, without their sub-directories. Never raises.

    Watch anew when this differs from the mapping of before: a watch is bound to the directory, not to its
    name, and another directory may have come to the same path.
    """
    wanted = {*_trail(path.absolute())}
    try:
        with os.scandir(path) as items:
            links = [item.name for item in items if item.is_symlink() and not is_ignored(item.name)]
    except OSError:
        links = []  # a single file, or nothing that can be listed
    for name in links:
        wanted |= {*_trail(path.absolute() / name)}
    return {directory: identity for directory in wanted if (identity := _identity(directory))}


def _trail(path: Path) -> Iterator[Path]:
    """Yield the directories whose entries decide where ``path`` leads to.

    These are the directory of every link on the way, and the directory where the way ends: the one at
    ``path``, the parent of a file, or the last one that exists.
    """
    parts = [*reversed(path.parts)]
    here = Path(parts.pop())
    links = 0
    while parts:
        part = parts.pop()
        if part == "..":
            here = here.parent
            continue
        target = _link_target(here / part)
        if target is not None and links < MAX_LINKS:
            links += 1
            yield here
            parts += [*reversed(target.parts)]
        elif (here / part).is_dir():
            here /= part
        else:
            break
    yield here


def _link_target(path: Path) -> Path | None:
    try:
        return path.readlink()
    except OSError:
        return None


def _identity(directory: Path) -> DirectoryId | None:
    try:
        status = directory.stat()
    except OSError:
        return None
    return DirectoryId(status.st_dev, status.st_ino)


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
