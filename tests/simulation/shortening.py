"""Makes a history in which something is broken shorter, as long as something is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Final

from agent.edges import Bounds
from tests.environment.node import USUAL, NodeBounds
from tests.simulation.events.event import Event
from tests.simulation.history import History

MOST: Final = 300
"""Histories that are tried: some minutes."""


def shortened(
    history: History, is_broken: Callable[[History], bool] = lambda each: bool(each.broken())
) -> History:
    """Return a shorter history in which something is broken, too. What changes nothing is left out."""
    search = _Search(history, is_broken)
    search.leaves_out_events()
    search.leaves_out_pauses()
    search.leaves_out_bounds()
    return search.shortest


class _Search:
    """The shortest broken history so far."""

    def __init__(self, history: History, is_broken: Callable[[History], bool]) -> None:
        self.shortest = history
        self._is_broken = is_broken
        self._tries = 0

    def leaves_out_events(self) -> None:
        """Have halves left out, then less and less, then single events."""
        size = (len(self.shortest.events) + 1) // 2
        while size:
            for start in range(len(self.shortest.events) - size, -1, -size):
                events = self.shortest.events
                self._tries_with(events[:start] + events[start + size :])
            size //= 2

    def leaves_out_pauses(self) -> None:
        """Have events follow each other at once."""
        for number, event in enumerate(self.shortest.events):
            if event.pause:
                events = self.shortest.events
                sooner = replace(event, pause=0.0)
                self._tries_with((*events[:number], sooner, *events[number + 1 :]))

    def leaves_out_bounds(self) -> None:
        """Have the agent do as much at once, and wait as long, as it does for people."""
        self._tries_it(replace(self.shortest, bounds=USUAL))
        for each in fields(NodeBounds):
            bounds = replace(self.shortest.bounds, **{each.name: getattr(USUAL, each.name)})
            self._tries_it(replace(self.shortest, bounds=bounds))
        for each in fields(Bounds):
            agent = self.shortest.bounds.agent
            agent = replace(agent, **{each.name: getattr(USUAL.agent, each.name)})
            self._tries_it(
                replace(self.shortest, bounds=replace(self.shortest.bounds, agent=agent))
            )

    def _tries_with(self, events: tuple[Event, ...]) -> None:
        self._tries_it(replace(self.shortest, events=events))

    def _tries_it(self, shorter: History) -> None:
        self._tries += 1
        if self._tries <= MOST and self._is_broken(shorter):
            self.shortest = shorter
