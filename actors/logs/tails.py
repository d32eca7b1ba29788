"""Where the last lines of a file begin: found from its end, block by block. Pure, but for what reads.

A line counts by its end. One that nobody ended yet counts as well, if the file is the newest. So the last
lines of a file of any length cost no more than they are long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from actors.logs.cri_lines import HEAD, LogStream, ending_of

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
