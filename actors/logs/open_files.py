"""One open file of a log, plain or compressed, and where its last lines begin.

Their beginning is found from the end of the file, block by block. A line counts by its end. One that nobody
ended yet counts as well, if the file is the newest. So the last lines of a file of any length cost no more
than they are long.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from actors.logs.directories import LogDirectory, status_of
from actors.logs.layout import GZIP
from actors.logs.records import HEAD, LogStream, PartReader, ending_of

ReadAt: TypeAlias = Callable[[int, int], bytes]
"""Returns so many bytes from there on: the offset, and how many."""

_BLOCK: Final = 64 * 1024


class TailFound(NamedTuple):
    """Where the last lines of a file are."""

    at: int
    """Where the first of them ends: the offset of its last part. The file's beginning if it has too few."""
    lines: int
    """How many there are from there on."""


class EndCounter:
    """Counts ends of lines, the last one first."""

    def __init__(self, streams: Collection[LogStream], *, is_newest: bool) -> None:
        self._streams = streams
        self._unfinished = set(LogStream) if is_newest else set()
        """Streams of which nothing was seen yet: their last line may have no end."""
        self.lines = 0

    def take(self, head: bytes) -> bool:
        """Return whether the line that begins with ``head`` counts."""
        ending = ending_of(head)
        if ending is None:
            return False
        stream, is_last = ending
        counts = stream in self._streams and (is_last or stream in self._unfinished)
        self._unfinished.discard(stream)
        self.lines += counts
        return counts


def tail_found(read: ReadAt, size: int, wanted: int, counter: EndCounter) -> TailFound:
    """Return where the last ``wanted`` lines of a file of ``size`` bytes are."""
    if wanted <= 0:
        return TailFound(size, 0)
    end, later = size, b""
    while end > 0:
        start = max(0, end - _BLOCK)
        block = read(start, end - start)
        window = block + later
        place = block.rfind(b"\n")
        while place >= 0:
            at = start + place + 1
            head = window[place + 1 : place + 1 + HEAD]
            if at < size and counter.take(head) and counter.lines == wanted:
                return TailFound(at, wanted)
            place = block.rfind(b"\n", 0, place)
        end, later = start, window[:HEAD]
    counter.take(later)
    return TailFound(0, counter.lines)


def line_ends(chunks: Iterable[bytes], streams: Collection[LogStream]) -> Iterator[int]:
    """Return the offsets of the lines that end one of the container, of a file that is read forward."""
    head, at, offset = b"", 0, 0
    is_begun = False
    for chunk in chunks:
        begin = 0
        while begin < len(chunk):
            end = chunk.find(b"\n", begin)
            stop = len(chunk) if end < 0 else end
            if not is_begun:
                head, at, is_begun = b"", offset + begin, True
            head += chunk[begin : min(stop, begin + HEAD - len(head))]
            if end >= 0:
                if _is_end(head, streams):
                    yield at
                is_begun = False
            begin = stop + 1
        offset += len(chunk)
    if is_begun and _is_end(head, streams):
        yield at


def _is_end(head: bytes, streams: Collection[LogStream]) -> bool:
    ending = ending_of(head)
    return ending is not None and ending[1] and ending[0] in streams


CHUNK: Final = 64 * 1024
"""Bytes that are read in one go."""
LOOK_BACK: Final = 1024 * 1024
"""Bytes before the first line to be shown in which its earlier parts are looked for."""
_FOR_EVER: Final = 2**62
_BEGINNING: Final = 256
"""Bytes that tell two logs apart: lines have their time in nanoseconds."""


