"""Events that the API server forbids: they wait, by namespace, until it allows one of them. Pure.

A right is given for a namespace or for all. So one event of each namespace is tried again after pauses, and
the others go once it went.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from actors.events.series import EventSeries

MOST_HELD: Final = 100
"""How many series of one namespace wait. The oldest are dropped first."""


@dataclass(slots=True)
class _Namespace:
    attempts: int = 0
    series: dict[EventSeries, None] = field(default_factory=dict)
    """Those that wait, the oldest first."""


class ForbiddenEvents:
    """The namespaces in which no events may be posted for now."""

    def __init__(self) -> None:
        self._namespaces: dict[str, _Namespace] = {}

    def holds(self, namespace: str) -> bool:
        """Return whether events of ``namespace`` have to wait."""
        return namespace in self._namespaces

    def note_refusal(self, namespace: str) -> int:
        """Note that an event was forbidden; return how many were in a row."""
        held = self._namespaces.setdefault(namespace, _Namespace())
        held.attempts += 1
        return held.attempts

    def hold(self, series: EventSeries) -> EventSeries | None:
        """Have ``series`` wait. Return the one that has to go for it, if there are too many."""
        held = self._namespaces[series.namespace].series
        held.setdefault(series)
        if len(held) <= MOST_HELD:
            return None
        oldest = next(iter(held))
        del held[oldest]
        return oldest

    def probe(self, namespace: str) -> EventSeries | None:
        """Take the event that is tried next."""
        held = self._namespaces[namespace].series
        series = next(iter(held), None)
        if series is not None:
            del held[series]
        return series

    def release(self, namespace: str) -> list[EventSeries]:
        """Return what waited in ``namespace``: events may be posted there, or it is gone."""
        held = self._namespaces.pop(namespace, None)
        return [] if held is None else [*held.series]
