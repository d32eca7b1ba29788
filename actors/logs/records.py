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


class LogText:
    """Makes of records the bytes that people read, up to a limit."""

    def __init__(self, *, with_times: bool = False, limit: int | None = None) -> None:
        self._with_times = with_times
        self._left = limit

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached: nothing more will be shown."""
        return self._left is not None and self._left <= 0

    def show(self, records: Iterable[LogRecord]) -> bytes:
        """Return what is shown of ``records``: cut where the limit is, be it amid a line."""
        shown = b"".join(map(self._shown, records))
        if self._left is None:
            return shown
        shown = shown[: max(0, self._left)]
        self._left -= len(shown)
        return shown

    def _shown(self, record: LogRecord) -> bytes:
        prefix = time_of(record) + b" " if self._with_times and record.is_begin else b""
        return prefix + record.text + (b"\n" if record.is_end else b"")


def time_of(record: LogRecord) -> bytes:
    """Return the time of a record with nine digits after the second, in the zone of the file."""
    second, zone = record.stamp[:19], record.stamp[19:].lstrip(b".0123456789")
    return b"%s.%09d%s" % (second, record.at % _NANO, zone)


def log_lines(records: Iterable[LogRecord]) -> Iterator[LogLine]:
    """Return records as lines of text. What is not UTF-8 is replaced."""
    for record in records:
        yield LogLine(Timestamp(record.at / _NANO), record.text.decode("utf-8", "replace"))