class OpenLogFile:
    """A file that is read from some place on. It stays readable when it is renamed or removed."""

    def __init__(self, directory: LogDirectory, name: str) -> None:
        """Open it. Raises OSError."""
        self.name = name
        self.parts = PartReader()
        self._descriptor = directory.open_file(name)
        self.identity = status_of(self._descriptor).identity
        self._unpacked: gzip.GzipFile | None = None
        self._position = 0
        self._silent_until = 0
        self._limit: int | None = None
        if self.is_compressed:
            self._rewind()

    @property
    def is_compressed(self) -> bool:
        """Whether it is compressed. It cannot grow then."""
        return self.name.endswith(GZIP)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return status_of(self._descriptor).size

    @property
    def modified(self) -> float:
        """When it was last written, or compressed. Seconds since the Unix epoch."""
        return status_of(self._descriptor).modified

    @property
    def is_cut(self) -> bool:
        """Whether it has become shorter than what was read of it."""
        return not self.is_compressed and self.size < self._position

    @property
    def is_silent(self) -> bool:
        """Whether what was read last is before what is to be shown."""
        return self._position <= self._silent_until

    def read(self) -> bytes:
        """Return what follows; nothing at the end, or where it cannot be read on.

        It is either all silent, or all to be shown.
        """
        size = CHUNK
        if self._position < self._silent_until:
            size = min(size, self._silent_until - self._position)
        elif self._limit is not None:
            size = min(size, self._limit - self._position)
        data = self._read(size) if size > 0 else b""
        self._position += len(data)
        return data

    def end_here(self) -> None:
        """Read no further than to its present end."""
        self._limit = None if self.is_compressed else self.size

    def begin_again(self) -> None:
        """Read it from its beginning: it was cut."""
        self._position = self._silent_until = 0
        self.parts = PartReader()

    def begin_with_tail(
        self, lines: int, streams: Collection[LogStream], *, is_newest: bool
    ) -> int:
        """Begin with its last lines. Return how many there are of those that are wanted."""
        found = self._tail(lines, streams, is_newest=is_newest)
        self._silent_until = found.at
        if not self.is_compressed:
            self._position = self._line_after(max(0, found.at - LOOK_BACK), found.at)
        return found.lines

    @property
    def begins_at_beginning(self) -> bool:
        """Whether nothing of it is left out, but that it may be read silently."""
        return self._position == 0

    def begins_as(self, other: OpenLogFile) -> bool:
        """Return whether ``other`` has the same beginning: it is the same log, compressed perhaps."""
        return self.identity == other.identity or (
            self._beginning() != b"" and self._beginning() == other._beginning()
        )

    def close(self) -> None:
        """Close it."""
        if self._unpacked is not None:
            self._unpacked.close()
        os.close(self._descriptor)

    # --- in detail -------------------------------------------------------------------------------------

    def _read(self, size: int) -> bytes:
        try:
            if self._unpacked is not None:
                return self._unpacked.read(size)
            return os.pread(self._descriptor, size, self._position)
        except (OSError, EOFError, zlib.error):
            return b""

    def _read_at(self, at: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, at)

    def _rewind(self) -> None:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        if self._unpacked is not None:
            self._unpacked.close()
        # The descriptor is closed once, by ``close``.
        raw = open(self._descriptor, "rb", closefd=False)  # noqa: SIM115 - closed by its reader
        self._unpacked = gzip.GzipFile(fileobj=raw, mode="rb")

    def _chunks(self) -> Iterator[bytes]:
        """Return all of a compressed file, and rewind it."""
        self._rewind()
        while data := self._read(CHUNK):
            yield data
        self._rewind()

    def _tail(self, lines: int, streams: Collection[LogStream], *, is_newest: bool) -> TailFound:
        if not self.is_compressed:
            counter = EndCounter(streams, is_newest=is_newest)
            return tail_found(self._read_at, self.size, lines, counter)
        if lines <= 0:
            return TailFound(_FOR_EVER, 0)
        # It cannot be read from its end. Counting first keeps memory small, however many lines it has.
        count = sum(1 for _ in line_ends(self._chunks(), streams))
        if count <= lines:
            return TailFound(0, count)
        ends = islice(line_ends(self._chunks(), streams), count - lines, None)
        at = next(ends)
        self._rewind()
        return TailFound(at, lines)

    def _line_after(self, at: int, last: int) -> int:
        """Return where the first line begins at ``at`` or after it; a line begins at ``last``."""
        while 0 < at < last:
            block = os.pread(self._descriptor, min(CHUNK, last - at), at - 1)
            place = block.find(b"\n")
            if place >= 0:
                return at + place
            if not block:
                return last
            at += len(block)
        return min(at, last)

    def _beginning(self) -> bytes:
        if not self.is_compressed:
            return os.pread(self._descriptor, _BEGINNING, 0)
        self._rewind()
        found = self._read(_BEGINNING)
        self._rewind()
        return found
