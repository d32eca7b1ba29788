"""When a container is asked, and what is due when, in ticks of 10 ms. Pure.

Whatever falls into one tick is due at its end. So it is never early, at most 10 ms late, and a thousand
probes a second wake the loop a hundred times instead of a thousand.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from actors.probes.specs import ProbeSpec
from messages.units import Seconds

TICK: Final = Seconds(0.01)

Item = TypeVar("Item", bound=Hashable)


class TickRoom:
    """Room for so many of something in each tick."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tick = 0
        self._taken = 0

    def take(self, now: Seconds) -> bool:
        """Take room for one. Return False if there is none left in this tick."""
        tick = math.floor(now / TICK)
        if tick != self._tick:
            self._tick, self._taken = tick, 0
        self._taken += 1
        return self._taken <= self._most


class TickQueue(Generic[Item]):
    """Items by the tick in which they are due. In one tick they keep the order in which they came."""

    def __init__(self) -> None:
        self._ticks: dict[int, dict[Item, None]] = {}
        self._order: list[int] = []
        """A heap of the ticks. Some of them may have lost all of their items."""

    def add(self, due: Seconds, item: Item) -> int:
        """Add ``item``, due at ``due``. Return the tick that it can be taken away by."""
        tick = math.ceil(due / TICK - 1e-6)
        items = self._ticks.get(tick)
        if items is None:
            items = self._ticks[tick] = {}
            heapq.heappush(self._order, tick)
        items[item] = None
        return tick

    def discard(self, tick: int, item: Item) -> None:
        """Take ``item`` away, if it is there."""
        items = self._ticks.get(tick)
        if items is not None:
            items.pop(item, None)

    def next_due(self) -> Seconds | None:
        """Return when the next item is due; None if there is none."""
        while self._order:
            tick = self._order[0]
            if self._ticks[tick]:
                return Seconds(tick * TICK)
            del self._ticks[heapq.heappop(self._order)]
        return None

    def take_due(self, now: Seconds, most: int = sys.maxsize) -> list[Item]:
        """Take away and return what is due by ``now``: the earliest, and at most ``most``."""
        taken: list[Item] = []
        last = math.floor(now / TICK + 1e-6)
        while self._order and self._order[0] <= last and len(taken) < most:
            items = self._ticks[self._order[0]]
            if len(items) <= most - len(taken):
                taken.extend(items)
                del self._ticks[heapq.heappop(self._order)]
            else:
                for item in [
                    item for item, _ in zip(items, range(most - len(taken)), strict=False)
                ]:
                    del items[item]
                    taken.append(item)
        return taken


class NextDue(NamedTuple):
    """When an attempt is due."""

    due: Seconds
    skipped: int
    """How many were missed before, and are left out."""


def first_due(spec: ProbeSpec, age: float, spread: float, now: Seconds) -> Seconds:
    """Return when a container is asked first: when its delay is over, and ``spread`` seconds later.

    ``age`` is for how long it has run, in seconds. A clock that is set may make it anything; nobody
    waits longer than the delay for that.
    """
    wait = min(max(0.0, spec.initial_delay - age), spec.initial_delay)
    return Seconds(now + wait + spread)


def next_due(spec: ProbeSpec, last: Seconds, now: Seconds) -> NextDue:
    """Return when it is asked again: whole periods after it was ``last`` due, and not in the past."""
    due = Seconds(last + spec.period)
    if due >= now:
        return NextDue(due, 0)
    skipped = int((now - due) / spec.period) + 1
    return NextDue(Seconds(due + skipped * spec.period), skipped)
