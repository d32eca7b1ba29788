"""The lines of a container, put together from their parts, and how they are shown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from actors.logs.cri_lines import LogPart, LogStream
from messages.container_runtime import LogLine
from messages.units import Timestamp

LONGEST_RECORD: Final = 1024 * 1024
"""Bytes. A longer line of a container is told in pieces."""
_NANO: Final = 10**9


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
