"""The last events, by number: for readers that come back or wait for the present state. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

MOST_EVENTS: Final = 20_000
"""Two for each pod of a large node."""
MOST_BYTES: Final = 8 * 2**20
"""Events of pods with many containers are long."""


class StatePart(NamedTuple):
    """Something that somebody is asked for, to tell the present state: the pods, one source, one kind."""

    about: str
    which: str = ""


class KeptEvent(NamedTuple):
    """One event as it was told."""

    number: int
    part: StatePart | None
    """Which part of the present state says the same and more; None if none does."""
    text: bytes


class EventRing:
    """The last events. Each has a number, and an id with it for those who read.

    An id names the time since which events are numbered as well. So an id of another process, or of a time
    before nobody followed, is not taken for one of now.
    """

    def __init__(self, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._events: deque[KeptEvent] = deque()
        self._bytes = 0
        self._epoch = ""
        self.newest = 0
        """The number of the last event that there was."""

    def begin(self, epoch: str) -> None:
        """Forget all events, and number others from here on."""
        self._events.clear()
        self._bytes, self.newest, self._epoch = 0, 0, epoch

    def add(self, part: StatePart | None, text: bytes) -> bytes:
        """Keep an event, and return it with its id."""
        self.newest += 1
        told = with_id(text, self.id_of(self.newest))
        self._events.append(KeptEvent(self.newest, part, told))
        self._bytes += len(told)
        while len(self._events) > self._most_events or self._bytes > self._most_bytes:
            self._bytes -= len(self._events.popleft().text)
        return told

    def id_of(self, number: int) -> str:
        """Return the id of an event."""
        return f"{self._epoch}-{number}"

    def after(self, number: int) -> Sequence[KeptEvent] | None:
        """Return the events after that of a number; None if some of them are forgotten."""
        missing = self.newest - number
        if missing > len(self._events):
            return None
        return [each for each in self._events if each.number > number]

    def since(self, event_id: str) -> Sequence[KeptEvent] | None:
        """Return the events after that of an id; None if some are forgotten, or it is no id of now."""
        epoch, _, digits = event_id.rpartition("-")
        # No more digits than a number has: they come from outside.
        if epoch != self._epoch or not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            return None
        number = int(digits)
        return self.after(number) if number <= self.newest else None


def with_id(text: bytes, event_id: str) -> bytes:
    """Return one server-sent event with an id."""
    return b"%bid: %b\n\n" % (text[:-1], event_id.encode())
