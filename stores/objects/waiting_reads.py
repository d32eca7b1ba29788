"""Reads of an object that wait for a fetch: for the one under way, or for the next.

A fetch answers those reads that came before it began; what it finds may be older than any later one. It
knows nothing of the object, and answers nobody: reads leave it for those who do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from messages.holders import ReadObject
from messages.units import Seconds


@dataclass(frozen=True, slots=True)
class WaitingRead:
    """A read without an answer."""

    read: ReadObject
    until: Seconds
    """Of a monotonic clock: when it is answered with what is known."""


@dataclass(slots=True)
class WaitingReads:
    """The reads of one object, in the order in which they came."""

    _asking: list[WaitingRead] = field(default_factory=list)
    """They came before the fetch under way began."""
    _waiting: list[WaitingRead] = field(default_factory=list)

    @property
    def are_waiting(self) -> bool:
        """Whether any read needs another fetch."""
        return bool(self._waiting)

    def add(self, read: ReadObject, until: Seconds) -> None:
        """Have ``read`` wait for the next fetch."""
        self._waiting.append(WaitingRead(read, until))

    def begin(self) -> list[ReadObject]:
        """Return the reads that a fetch will answer which begins here."""
        self._asking, self._waiting = [*self._asking, *self._waiting], []
        return [one.read for one in self._asking]

    def ask_again(self) -> None:
        """Have the next fetch answer those whom the one under way does not."""
        self._asking, self._waiting = [], [*self._asking, *self._waiting]

    def take_asking(self) -> list[ReadObject]:
        """Take out those whom the fetch under way answers."""
        asking, self._asking = self._asking, []
        return [one.read for one in asking]

    def take_waiting(self, is_ready: Callable[[ReadObject], bool]) -> list[ReadObject]:
        """Take out those who wait for the next fetch, and need none."""
        ready, self._waiting = _parted(self._waiting, lambda one: is_ready(one.read))
        return ready

    def take_overdue(self, now: Seconds) -> list[ReadObject]:
        """Take out all who have waited long enough."""
        asked, self._asking = _parted(self._asking, lambda one: one.until <= now)
        waited, self._waiting = _parted(self._waiting, lambda one: one.until <= now)
        return asked + waited

    def take_all(self) -> list[ReadObject]:
        """Take out all."""
        self.ask_again()
        return self.take_waiting(lambda _read: True)

    def next_due(self) -> Seconds | None:
        """Return when the first of them has waited long enough."""
        return min((one.until for one in (*self._asking, *self._waiting)), default=None)


def _parted(
    reads: Iterable[WaitingRead], is_taken: Callable[[WaitingRead], bool]
) -> tuple[list[ReadObject], list[WaitingRead]]:
    taken = list[ReadObject]()
    left = list[WaitingRead]()
    for one in reads:
        if is_taken(one):
            taken.append(one.read)
        else:
            left.append(one)
    return taken, left
