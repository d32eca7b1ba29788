"""Crashes amid the work of an actor: it has done some of what a message asks for, and the rest is lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final

import pytest
from typing_extensions import override

from kernel.cell import Cell
from kernel.current import current_incarnation
from kernel.dynamic import DynamicPort
from kernel.incarnation import Incarnation
from kernel.later import Later
from kernel.mailbox import Crash, Envelope, Fence, KernelMessage, LifeOfActor, title_of
from kernel.operations import Operations, StepEnded
from tests.environment.told_once import TOLD_ONCE
from tests.support.cri.fake_wire import FAKE_CRI

ONCE_IN: Final = 5.0
"""Seconds in which its next life does what an actor crashed over. What crashes an actor twice is taken for
the cause, and isolated: that is another story."""
OUTSIDE: Final = frozenset({FAKE_CRI.path})
"""Actors that belong to the world of the agent."""


class How(StrEnum):
    """Where in its work an actor crashes."""

    UNHANDLED = "instead of a message"
    UNTOLD = "before it tells one"
    TOLD = "after it told one"
    HANDLED = "after a message, with all that it did"


AT_MESSAGES: Final = frozenset({How.UNHANDLED, How.HANDLED})
WHILE_TELLING: Final = frozenset({How.UNTOLD, How.TOLD})


class CrashedAmidError(BaseException):
    """The actor was crashed amid its work. No ``except Exception`` of the agent's sees it."""


@dataclass(slots=True, eq=False)
class _Armed:
    """A crash that is to come."""

    left: int
    """Messages until then: those that it handles, or those that it tells."""
    how: How
    victim: str

    def is_of(self, actor: str) -> bool:
        """Return whether this is about an actor."""
        return not self.victim or actor == self.victim or actor.startswith(f"{self.victim}/")


class CrashesAmid:
    """Crashes an actor, or whichever does, that handles or tells the n-th message from now on.

    What is told once is not lost: its receiver crashes over the first thing that it tells then. A step of an
    operation that has ended is a message, too; who crashes instead of it crashes in the operation.

    ``now`` returns seconds. What the outside is asked for is carried out whole.
    """

    def __init__(self, patched: pytest.MonkeyPatch, now: Callable[[], float]) -> None:
        self._now = now
        self._crashed_at: dict[str, float] = {}
        self._armed: list[_Armed] = []
        self.when_crashed: Callable[[str], None] = lambda _: None
        """Is told the name of an actor that is about to crash."""
        for each in (Cell, DynamicPort):
            patched.setattr(each, "tell", self._counting_told(each.tell))
        patched.setattr(Incarnation, "_handle", self._counting_handled(Incarnation._handle))
        patched.setattr(Operations, "_drive", self._counting_steps(Operations._drive))

    def arm(self, left: int, how: How, victim: str = "") -> None:
        """Have ``victim`` crash at the ``left``-th message from now that it handles, or tells.

        Of many actors that are alike, such as those of pods, ``victim`` is what their names begin with: it
        is whichever of them comes to that message. If it is empty, that is any actor. Who is to crash
        already crashes then.
        """
        if all(each.victim != victim for each in self._armed):
            self._armed.append(_Armed(left, how, victim))

    def disarm(self) -> None:
        """Have nobody crash."""
        self._armed.clear()

    def crash(self) -> None:
        """Crash the actor whose turn it is."""
        actor = _whose_turn_it_is().cell.key.path
        self._crashed_at[actor] = self._now()
        self.when_crashed(actor)
        raise CrashedAmidError("crashed on request")

    def crash_telling(self, handle: Callable[[], None]) -> None:
        """Crash whose turn it is at the first message that it tells in ``handle``, or after that."""
        armed = _Armed(1, How.UNTOLD, _whose_turn_it_is().cell.key.path)
        self._armed.append(armed)
        handle()
        self._armed.remove(armed)
        self.crash()

    def _counting_told(self, tell: Callable[..., None]) -> Callable[..., None]:
        def counted(port: Cell[Any] | DynamicPort, message: Any, /) -> None:
            is_outside = isinstance(port, Cell) and port.key.path in OUTSIDE
            due = self._due(WHILE_TELLING) if self._armed and not is_outside else None
            if due is None or due.how is How.TOLD:
                tell(port, message)
            if due is not None:
                self.crash()

        return counted

    def _counting_handled(self, handle: Callable[..., bool]) -> Callable[..., bool]:
        def counted(life: Incarnation, item: object) -> bool:
            is_counted = self._armed and not isinstance(item, Envelope | Fence | Crash | StepEnded)
            due = self._due(AT_MESSAGES) if is_counted else None
            return handle(life, item if due is None else _Fatal(item, due.how, self))

        return counted

    def _counting_steps(self, drive: Callable[..., None]) -> Callable[..., None]:
        def counted(engine: Operations[Any], running: Any, go: Callable[[], object]) -> None:
            due = self._due(AT_MESSAGES) if self._armed else None
            drive(engine, running, self.crash if due and due.how is How.UNHANDLED else go)
            if due is not None:
                self.crash()

        return counted

    def _due(self, hows: frozenset[How]) -> _Armed | None:
        """Count a message. Return the crash whose time has come, which is then of whose turn it is."""
        life = current_incarnation()
        if not isinstance(life, Incarnation) or life.is_cut_off:
            return None
        actor = life.cell.key.path
        if self._is_spared(actor):
            return None
        about = [each for each in self._armed if each.how in hows and each.is_of(actor)]
        for each in about:
            each.left -= 1
        due = next((each for each in about if not each.left), None)
        self._armed = [each for each in self._armed if each.left]
        return due

    def _is_spared(self, actor: str) -> bool:
        crashed_at = self._crashed_at.get(actor, -math.inf)
        return actor in OUTSIDE or self._now() < crashed_at + ONCE_IN


class _Fatal(KernelMessage):
    """A message over which its receiver crashes."""

    __slots__ = ("_crashes", "_how", "_message")

    def __init__(self, message: object, how: How, crashes: CrashesAmid) -> None:
        self._message = message
        self._how = how
        self._crashes = crashes

    @property
    @override
    def title(self) -> str:
        return title_of(self._message)

    @override
    def perform(self, life: LifeOfActor, /) -> None:
        message, crashes = self._message, self._crashes
        if self._how is How.HANDLED:
            self._handle(life)
            crashes.crash()
        elif isinstance(message, TOLD_ONCE):
            crashes.crash_telling(partial(self._handle, life))
        elif isinstance(message, KernelMessage) and not isinstance(message, Later):
            message.perform(_Doomed(life, crashes))
        crashes.crash()

    def _handle(self, life: LifeOfActor) -> None:
        if isinstance(self._message, KernelMessage):
            self._message.perform(life)
        else:
            life.actor.receive(self._message)


class _Doomed:
    """A life whose actor crashes over whatever it is to handle."""

    def __init__(self, life: LifeOfActor, crashes: CrashesAmid) -> None:
        self._life = life
        self._crashes = crashes

    @property
    def actor(self) -> _Doomed:
        return self

    @property
    def is_cut_off(self) -> bool:
        return self._life.is_cut_off

    def receive(self, _: object) -> None:
        self._crashes.crash()


def _whose_turn_it_is() -> Incarnation:
    life = current_incarnation()
    assert isinstance(life, Incarnation)
    return life
