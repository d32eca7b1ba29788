"""Spans of time in settings: how they are written is ``actors.objects.durations``' business."""

from __future__ import annotations

from actors.messages.units import Seconds
from actors.objects.durations import format_duration, parse_duration

__all__ = ["checked_frequency", "format_duration", "parse_duration"]

SHORTEST_FREQUENCY = Seconds(0.01)
"""A look every 10 ms is close to a busy loop already; 0 asks for the default instead."""


def checked_frequency(span: float) -> Seconds:
    """Return ``span``, the time between two looks. Raises ``ValueError`` when it is too short to obey."""
    if span != 0 and span < SHORTEST_FREQUENCY:
        raise ValueError(f"should be at least {format_duration(SHORTEST_FREQUENCY)}")
    return Seconds(span)
