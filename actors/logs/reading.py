"""Reading the log of one instance of a container: its last lines, those since a moment, and what comes.

Reading never waits. Who follows a log calls ``read`` again when there may be more: at a hint of whatever
watches the directory, or every tenth of a second. There is no thread and no timer here, so it fits a command,
a thread of a server, and an actor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from actors.logs.directories import LogDirectory
from actors.logs.layout import GZIP, rotated_names
from actors.logs.open_files import OpenLogFile
from actors.logs.records import ALL_STREAMS, LogPart, LogRecord, LogStream, RecordAssembler
from messages.units import Timestamp

_NANO: Final = 10**9
_ATTEMPTS: Final = 5
"""How often a directory is looked at that changes at the same moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """What is wanted of a log."""

    tail: int | None = None
    """So many of the last lines; all for None, or below zero."""
    since: Timestamp | None = None
    """Only lines of that moment or later ones."""
    streams: frozenset[LogStream] = ALL_STREAMS
    with_rotated: bool = False
    """Whether to read what the log was rotated to before it. A kubelet reads the present file alone."""
    is_following: bool = False
    """Whether what comes later is wanted too. If not, reading ends where the log ended when it began."""


class LogReading:
    """Reads one log, over its rotations: each line once, and none is left out.

    The file that is read stays open when it is renamed, and is read to its end before its successor is. What
    a runtime still writes into it after that is read too. When several rotations happen between two calls,
    the files in between are found by their names, and compressed ones are read as well.
    """

    def __init__(self, directory: LogDirectory, name: str, query: LogQuery) -> None:
        """Find where to begin. ``directory`` is the container's; it stays the caller's to close.

        Raises FileNotFoundError if there is no such log, unless it is being followed, and other OSErrors.
        """
        self._directory = directory
        self._name = name
        self._query = query
        self._since = None if query.since is None else round(query.since * _NANO)
        self._records = RecordAssembler()
        self._before: deque[OpenLogFile] = deque()
        """Files to be read before the live one."""
        self._known = ""
        """The newest name, without ``.gz``, that the log was rotated to before the live file began."""
        self._unreadable = 0
        self._live, older = self._find_live()
        """The file that the container's runtime writes, or did when it was looked at."""
        self._late: OpenLogFile | None = None
        """The file before the one that is read now. Something may still be written to it."""
        if self._live is None and not query.is_following:
            raise FileNotFoundError(f"no log {name}")
        try:
            self._begin(older)
        except OSError:
            self.close()
            raise

    @property
    def unreadable(self) -> int:
        """Lines so far that were no lines of a log."""
        files = (*self._before, self._live, self._late)
        return self._unreadable + sum(each.parts.unreadable for each in files if each is not None)

    def read(self) -> list[LogRecord]:
        """Return the next lines, some tens of kilobytes of them; none at what is the end at present."""
        while (found := self._next_parts()) is not None:
            if records := self._take(*found):
                return records
        return []

    def finish(self) -> list[LogRecord]:
        """Return what nobody ended: no more will come. Call it once ``read`` returned nothing."""
        records = []
        for file in (self._late, self._live):
            if file is not None:
                records += self._take(file, self._parts_of_ended(file))
        self._late = self._live = None
        return [*records, *filter(self._is_wanted, self._records.finish())]

    def everything(self) -> Iterator[LogRecord]:
        """Return all lines up to what is the end at present."""
        while records := self.read():
            yield from records
        yield from self.finish()

    def close(self) -> None:
        """Close all files."""
        for each in (*self._before, self._live, self._late):
            if each is not None:
                each.close()
        self._before.clear()
        self._live = self._late = None

    # --- where to begin --------------------------------------------------------------------------------

    def _find_live(self) -> tuple[OpenLogFile | None, list[str]]:
        """Open the live file, or the newest that is left of the log. Return it, and those before it."""
        live, names = None, list[str]()
        for _ in range(_ATTEMPTS):
            live = self._open(self._name)
            names = rotated_names(self._name, self._directory.names())
            now = self._directory.file(self._name)
            if (live and live.identity) == (now and now.identity):
                break
            if live is not None:
                live.close()
        else:
            live = self._open(self._name)
        if live is None and names:
            # It was renamed, and its successor is not there yet, or never came: its container has ended.
            live = self._open_rotated(names.pop())
        self._known = names[-1].removesuffix(GZIP) if names else ""
        return live, names

    def _begin(self, older: list[str]) -> None:
        query, live = self._query, self._live
        if live is None:
            return
        if not query.is_following:
            live.end_here()
        left = query.tail if query.tail is not None and query.tail >= 0 else None
        if left is not None:
            left -= live.begin_with_tail(left, query.streams, is_newest=True)
        if query.with_rotated and live.begins_at_beginning:
            self._begin_with_older(older, left)

    def _begin_with_older(self, older: list[str], left: int | None) -> None:
        """Begin with files before the live one: all of them, or as far as lines are ``left`` to be read."""
        for name in reversed(older):
            file = self._open_rotated(name)
            if file is None:
                continue
            if self._query.since is not None and file.modified < self._query.since:
                file.close()
                return
            self._before.appendleft(file)
            if left is None:
                continue
            # With none left it is only looked at for earlier parts of the first line.
            left -= file.begin_with_tail(left, self._query.streams, is_newest=False)
            if left <= 0:
                return

    def _open(self, name: str) -> OpenLogFile | None:
        with suppress(FileNotFoundError):
            return OpenLogFile(self._directory, name)
        return None

    def _open_rotated(self, name: str) -> OpenLogFile | None:
        """Open a file that the log was rotated to, or what that was compressed to meanwhile."""
        return self._open(name) or self._open(name + GZIP)

    # --- what comes next -------------------------------------------------------------------------------

    def _next_parts(self) -> tuple[OpenLogFile, Iterator[LogPart]] | None:
        while True:
            file = self._before[0] if self._before else self._live
            for each in (self._late, file):
                if each is not None and (data := each.read()):
                    return each, each.parts.feed(data)
            if self._before:
                ended = self._next_file()
                if ended is not None:
                    return ended, self._parts_of_ended(ended)
            elif not self._query.is_following or not self._moves_on():
                return None

    def _next_file(self) -> OpenLogFile | None:
        """Go over to the next file. Return the one that nothing is written to any more."""
        file = self._before.popleft()
        if not self._query.is_following:
            return file
        ended, self._late = self._late, file
        return ended

    def _parts_of_ended(self, file: OpenLogFile) -> Iterator[LogPart]:
        """Close a file that was read to its end, and return what was torn there."""
        parts = tuple(file.parts.finish())
        self._unreadable += file.parts.unreadable
        file.close()
        return iter(parts)

    def _take(self, file: OpenLogFile, parts: Iterator[LogPart]) -> list[LogRecord]:
        wanted = self._query.streams
        records = [self._records.take(part) for part in parts if part.stream in wanted]
        if file.is_silent:
            return []
        return [each for each in records if each is not None and self._is_wanted(each)]

    def _is_wanted(self, record: LogRecord) -> bool:
        return self._since is None or record.at >= self._since

    # --- over a rotation -------------------------------------------------------------------------------

    def _moves_on(self) -> bool:
        """Go over to what follows on the live file, which was read to its end. Return whether there is."""
        live, now = self._live, self._directory.file(self._name)
        if live is not None and now is not None and now.identity == live.identity:
            if live.is_cut:
                live.begin_again()
                return True
            return False
        known = self._known
        successor, names = self._find_live()
        if successor is None or (live is not None and successor.identity == live.identity):
            # It has another name, and no successor yet.
            if successor is not None:
                successor.close()
            self._known = known
            return False
        between = self._between(live, names, known)
        self._before += between if live is None else (live, *between)
        self._live = successor
        return True

    def _between(
        self, live: OpenLogFile | None, names: list[str], known: str
    ) -> Iterator[OpenLogFile]:
        """Return the files that came after the live one, and were rotated since."""
        newer = [name for name in names if name.removesuffix(GZIP) > known]
        files = [file for file in map(self._open_rotated, newer) if file is not None]
        if live is not None:
            for place, file in enumerate(files):
                if file.begins_as(live):
                    for each in files[: place + 1]:
                        each.close()
                    return iter(files[place + 1 :])
        return iter(files)
