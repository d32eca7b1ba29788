"""Which stops of containers are told to the runtime, and which wait for their turn. Pure.

A stop costs the runtime time when it begins and when the container ends, and none in between. So it counts
among those that are told for a moment only: nobody waits for the graces of others. What waits is in the order
of when it is to be over, so a short grace is never behind a long one. The grace counts from when the stop was
asked for, and half of it at least is left when it is told, or the two seconds that a container has after
SIGTERM, however long its hook took: it is still asked to end, before it is killed.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from messages.units import Seconds

COUNTS_FOR: Final = Seconds(0.5)
"""How long a stop counts among those that are told. Longer ones wait for the container itself."""
LEAST: Final = Seconds(2.0)
"""Waiting leaves so much of a grace, or all of a shorter one."""


class WaitingStop(NamedTuple):
    """A stop that was asked for."""

    ref: int
    asked_at: Seconds
    grace: Seconds

    @property
    def over_at(self) -> Seconds:
        """When the container is to be killed."""
        return Seconds(self.asked_at + self.grace)

    @property
    def told_by(self) -> Seconds:
        """When it is told at the latest, whatever else is. One without a grace loses nothing by waiting."""
        return Seconds(self.asked_at + self.grace / 2)

    def left(self, now: Seconds) -> Seconds:
        """Return what is left of its grace."""
        return Seconds(max(min(self.grace, LEAST), self.grace - (now - self.asked_at)))


@dataclass(slots=True)
class StopLine:
    """The stops that wait, and those that were told a moment ago. Outlives a crash."""

    _waiting: dict[int, WaitingStop] = field(default_factory=dict)
    _by_end: list[tuple[Seconds, int]] = field(default_factory=list)
    """A heap of those that wait, by when they are to be over. It may have some that wait no more."""
    _by_latest: list[tuple[Seconds, int]] = field(default_factory=list)
    """The same of those with a grace, by when they are told at the latest."""
    _told: dict[int, Seconds] = field(default_factory=dict)
    """When those were told that count, the oldest first."""

    def __contains__(self, ref: int) -> bool:
        return ref in self._waiting

    def waiting(self) -> tuple[int, ...]:
        """Return those that wait."""
        return tuple(self._waiting)

    def add(self, stop: WaitingStop) -> None:
        """Have a stop wait for its turn, which may be now."""
        self._waiting[stop.ref] = stop
        heapq.heappush(self._by_end, (stop.over_at, stop.ref))
        if stop.grace > 0:
            heapq.heappush(self._by_latest, (stop.told_by, stop.ref))

    def end(self, ref: int) -> None:
        """Forget a stop: it was answered, or is not wanted any more."""
        self._waiting.pop(ref, None)
        self._told.pop(ref, None)

    def turns(self, now: Seconds, most: int | None) -> Iterator[WaitingStop]:
        """Yield the stops whose turn it is. ``most`` may be told at the same time; None for any number."""
        for ref in [ref for ref, at in self._told.items() if at + COUNTS_FOR <= now]:
            del self._told[ref]
        while self._waiting:
            if most is None or len(self._told) < most:
                line = self._by_end
            elif (self._first(self._by_latest) or (now + 1, 0))[0] <= now:
                line = self._by_latest
            else:
                return
            first = self._first(line)
            if first is None:
                return
            stop = self._waiting.pop(first[1])
            self._told[stop.ref] = now
            yield stop

    def next_turn(self) -> Seconds | None:
        """Return when the next one has its turn at the latest; None if none waits."""
        if not self._waiting:
            return None
        latest = self._first(self._by_latest)
        room = [at + COUNTS_FOR for at in list(self._told.values())[:1]]
        return Seconds(min([*room, *([latest[0]] if latest is not None else [])], default=0.0))

    def _first(self, line: list[tuple[Seconds, int]]) -> tuple[Seconds, int] | None:
        """Return the first of a heap that still waits."""
        while line and line[0][1] not in self._waiting:
            heapq.heappop(line)
        return line[0] if line else None
