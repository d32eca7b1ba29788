"""Counts of what becomes of images. Pure, but for what it counts."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from messages.images import PULL_BOUNDS, ImagesDescribed, PullTimes
from messages.units import Seconds
from runtimes.cri.images.pull_queue import PullQueue

_MB: Final = 10**6
_SIZES: Final = (
    (10 * _MB, "0-10MB"),
    (100 * _MB, "10MB-100MB"),
    (500 * _MB, "100MB-500MB"),
    (1_000 * _MB, "500MB-1GB"),
    (5_000 * _MB, "1GB-5GB"),
    (10_000 * _MB, "5GB-10GB"),
    (20_000 * _MB, "10GB-20GB"),
    (30_000 * _MB, "20GB-30GB"),
    (40_000 * _MB, "30GB-40GB"),
    (60_000 * _MB, "40GB-60GB"),
    (100_000 * _MB, "60GB-100GB"),
)
_LARGEST: Final = "GT100GB"


@dataclass(slots=True)
class _Times:
    buckets: list[int] = field(default_factory=lambda: [0] * (len(PULL_BOUNDS) + 1))
    seconds: float = 0.0


@dataclass(slots=True)
class ImageFigures:
    """What was counted since the process began."""

    removed: Counter[str] = field(default_factory=Counter)
    plugin_errors: Counter[str] = field(default_factory=Counter)
    failed_pulls: int = 0
    _pulls: dict[str, _Times] = field(default_factory=dict)

    def note_pull(self, size: int, took: Seconds) -> None:
        """Count a pull that succeeded."""
        times = self._pulls.setdefault(size_class(size), _Times())
        times.buckets[bisect_left(PULL_BOUNDS, took)] += 1
        times.seconds += took

    def described(self, queue: PullQueue) -> ImagesDescribed:
        """Return it all."""
        return ImagesDescribed(
            pulls={
                size: PullTimes(buckets=tuple(times.buckets), seconds=Seconds(times.seconds))
                for size, times in self._pulls.items()
            },
            failed_pulls=self.failed_pulls,
            pulls_under_way=queue.under_way,
            pulls_waiting=len(queue) - queue.under_way,
            removed=dict(self.removed),
            plugin_errors=dict(self.plugin_errors),
        )


def size_class(size: int) -> str:
    """Return what a kubelet calls images of this size, in bytes."""
    return next((name for limit, name in _SIZES if size <= limit), _LARGEST)
