"""Which loops count as failed, for those who tell people. On the control thread.

A loop is a child of a supervisor whose children are fixed. Children that come and go are a crowd, and
the crowd is one loop: one bad object never touches its neighbours, and must not have the whole agent
called unwell, or restarted, for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

FailedLoopsObserver: TypeAlias = Callable[[frozenset[str]], None]

FEWEST_FAILING: Final = 5
"""Children of a crowd. Fewer say something of themselves, and not of what all have in common. A guess."""


def is_crowd_failing(failed: int, members: int) -> bool:
    """Return whether so many children that failed too often are more than their own trouble.

    Then it is what all of them need that fails: they are more than half of the crowd, and not few.
    """
    return failed >= FEWEST_FAILING and failed > members / 2


def crowd_name(supervisor: str) -> str:
    """Return what the children of a dynamic supervisor are called together."""
    return f"{supervisor}/*"


class FailedLoops:
    """The names of loops that failed too often, and who is told of them."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()
        self._observers: list[FailedLoopsObserver] = []

    def observe(self, observer: FailedLoopsObserver) -> None:
        """Have ``observer`` told all names whenever there are others."""
        self._observers.append(observer)

    def note(self, name: str, *, failed: bool) -> None:
        """Note that a loop failed too often, or is well again. May repeat."""
        if failed == (name in self._names):
            return
        self._names = self._names | {name} if failed else self._names - {name}
        for observer in self._observers:
            observer(self._names)

    def __contains__(self, name: str) -> bool:
        """Whether a loop counts as failed, even if it runs at this moment."""
        return name in self._names
