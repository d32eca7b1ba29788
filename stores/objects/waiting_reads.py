"""Reads that wait for an answer. Nothing here knows objects, or who answers: both are the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from messages.holders import ReadObject
from messages.units import Seconds


class WaitingRead(NamedTuple):
    """A read that is not answered yet."""

    number: int
    """Counts the reads in the order in which they came, from 1."""
    read: ReadObject
    until: Seconds
    """When it is answered with whatever is known by then, on the monotonic clock."""


def _is_any(_read: WaitingRead) -> bool:
    return True


@dataclass(slots=True)
class WaitingReads:
    """The reads that wait with one actor, in the order in which they came. Outlives its crashes."""

    _reads: dict[int, WaitingRead] = field(default_factory=dict)
    """By their numbers."""
    _count: int = 0

    def __len__(self) -> int:
        return len(self._reads)

    def __iter__(self) -> Iterator[WaitingRead]:
        return iter(self._reads.values())

    @property
    def newest(self) -> int:
        """The number of the latest read that waits; 0 when none does."""
        return next(reversed(self._reads), 0)

    def add(self, read: ReadObject, now: Seconds) -> None:
        """Have ``read`` wait from ``now`` on, as long as it may."""
        self._count += 1
        until = Seconds(now + read.within)
        self._reads[self._count] = WaitingRead(self._count, read, until)

    def take(self, is_taken: Callable[[WaitingRead], bool] = _is_any) -> Iterator[WaitingRead]:
        """Yield the reads that ``is_taken`` says, or all, and remove each once it was dealt with.

        A crash of the caller in between repeats one answer and loses none.
        """
        for each in tuple(self._reads.values()):
            if is_taken(each):
                yield each
                del self._reads[each.number]

    def take_overdue(self, now: Seconds) -> Iterator[WaitingRead]:
        """Yield and remove, as ``take`` does, the reads that have waited as long as they may."""
        return self.take(lambda each: each.until <= now)

    def next_due(self) -> Seconds | None:
        """Return when the first of them has waited as long as it may; None when none waits."""
        return min((each.until for each in self), default=None)
