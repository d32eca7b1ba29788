"""One line of the table: what was measured, what it should be, and what stands beside it.

Values only. How they come about is the business of the subjects, how they look that of ``table``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import NamedTuple

MEDIAN, P99, WORST, LOWEST = "median", "p99", "worst", "lowest"


class Target(NamedTuple):
    """What a figure has to reach."""

    limit: float
    at_least: bool = False
    """The figure has to be that much or more, where others have to be that little or less."""
    of_ratio: bool = False
    """The limit is one of the ratio to the peer, and not of a figure."""

    def is_met(self, figure: float) -> bool:
        """Return whether ``figure`` is good enough."""
        return figure >= self.limit if self.at_least else figure <= self.limit


class Peer(NamedTuple):
    """What does the same work, or what others measured of it."""

    name: str
    figure: float | None = None
    """In the unit of the row, to be compared with its first figure; None when there is none."""
    in_this_run: bool = True
    """Measured beside it just before or after, as opposed to taken from notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing that was measured."""

    what: str
    unit: str
    figures: Mapping[str, float]
    """By name, such as ``median``; the first is the one to compare with the peer."""
    samples: int
    target: Target | None = None
    judged: str = ""
    """Which figure the target is about; the first when it is empty."""
    peer: Peer | None = None

    @property
    def figure(self) -> float:
        """The first figure."""
        return next(iter(self.figures.values()))

    @property
    def is_met(self) -> bool | None:
        """Whether the target is reached; None when there is none, or no peer to compare with."""
        if self.target is None:
            return None
        if self.target.of_ratio:
            return None if self.ratio is None else self.target.is_met(self.ratio)
        return self.target.is_met(self.figures[self.judged] if self.judged else self.figure)

    @property
    def ratio(self) -> float | None:
        """How many times the peer's figure this one is; None when there is nothing to divide by."""
        return self.figure / self.peer.figure if self.peer and self.peer.figure else None


def percentile(samples: Sequence[float], percent: float) -> float:
    """Return the smallest sample that ``percent`` of all samples do not exceed (nearest rank).

    So it is always a value that was measured, and of few samples the worst.
    """
    ordered = sorted(samples)
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


def tail(samples: Sequence[float], factor: float = 1.0) -> dict[str, float]:
    """Return median and p99 of ``samples``, times ``factor``: for latencies."""
    return {MEDIAN: median(samples) * factor, P99: percentile(samples, 99) * factor}


def spread(samples: Sequence[float], factor: float = 1.0) -> dict[str, float]:
    """Return median and worst of ``samples``, times ``factor``: for few repetitions."""
    return {MEDIAN: median(samples) * factor, WORST: max(samples) * factor}


def peak_rate(counts: Sequence[tuple[float, float]], window: float = 1.0) -> float:
    """Return the highest rate per second over ``window`` seconds, or a little more.

    ``counts`` are times in seconds, in order, and what a counter stood at; less than a window of them
    counts as a whole one.
    """
    highest, start = 0.0, 0
    for now, count in counts:
        # The shortest stretch up to here that is a window long, else all there is.
        while start + 1 < len(counts) and counts[start + 1][0] <= now - window:
            start += 1
        since, before = counts[start]
        highest = max(highest, (count - before) / max(window, now - since))
    return highest


def rates(samples: Sequence[float]) -> dict[str, float]:
    """Return median and lowest of ``samples``: for what should be much, not little."""
    return {MEDIAN: median(samples), LOWEST: min(samples)}
