"""The lines of a log as runtimes of containers write them: ``TIME STREAM TAG TEXT``. Pure.

A line of the container that is longer than the runtime takes in one is written as several, with the tag ``P``
on all but the last, which has ``F``. Nothing about a file is relied on: what is no such line is counted and
passed over, and memory stays bounded whatever its lines' length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

LONGEST_PART: Final = 64 * 1024
"""Bytes. A longer line of the file is read as several parts."""
HEAD: Final = 96
"""Bytes that hold all of a line but its text."""

_NANO: Final = 10**9
_LINE = re.compile(
    rb"\x00*((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d))"
    rb" (stdout|stderr) ([PF])(?::[^ \n]*)?(?: |\n|$)"
)


class LogStream(StrEnum):
    """Where a container wrote to."""

    STDOUT = "stdout"
    STDERR = "stderr"


ALL_STREAMS: Final = frozenset(LogStream)
_STREAMS: Final = {b"stdout": LogStream.STDOUT, b"stderr": LogStream.STDERR}


class LogPart(NamedTuple):
    """A line of the file: all of a line of the container, or a part of one."""

    at: int
    """When it was written, in nanoseconds since the Unix epoch."""
    stamp: bytes
    """The same as it is written in the file."""
    stream: LogStream
    is_last: bool
    """Whether it ends a line of the container."""
    text: bytes


def part_of(line: bytes) -> LogPart | None:
    """Return what a line of the file says, without its end; None if it is no line of a log.

    Zero bytes before it are what a loss of power leaves in a file.
    """
    found = _LINE.match(line)
    if found is None:
        return None
    stamp, second, fraction, zone, stream, tag = found.groups()
    seconds = _seconds(second, zone)
    if seconds is None:
        return None
    at = seconds * _NANO + (int(fraction.ljust(9, b"0")) if fraction else 0)
    return LogPart(at, stamp, _STREAMS[stream], tag == b"F", line[found.end() :])


def ending_of(head: bytes) -> tuple[LogStream, bool] | None:
    """Return the stream of a line, and whether it ends one of the container; None if it is none.

    ``head`` are its first ``HEAD`` bytes, or more.
    """
    part = part_of(head)
    return None if part is None else (part.stream, part.is_last)


@lru_cache(maxsize=64)
def _seconds(second: bytes, zone: bytes) -> int | None:
    try:
        moment = datetime.fromisoformat((second + zone).decode("ascii"))
    except ValueError:
        return None
    return int(moment.timestamp())


class PartReader:
    """Cuts what is read of one file into parts. Keeps at most ``LONGEST_PART`` bytes."""

    def __init__(self) -> None:
        self._rest = b""
        self._long: LogPart | None = None
        """The first part of a line of the file that is so long that its end was not read yet."""
        self._is_passing_over = False
        self.unreadable = 0
        """Lines that are no lines of a log."""

    def feed(self, data: bytes) -> Iterator[LogPart]:
        """Return the parts that end in ``data``, which follows on what was fed before."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            yield from self._take(line, is_end=True)
        while len(self._rest) > LONGEST_PART:
            piece, self._rest = self._rest[:LONGEST_PART], self._rest[LONGEST_PART:]
            yield from self._take(piece, is_end=False)

    def finish(self) -> Iterator[LogPart]:
        """Return what is left of a line that nobody ended."""
        rest, self._rest = self._rest, b""
        if rest or self._long is not None:
            yield from self._take(rest, is_end=True)

    def _take(self, line: bytes, *, is_end: bool) -> Iterator[LogPart]:
        if self._long is not None:
            first = self._long
            yield first._replace(text=line, is_last=is_end and first.is_last)
            self._long = None if is_end else first
        elif self._is_passing_over:
            self._is_passing_over = not is_end
        elif (part := part_of(line)) is None:
            self.unreadable += bool(line)
            self._is_passing_over = not is_end
        elif is_end:
            yield part
        else:
            self._long = part
            yield part._replace(is_last=False)
