"""Times: types of numbers that carry their unit, a moment on both clocks, and times that were counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, NewType

Seconds = NewType("Seconds", float)
"""A span of time in seconds."""

Timestamp = NewType("Timestamp", float)
"""Seconds since the Unix epoch, UTC."""


class Instant(NamedTuple):
    """One moment on both clocks."""

    monotonic: Seconds
    """For deadlines."""
    wall: Timestamp
    """For people, and for comparing with what others tell."""

    def back_to(self, due: Seconds) -> Instant:
        """Return the moment ``due``, which has passed."""
        return Instant(due, Timestamp(self.wall - (self.monotonic - due)))

    def on_wall(self, wall: Timestamp) -> Instant:
        """Return the moment that was ``wall`` on the wall clock, as this one sees it."""
        return Instant(Seconds(self.monotonic - (self.wall - wall)), wall)


DURATION_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds of the buckets that durations are counted in, as a kubelet has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesCounted:
    """Times by upper bounds in seconds. The last bucket is for those above all bounds. Not cumulated."""

    bounds: tuple[float, ...]
    buckets: tuple[int, ...]
    seconds: float
    """All times together."""
