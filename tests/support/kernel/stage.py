"""A running actor system on the test's own clock.

On the runtime ``Steps`` there are no threads, and the seed decides the schedule. On ``Threads`` it runs on
real threads. The same story holds on both.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from kernel import (
    ActorDescription,
    ActorSystem,
    Backoff,
    BaseActor,
    ChildSpec,
    Ended,
    Key,
    OnExhausted,
    Port,
    Runtime,
    Steps,
    SupervisorSpec,
    SystemClock,
    Threads,
)
from kernel.cell import Cell
from messages.units import Seconds
from tests.support.kernel.clock import ManualClock
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE

M = TypeVar("M")
A = TypeVar("A")


class Stage:
    """An ``ActorSystem`` and its clock.

    With ``live`` that is the machine's clock: for stories in which a real thread gets stuck.
    """

    def __init__(
        self,
        spec: SupervisorSpec,
        runtime: Runtime | None = None,
        *,
        live: bool = False,
    ) -> None:
        self.clock = ManualClock()
        self.runtime = runtime or Steps()
        self.system = ActorSystem(
            spec,
            clock=SystemClock() if live else self.clock,
            runtime=self.runtime,
        )
        self.endings: list[Ended] = []
        self.system.observe_endings(self.endings.append)
        self.ended: Probe[Ended] = Probe()
        self.system.observe_endings(self.ended.tell)

    def start(self) -> None:
        """Start the tree, and let everything that follows happen."""
        self.system.start()
        self.settle()

    def port(self, key: Key[M]) -> Port[M]:
        """Return the address of ``key``."""
        return self.system.address(key)

    def tell_all(self, key: Key[Any], *messages: object) -> None:
        """Tell all messages before any is handled, then let everything that follows happen.

        On threads some may be handled earlier.
        """
        port = self.system.address(key)
        for message in messages:
            port.tell(message)
        self.settle()

    def tell_each(self, keys: Iterable[Key[M]], message: M) -> None:
        """Tell ``message`` to each actor. Does not wait for anything."""
        for key in keys:
            self.system.address(key).tell(message)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, whatever still happens."""
        self.clock.move(Seconds(self.clock.monotonic() + seconds))

    def settle(self) -> None:
        """Return when nothing more happens before time passes."""
        self.runtime.work_off()
        deadline = time.monotonic() + PATIENCE
        pause = threading.Event()
        while not self.system.is_quiet:
            assert time.monotonic() < deadline, f"still busy: {self.describe()}"
            pause.wait(0.0002)

    def advance(self, seconds: float) -> None:
        """Let everything that was told be handled, then let time pass, timer by timer."""
        self.settle()
        target = Seconds(self.clock.monotonic() + seconds)
        while (due := self.system.control.timers.next_due()) is not None and due <= target:
            self.clock.move(due)
            self.settle()
        self.clock.move(target)
        self.settle()

    def tell(self, key: Key[M], message: M) -> None:
        """Tell, and let everything that follows happen."""
        self.system.address(key).tell(message)
        self.settle()

    def ask(self, key: Key[M], question: Callable[[Port[A]], M]) -> A:
        """Ask from outside, as an HTTP handler would."""
        return self.system.ask(self.system.address(key), question)

    def describe(self) -> dict[str, ActorDescription]:
        """Return the tree by name."""
        return {node.name: node for node in self.system.describe()}

    def waiting(self, key: Key[Any]) -> int:
        """Return how many messages wait for an actor. With steps nothing is handled by that."""
        cell = self.system.address(key)
        assert isinstance(cell, Cell)
        return cell.depth

    def state(self, key: Key[Any]) -> str:
        """Return the state of one actor."""
        return self.describe()[key.path].state

    def states_after(self, key: Key[Any], *waits: float) -> list[str]:
        """Return the state of one actor after each of these waits, in seconds."""
        states = []
        for wait in waits:
            self.advance(wait)
            states.append(self.state(key))
        return states

    def stop(self) -> int:
        """Stop the tree, and return the exit code. Lets time pass if an actor has to be abandoned."""
        self.system.stop()
        self.settle()
        for _ in range(100):
            code = self.system.wait(Seconds(0.0))
            if code is not None:
                return code
            self.advance(1.0)
        raise AssertionError("the tree does not stop")


@contextmanager
def stage(spec: SupervisorSpec, runtime: Runtime | None = None) -> Iterator[Stage]:
    """Start a stage for the ``with`` block, and stop it in any case."""
    play = Stage(spec, runtime)
    with _running(play):
        yield play


EMPTY = SupervisorSpec(name="root", children=())
PATIENT_ROOT = SupervisorSpec(
    name="root",
    children=(),
    backoff=Backoff(initial=Seconds(0.1), cap=Seconds(0.2), jitter=Seconds(0.0)),
    intensity=50,
    period=Seconds(10.0),
)
"""Has no children yet. They may crash often, and live again a moment later."""
StagedActor: TypeAlias = tuple[Key[Any], Callable[["Stage"], BaseActor[Any]]]
"""An actor of a stage: its key, and what makes each of its lives."""


def stage_for(
    *actors: StagedActor,
    runtime: Runtime | None = None,
    on_exhausted: OnExhausted = OnExhausted.ESCALATE,
    root: SupervisorSpec = EMPTY,
    live: bool = False,
) -> Stage:
    """Return a stage, not started, whose tree has just these actors.

    Each is made with the stage, where it finds the ports of the others and its own. ``root`` has the rules
    of restarts. With ``live`` it is on the machine's clock.
    """

    def spec(key: Key[Any], make: Callable[[Stage], BaseActor[Any]]) -> ChildSpec[Any]:
        return ChildSpec(key=key, factory=lambda: make(play), on_exhausted=on_exhausted)

    play = Stage(
        replace(root, children=tuple(spec(*actor) for actor in actors)), runtime, live=live
    )
    return play


@contextmanager
def stage_of(
    *actors: StagedActor,
    runtime: Runtime | None = None,
    on_exhausted: OnExhausted = OnExhausted.ESCALATE,
) -> Iterator[Stage]:
    """Start such a stage for the ``with`` block, and stop it in any case."""
    play = stage_for(*actors, runtime=runtime, on_exhausted=on_exhausted)
    with _running(play):
        yield play


@contextmanager
def live_stage(spec: SupervisorSpec, hang_limit: Seconds = Seconds(10.0)) -> Iterator[Stage]:
    """Start a stage on real threads and the machine's clock, and stop it in any case."""
    play = Stage(spec, Threads(hang_limit=hang_limit), live=True)
    play.system.start()
    try:
        yield play
    finally:
        play.system.stop()
        play.system.wait(Seconds(PATIENCE))


@contextmanager
def stuck_stage(spec: SupervisorSpec, is_stuck: Callable[[], object]) -> Iterator[Stage]:
    """Start a stage on real threads and the test's clock. ``is_stuck`` returns once an actor is.

    No deadline passes before that, however busy the machine is.
    """
    play = Stage(spec, Threads())
    play.system.start()
    try:
        is_stuck()
        yield play
    finally:
        play.system.stop()
        play.system.wait(Seconds(PATIENCE))


@contextmanager
def _running(play: Stage) -> Iterator[None]:
    play.start()
    try:
        yield
    finally:
        play.system.stop()
        play.system.wait(Seconds(PATIENCE if not isinstance(play.runtime, Steps) else 0.0))
