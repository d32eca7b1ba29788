"""Rules of what the sources of pods say of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from typing_extensions import override

from messages.sources import SourceDescribed
from tests.environment.oracle.rule import Rule

UNDER_WAY: Final = 1.0
"""Seconds for which an answer may be under way that was given before an outage."""


class LastListed(Rule):
    """When a source was last listed never moves during an outage of it, and never goes back in one life.

    An answer may have been under way for a second when the outage began.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._told: dict[str, float] = {}
        self._told_at = 0.0

    @override
    def describes(self, sources: Mapping[str, SourceDescribed]) -> None:
        if self.wishes.killed_at >= self._told_at:
            self._told.clear()
        for name, source in sources.items():
            listed, since = source.last_listed or 0.0, self.wishes.outages.get(name)
            if since is not None and self.judges() and listed > since + UNDER_WAY:
                self.broken(f"{name} says that it listed {listed - since:.1f} s into an outage")
            if name in self._told and self.judges() and listed < self._told[name] - 0.001:
                self.broken(f"{name} says that it listed earlier than it said before")
            self._told[name] = listed
        self._told_at = self.wishes.now()
