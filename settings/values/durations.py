"""Durations in settings. ``manifests.durations`` reads and writes them."""

from __future__ import annotations

from manifests.durations import format_duration, parse_duration
from messages.units import Seconds

__all__ = ["checked_frequency", "format_duration", "parse_duration"]

SHORTEST_FREQUENCY = Seconds(0.01)
"""A look every 10 ms is close to a busy loop already."""


def checked_frequency(span: float) -> Seconds:
    """Return ``span``, a time between two looks, or 0. Raises ``ValueError`` if it is too short."""
    if span != 0 and span < SHORTEST_FREQUENCY:
        raise ValueError(f"should be at least {format_duration(SHORTEST_FREQUENCY)}")
    return Seconds(span)
