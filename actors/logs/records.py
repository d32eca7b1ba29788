"""The lines of a log as runtimes of containers write them, put together from their parts, and shown. Pure.

A line of the file is ``TIME STREAM TAG TEXT``. A line of the container that is longer than the runtime takes
in one is written as several, with the tag ``P`` on all but the last, which has ``F``. Nothing about a file is
relied on: what is no such line is counted and passed over, and memory stays bounded whatever its lines'
length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from messages.container_runtime import LogLine
from messages.units import Timestamp

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


LONGEST_RECORD: Final = 1024 * 1024
"""Bytes. A longer line of a container is told in pieces."""


class LogRecord(NamedTuple):
    """A line of a container, or a piece of a very long one."""

    at: int
    """When its first part was written, in nanoseconds since the Unix epoch."""
    stamp: bytes
    """The same as it is written in the file."""
    stream: LogStream
    text: bytes
    """Without the end of the line."""
    is_begin: bool = True
    """Whether the line begins with it."""
    is_end: bool = True
    """Whether the line ends with it. The container may have ended before its line."""


@dataclass(slots=True)
class _Pending:
    """The parts of a line whose last one is still missing."""

    at: int
    stamp: bytes
    texts: list[bytes] = field(default_factory=list)
    size: int = 0
    is_begin: bool = True


class RecordAssembler:
    """Puts parts together, the lines of each stream by themselves. Keeps at most 1 MiB of each."""

    def __init__(self) -> None:
        self._pending: dict[LogStream, _Pending] = {}

    def take(self, part: LogPart) -> LogRecord | None:
        """Take the next part, and return the record that it completes."""
        pending = self._pending.get(part.stream)
        if pending is None:
            if part.is_last:
                return LogRecord(part.at, part.stamp, part.stream, part.text)
            pending = self._pending[part.stream] = _Pending(part.at, part.stamp)
        pending.texts.append(part.text)
        pending.size += len(part.text)
        if part.is_last:
            del self._pending[part.stream]
            return _record(part.stream, pending, is_end=True)
        if pending.size < LONGEST_RECORD:
            return None
        record = _record(part.stream, pending, is_end=False)
        self._pending[part.stream] = _Pending(pending.at, pending.stamp, is_begin=False)
        return record

    def finish(self) -> Iterator[LogRecord]:
        """Return the lines that nobody ended."""
        for stream, pending in self._pending.items():
            if pending.size:
                yield _record(stream, pending, is_end=False)
        self._pending = {}


def _record(stream: LogStream, pending: _Pending, *, is_end: bool) -> LogRecord:
    text = b"".join(pending.texts)
    return LogRecord(pending.at, pending.stamp, stream, text, pending.is_begin, is_end)


def log_lines(records: Iterable[LogRecord]) -> Iterator[LogLine]:
    """Return records as lines of text. What is not UTF-8 is replaced."""
    for record in records:
        yield LogLine(Timestamp(record.at / _NANO), record.text.decode("utf-8", "replace"))


def log_text(records: Iterable[LogRecord], *, with_times: bool = False) -> bytes:
    """Return what people read of records, each line with its time as it is written in the file if wanted."""
    pieces: list[bytes] = []
    for each in records:
        if with_times and each.is_begin:
            pieces.append(each.stamp + b" ")
        pieces.append(each.text)
        if each.is_end:
            pieces.append(b"\n")
    return b"".join(pieces)
