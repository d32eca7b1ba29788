"""Crashes amid the work of an actor: when it has told some of what it tells, and the rest is lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest

from kernel.cell import Cell
from kernel.current import current_incarnation
from kernel.incarnation import Incarnation
from tests.support.cri.fake_wire import FAKE_CRI

ONCE_IN: Final = 60.0
"""Seconds. What crashes an actor twice is taken for the cause, and isolated: that is another story."""
OUTSIDE: Final = frozenset({FAKE_CRI.path})
"""Actors that belong to the world of the agent."""


class CrashedAmidError(BaseException):
    """The actor was crashed amid its work. No ``except Exception`` of the agent's sees it."""


@dataclass(slots=True, eq=False)
class _Armed:
    """A crash that is to come."""

    left: int
    """Messages until then."""
    is_told: bool
    victim: str

    def is_of(self, actor: str) -> bool:
        """Return whether this is about an actor."""
        return not self.victim or actor == self.victim or actor.startswith(f"{self.victim}/")


class CrashesAmid:
    """Crashes an actor, or whichever does, that tells the n-th message from now on: before it has told it,
    or after.

    ``now`` returns seconds. What the outside is asked for is carried out whole.
    """

    def __init__(self, patched: pytest.MonkeyPatch, now: Callable[[], float]) -> None:
        self._now = now
        self._crashed_at: dict[str, float] = {}
        self._armed: list[_Armed] = []
        self.when_crashed: Callable[[str], None] = lambda _: None
        """Is told the name of an actor that is about to crash."""
        tell = Cell.tell

        def counted(cell: Cell[Any], message: Any, /) -> None:
            due = self._due() if self._armed and cell.key.path not in OUTSIDE else None
            if due is None or due.is_told:
                tell(cell, message)
            if due is not None:
                self._crash()

        patched.setattr(Cell, "tell", counted)

    def arm(self, left: int, *, is_told: bool, victim: str = "") -> None:
        """Have ``victim`` crash when it tells the ``left``-th message from now, which it still tells or not.

        Of many actors that are alike, such as those of pods, ``victim`` is what their names begin with: it
        is whichever of them tells that message. If it is empty, that is any actor.
        """
        self._armed = [each for each in self._armed if each.victim != victim]
        self._armed.append(_Armed(left, is_told, victim))

    def disarm(self) -> None:
        """Have nobody crash."""
        self._armed.clear()

    def _due(self) -> _Armed | None:
        """Count a message. Return the crash whose time has come, which is then of its teller."""
        teller = current_incarnation()
        if not isinstance(teller, Incarnation) or teller.is_cut_off:
            return None
        actor = teller.cell.key.path
        if self._is_spared(actor):
            return None
        about = [each for each in self._armed if each.is_of(actor)]
        for each in about:
            each.left -= 1
        due = next((each for each in about if not each.left), None)
        self._armed = [each for each in self._armed if each.left]
        return due

    def _is_spared(self, actor: str) -> bool:
        crashed_at = self._crashed_at.get(actor, -math.inf)
        return actor in OUTSIDE or self._now() < crashed_at + ONCE_IN

    def _crash(self) -> None:
        teller = current_incarnation()
        assert isinstance(teller, Incarnation)
        actor = teller.cell.key.path
        self._crashed_at[actor] = self._now()
        self.when_crashed(actor)
        raise CrashedAmidError("crashed on request")
