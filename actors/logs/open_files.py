"""One open file of a log: plain, or compressed."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

from actors.logs.cri_lines import LogStream, PartReader
from actors.logs.directories import LogDirectory, status_of
from actors.logs.layout import GZIP
from actors.logs.tails import EndCounter, TailFound, line_ends, tail_found

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
