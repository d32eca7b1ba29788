"""What the kernel counts, per role: ten thousand watchers are one row of the metrics.

The metrics endpoint reads the counts. This module knows no metrics library.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass

import structlog

SECONDS_BUCKETS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
"""Upper bounds, in seconds, of the histogram of times per message. A typical handler takes 10 to 100 us. The
last bound is near the hang limit."""

_log = structlog.get_logger("kernel")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleStatistics:
    """Totals of one role since the process began."""

    role: str
    handled: int
    """Messages that were handled."""
    seconds: float
    """Time that this took, in seconds."""
    buckets: tuple[int, ...]
    """Messages per bucket of ``SECONDS_BUCKETS``, not cumulated, and in one more bucket above them."""
    restarts: dict[str, int]
    """Restarts, by the reason of the ending before them."""


class Meter:
    """Counts of one role. All threads that run its actors write to it."""

    __slots__ = ("_buckets", "_lock", "_restarts", "_seconds", "role")

    def __init__(self, role: str) -> None:
        self.role = role
        self._lock = threading.Lock()
        self._buckets = [0] * (len(SECONDS_BUCKETS) + 1)
        self._seconds = 0.0
        self._restarts: Counter[str] = Counter()

    def handled(self, seconds: float) -> None:
        """Count one message that took ``seconds`` to handle."""
        bucket = bisect_left(SECONDS_BUCKETS, seconds)
        with self._lock:
            self._buckets[bucket] += 1
            self._seconds += seconds

    def restarted(self, reason: str) -> None:
        """Count one restart after an ending for ``reason``."""
        with self._lock:
            self._restarts[reason] += 1

    def statistics(self) -> RoleStatistics:
        """Return the totals."""
        with self._lock:
            return RoleStatistics(
                role=self.role,
                handled=sum(self._buckets),
                seconds=self._seconds,
                buckets=tuple(self._buckets),
                restarts=dict(self._restarts),
            )


class Telemetry:
    """The meters of all roles, and the counts of dead letters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._meters: dict[str, Meter] = {}
        self._dead_letters: Counter[tuple[str, str]] = Counter()

    def meter(self, role: str) -> Meter:
        """Return the meter of ``role``; make it if there is none."""
        with self._lock:
            return self._meters.setdefault(role, Meter(role))

    def dead_letter(self, path: str, message: str, why: str) -> None:
        """Count a message that nobody will handle any more. ``message`` is its type, never its content."""
        with self._lock:
            self._dead_letters[path.partition("/")[0], why] += 1
        _log.debug("dead letter", actor=path, message=message, why=why)

    def dead_letters(self) -> dict[tuple[str, str], int]:
        """Return the numbers of dead letters, by role and reason."""
        with self._lock:
            return dict(self._dead_letters)

    def statistics(self) -> tuple[RoleStatistics, ...]:
        """Return the totals of every role, in order of name."""
        with self._lock:
            meters = sorted(self._meters.values(), key=lambda meter: meter.role)
        return tuple(meter.statistics() for meter in meters)
