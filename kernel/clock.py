"""Clocks. Code that needs the time gets a clock passed in, so that tests can move it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from typing_extensions import override

from messages.units import Seconds, Timestamp


class Clock(Protocol):
    """Tells the time, and how long a thread has to wait for a moment."""

    def monotonic(self) -> Seconds:
        """Return seconds since some fixed moment. Never goes back."""
        ...

    def wall(self) -> Timestamp:
        """Return seconds since the Unix epoch."""
        ...

    def real_delay(self, due: Seconds) -> float | None:
        """Return how many real seconds a thread has to wait until ``due``.

        ``None`` when time does not pass by itself. Then moving the clock calls what ``on_advance`` was
        given.
        """
        ...

    def on_advance(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` whenever somebody has moved the clock."""
        ...


class SystemClock(Clock):
    """The machine's clock."""

    @override
    def monotonic(self) -> Seconds:
        return Seconds(time.monotonic())

    @override
    def wall(self) -> Timestamp:
        return Timestamp(time.time())

    @override
    def real_delay(self, due: Seconds) -> float | None:
        return max(0.0, due - time.monotonic())

    @override
    def on_advance(self, wake: Callable[[], None]) -> None:
        """Do nothing: nobody moves the machine's clock."""
