"""Time, injected. Nothing else in the agent asks the system what time it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from typing_extensions import override

from messages.units import Seconds, Timestamp


class Clock(Protocol):
    """What time it is, and how long to really wait for a moment of it."""

    def monotonic(self) -> Seconds:
        """Seconds since some fixed moment; never goes back."""
        ...

    def wall(self) -> Timestamp:
        """Seconds since the Unix epoch."""
        ...

    def real_delay(self, due: Seconds) -> float | None:
        """Return how long a thread must wait until ``due``, in real seconds.

        ``None`` when time does not pass by itself: whoever moves it calls what was given to
        ``on_advance``.
        """
        ...

    def on_advance(self, wake: Callable[[], None]) -> None:
        """Have ``wake`` called whenever time was moved by hand."""
        ...


class SystemClock(Clock):
    """The machine's own time."""

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
        """Nobody moves the machine's time by hand."""
