"""Decisions about restarts. Supervisors carry them out."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from kernel.endings import EndReason
from kernel.specs import Backoff, OnExhausted, Restart
from messages.units import Seconds


def is_restarted(restart: Restart, reason: EndReason) -> bool:
    """Return whether a child with the policy ``restart`` is started again after an ending for ``reason``."""
    match restart:
        case Restart.PERMANENT:
            return True
        case Restart.TRANSIENT:
            return reason is EndReason.FAILED
        case Restart.TEMPORARY:
            return False


class RestartWindow:
    """Counts restarts within a sliding period."""

    __slots__ = ("_intensity", "_period", "_times")

    def __init__(self, intensity: int, period: Seconds) -> None:
        self._intensity = intensity
        self._period = period
        self._times: deque[Seconds] = deque(maxlen=intensity + 1)

    def exceeded_by_one_more(self, now: Seconds) -> bool:
        """Count a restart at ``now``. Return whether the period has more than ``intensity`` of them."""
        self._times.append(now)
        while self._times and self._times[0] < now - self._period:
            self._times.popleft()
        return len(self._times) > self._intensity


@dataclass(slots=True)
class FailureStreak:
    """The failures of one child since its last healthy life."""

    count: int = 0
    started: Seconds | None = None
    """When its present life finished its start. ``None`` while there is none."""
    is_exhausted: bool = False
    """It failed more often than tolerated, and has had no healthy life since."""

    def failed(self, now: Seconds, reset_after: Seconds) -> int:
        """Count a failure at ``now``. Return how many there have been in a row.

        A life that lasted ``reset_after`` seconds was healthy: the count begins again.
        """
        if self.started is not None and now - self.started >= reset_after:
            self.count = 0
            self.is_exhausted = False
        self.started = None
        self.count += 1
        return self.count


@dataclass(frozen=True, slots=True)
class Again:
    """Start the child again after ``delay``."""

    delay: Seconds
    exhausted: bool = False
    """It failed too often, and is started again only because it is isolated."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The supervisor stops its children and fails."""


def decide(
    now: Seconds,
    window: RestartWindow,
    streak: FailureStreak,
    backoff: Backoff,
    on_exhausted: OnExhausted,
) -> Again | GiveUp:
    """Return what a supervisor does about a child that has to be started again.

    Counts the failure in ``streak`` and the restart in ``window``. That is the window of the supervisor,
    or the child's own if it is isolated.
    """
    failures = streak.failed(now, backoff.reset_after)
    is_one_too_many = window.exceeded_by_one_more(now)
    if on_exhausted is OnExhausted.ISOLATE:
        # Waits at the cap alone would empty the window: only a healthy life ends the exhaustion.
        streak.is_exhausted |= is_one_too_many
        if streak.is_exhausted:
            return Again(backoff.cap, exhausted=True)
    return GiveUp() if is_one_too_many else Again(backoff.delay(failures))
