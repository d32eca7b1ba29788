"""How images are pulled and removed, for metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from messages.port import Port
from messages.units import Seconds

PULL_BOUNDS: Final = (1, 5, 10, 20, 30, 60, 180, 360, 480, 600, 900, 1200, 1800, 2700, 3600)
"""Seconds, as a kubelet counts pulls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullTimes:
    """How long pulls took that succeeded."""

    buckets: tuple[int, ...]
    """How many took as long as each of ``PULL_BOUNDS`` at most and longer than the one before; the last
    ones took longer than all."""
    seconds: Seconds
    """All together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeImages:
    """Asks how images are pulled and removed. Answered by one ``ImagesDescribed``."""

    reply_to: Port[ImagesDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagesDescribed:
    """How images are pulled and removed. Counts are since the process began."""

    pulls: Mapping[str, PullTimes]
    """By the size of the image, in a kubelet's words: ``0-10MB``, ..."""
    failed_pulls: int
    pulls_under_way: int
    pulls_waiting: int
    removed: Mapping[str, int]
    """Images that were removed, by reason: ``age``, ``space``."""
    plugin_errors: Mapping[str, int]
    """By the name of a credential plugin: how often it gave nothing."""
