"""Times that are counted in buckets. Knows no actors."""

from __future__ import annotations

from bisect import bisect_left

from messages.units import TimesCounted


class TimesCounter:
    """Counts times by upper bounds, since the process began."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._buckets = [0] * (len(bounds) + 1)
        self._seconds = 0.0

    def note(self, took: float) -> None:
        """Count one time, in seconds. The clock may have been set back meanwhile: then it counts as none."""
        took = max(0.0, took)
        self._buckets[bisect_left(self._bounds, took)] += 1
        self._seconds += took

    def described(self) -> TimesCounted:
        """Return what was counted."""
        return TimesCounted(
            bounds=self._bounds, buckets=tuple(self._buckets), seconds=self._seconds
        )
