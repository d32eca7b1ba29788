"""A clock that only the test moves."""

from __future__ import annotations

from collections.abc import Callable

from typing_extensions import override

from kernel import Clock
from messages.units import Seconds, Timestamp

EPOCH = Timestamp(1_700_000_000.0)
"""The wall-clock time at the begin of a test: a Tuesday in November 2023."""


class ManualClock(Clock):
    """A clock that stands still until ``move`` is called.

    Move it by a ``Stage``, which lets everything that was told be handled first.
    """

    def __init__(self) -> None:
        self._now = Seconds(0.0)
        self._wakes: list[Callable[[], None]] = []
        self._set_by = 0.0

    @override
    def monotonic(self) -> Seconds:
        return self._now

    @override
    def wall(self) -> Timestamp:
        return Timestamp(EPOCH + self._now + self._set_by)

    @override
    def real_delay(self, due: Seconds) -> float | None:
        return None

    @override
    def on_advance(self, wake: Callable[[], None]) -> None:
        self._wakes.append(wake)

    def move(self, to: Seconds) -> None:
        """Set the time to ``to``, unless that is in the past, and make due timers fire."""
        self._now = max(self._now, to)
        for wake in self._wakes:
            wake()

    def set_wall(self, by: float) -> None:
        """Set the wall clock forward, or back, ``by`` seconds: as if the machine had slept meanwhile."""
        self._set_by += by
