"""The loops of the agent that count as failed, for health reports. Runs on the control thread.

A loop is a child in the fixed part of the tree. All dynamic children of one supervisor together are one
loop, too: one bad object does no harm to the others, and must not make the agent unhealthy, or have it
restarted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

FailedLoopsObserver: TypeAlias = Callable[[frozenset[str]], None]

FEWEST_FAILING: Final = 5
"""Fewer failing dynamic children count as failing each for a reason of its own, and not for one that all of
them share. A guess."""


def are_most_failing(failed: int, members: int) -> bool:
    """Return whether the dynamic children of a supervisor count as a failed loop.

    They do when more than half of the ``members``, and at least ``FEWEST_FAILING``, ``failed`` too often:
    then something that all of them need must be failing.
    """
    return failed >= FEWEST_FAILING and failed > members / 2


def dynamic_loop_name(supervisor: str) -> str:
    """Return the name of the loop that the children of a dynamic supervisor are together."""
    return f"{supervisor}/*"


class FailedLoops:
    """The names of the failed loops, and the observers who are told of them."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()
        self._observers: list[FailedLoopsObserver] = []

    def observe(self, observer: FailedLoopsObserver) -> None:
        """Call ``observer`` with all names whenever they change."""
        self._observers.append(observer)

    def note(self, name: str, *, failed: bool) -> None:
        """Note that the loop ``name`` failed too often, or is well again. May be repeated."""
        if failed == (name in self._names):
            return
        self._names = self._names | {name} if failed else self._names - {name}
        for observer in self._observers:
            observer(self._names)

    def __contains__(self, name: str) -> bool:
        """Whether the loop ``name`` counts as failed, even if it runs at this moment."""
        return name in self._names
