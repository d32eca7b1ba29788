"""Crashes amid the work of an actor: when it has told some of what it tells, and the rest is lost."""

from __future__ import annotations

import math
from collections.abc import Callable
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


class CrashesAmid:
    """Crashes whichever actor tells the n-th message from now on: before it has told it, or after.

    ``now`` returns seconds. What the outside is asked for is carried out whole.
    """

    def __init__(self, patched: pytest.MonkeyPatch, now: Callable[[], float]) -> None:
        self._now = now
        self._crashed_at: dict[str, float] = {}
        self._left = 0
        self._is_told = False
        self._of = ""
        self.when_crashed: Callable[[str], None] = lambda _: None
        """Is told the name of an actor that is about to crash."""
        tell = Cell.tell

        def counted(cell: Cell[Any], message: Any, /) -> None:
            is_last = cell.key.path not in OUTSIDE and self._counts()
            if not is_last or self._is_told:
                tell(cell, message)
            if is_last:
                self._crash()

        patched.setattr(Cell, "tell", counted)

    def arm(self, left: int, *, is_told: bool, of: str = "") -> None:
        """Have the actor crash that tells so many messages from now. ``is_told``: it still tells this one.

        Messages of the actor ``of`` count alone, if there is one.
        """
        self._left, self._is_told, self._of = left, is_told, of

    def disarm(self) -> None:
        """Have nobody crash."""
        self._left = 0

    def _counts(self) -> bool:
        """Count a message. Return whether its teller is to crash."""
        teller = current_incarnation()
        if (
            not self._left
            or not isinstance(teller, Incarnation)
            or teller.is_cut_off
            or self._is_spared(teller.cell.key.path)
        ):
            return False
        self._left -= 1
        return not self._left

    def _is_spared(self, actor: str) -> bool:
        crashed_at = self._crashed_at.get(actor, -math.inf)
        return actor in OUTSIDE or self._of not in {"", actor} or self._now() < crashed_at + ONCE_IN

    def _crash(self) -> None:
        teller = current_incarnation()
        assert isinstance(teller, Incarnation)
        actor = teller.cell.key.path
        self._crashed_at[actor] = self._now()
        self.when_crashed(actor)
        raise CrashedAmidError("crashed on request")
