"""Spans of time in settings: how they are written is ``manifests.durations``' business."""

from __future__ import annotations

from manifests.durations import format_duration, parse_duration
from messages.units import Seconds

__all__ = ["checked_frequency", "format_duration", "parse_duration"]

SHORTEST_FREQUENCY = Seconds(0.01)
"""A look every 10 ms is close to a busy loop already; 0 asks for the default instead."""


def checked_frequency(span: float) -> Seconds:
    """Return ``span``, the time between two looks. Raises ``ValueError`` when it is too short to obey."""
    if span != 0 and span < SHORTEST_FREQUENCY:
        raise ValueError(f"should be at least {format_duration(SHORTEST_FREQUENCY)}")
    return Seconds(span)
