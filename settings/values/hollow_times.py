"""Durations of the hollow runtime as people type them: ``time-to-pull=2s-5s,run-for=10s``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from manifests.durations import Span, parse_span

NAMES: Final = (
    "time-to-create-sandbox",
    "time-to-pull",
    "time-to-create",
    "time-to-start",
    "time-to-stop",
    "run-for",
)
"""As the annotations ``hollow.actorlet/NAME`` are called."""


def hollow_times(text: str) -> Mapping[str, Span]:
    """Return the durations in ``text`` by their names. Raises ``ValueError``."""
    times: dict[str, Span] = {}
    for pair in text.split(","):
        name, _, value = (each.strip() for each in pair.partition("="))
        if not pair.strip():
            continue
        if name not in NAMES:
            raise ValueError(f"should be NAME=DURATION,... where NAME is one of {', '.join(NAMES)}")
        try:
            span = parse_span(value)
        except ValueError as error:
            raise ValueError(f"{name} {error}") from None
        if times.setdefault(name, span) != span:
            raise ValueError(f"has two values for {name!r}")
    return times
