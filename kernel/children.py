"""A child as its supervisor sees it, and the child that is an actor.

Everything here runs on the control thread, unless it says otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any

from typing_extensions import override

from kernel.actor import PooledActor
from kernel.clock import Timer
from kernel.endings import Ended, EndReason, Hook, one_line, with_traceback
from kernel.incarnation import Incarnation, Monitor
from kernel.restarts import FailureStreak, RestartWindow
from kernel.services import Services
from kernel.specs import AnySpec, ChildSpec, OnExhausted, Restart
from messages.units import Seconds


class ChildState(StrEnum):
    """The states of a child."""

    WAITING = "waiting"
    """It waits for its turn to start."""
    STARTING = "starting"
    RUNNING = "running"
    BACKOFF = "backoff"
    """It failed, and will be started again."""
    STOPPING = "stopping"
    STOPPED = "stopped"
    """It ended, and its supervisor does not start it again."""
    FAILED = "failed"
    """It failed too often. An isolated child is still started again, at the longest backoff."""


ALIVE = frozenset({ChildState.STARTING, ChildState.RUNNING, ChildState.STOPPING})
"""States in which code of the child may still run."""

_HOOK_WHILE = {ChildState.STARTING: Hook.STARTED, ChildState.STOPPING: Hook.STOPPING}


class Parent(ABC):
    """Who a child reports to: a supervisor, or the actor system for the root."""

    @abstractmethod
    def child_started(self, child: Child) -> None:
        """React to ``child`` having finished its start."""

    @abstractmethod
    def child_ended(self, child: Child, ended: Ended) -> None:
        """React to ``child`` being down, by itself or because it was stopped. Called once per start."""


class Child(ABC):
    """One node of the tree as its parent sees it."""

    def __init__(self, spec: AnySpec, services: Services, parent: Parent) -> None:
        self.name = spec.name
        self.restart: Restart = spec.restart
        self.on_exhausted: OnExhausted = spec.on_exhausted
        self.shutdown: Seconds = spec.shutdown
        self.type = "actor"
        self.services = services
        self.parent = parent
        self.state = ChildState.WAITING
        self.restarts = 0
        self.last_error = ""
        self.streak = FailureStreak()
        self.window: RestartWindow | None = None
        """Its own restart window, if it is isolated."""
        self.retry: Timer | None = None

    @property
    def is_down(self) -> bool:
        """Whether no code of it runs."""
        return self.state not in ALIVE

    @abstractmethod
    def start(self) -> None:
        """Begin a life. Later the parent's ``child_started`` or ``child_ended`` is called."""

    @abstractmethod
    def stop(self) -> None:
        """Stop it.

        If it is up, the parent's ``child_ended`` is called later, never before this returns. If it is
        down, it gets the state ``STOPPED`` at once.
        """

    @abstractmethod
    def abandon(self, why: str) -> None:
        """Stop waiting for it: cut it off and report it as ended, for the reason ``why``."""

    @abstractmethod
    def forget(self) -> None:
        """Close its addresses: it will not be started again."""

    def settle(self, state: ChildState) -> None:
        """Take a state in which no code of it runs, and cancel its next start."""
        self.state = state
        if self.retry is not None:
            self.retry.cancel()
            self.retry = None

    def report_started(self) -> None:
        """Report to the parent that it runs."""
        self.state = ChildState.RUNNING
        self.streak.started = self.services.control.clock.monotonic()
        self.services.reports.well(self.name, self.state, self.restarts)
        self.parent.child_started(self)

    def report_ended(self, ended: Ended) -> None:
        """Report to the parent, and to the observers of endings, that it is down."""
        self.state = ChildState.STOPPED
        self.last_error = ended.error or self.last_error
        self.services.reports.ended(ended)
        self.parent.child_ended(self, ended)


class ActorChild(Child, Monitor):
    """A child that is an actor. It has one incarnation at a time, and deadlines for start and stop."""

    def __init__(self, spec: ChildSpec[Any], services: Services, parent: Parent) -> None:
        super().__init__(spec, services, parent)
        self.spec = spec
        self.cell = services.addresses.cell(spec.key)
        self.cell.owner = parent
        self._life: Incarnation | None = None
        self._deadline: Timer | None = None

    @override
    def start(self) -> None:
        self.state = ChildState.STARTING
        self.cell.lives += 1
        number = self.cell.lives
        hook = Hook.FACTORY
        try:
            actor = self.spec.factory()
            self.type = type(actor).__name__
            pooled = isinstance(actor, PooledActor)
            executor = self.services.runtime.executor(pooled=pooled)
            life = Incarnation(actor, self.cell, number, executor, self, self.services.control)
            actor.bind(life)
            self._life = life
            self.cell.attach(life)
            self._wait_for_start(life, self.spec.start_deadline)
            hook = Hook.THREAD
            actor._start_actor_loop()  # noqa: SLF001  # Pykka's seam for actor types
        except BaseException as error:  # noqa: BLE001  # rule: every ending is one fact
            self._fail(number, hook, one_line(error), with_traceback(error))

    def _fail(self, number: int, hook: Hook, error: str, details: str = "") -> None:
        """End a life that had no turn."""
        if self._life is not None:
            self._life.cut_off()
        ended = Ended(
            name=self.name,
            incarnation=number,
            reason=EndReason.FAILED,
            hook=hook,
            error=error,
            details=details,
        )
        self.services.control.post(partial(self._on_ended, number, ended))

    def _wait_for_start(self, life: Incarnation, delay: Seconds) -> None:
        self._arm(delay, partial(self._check_start, life))

    def _check_start(self, life: Incarnation) -> None:
        """Abandon a life whose start takes too long. It counts from its first turn: the pool may be busy."""
        within, now = self.spec.start_deadline, self.services.control.clock.monotonic()
        left = within if life.began is None else Seconds(life.began + within - now)
        if left > 0:
            self._wait_for_start(life, left)
        else:
            self._abandon(life, f"did not start within {within:g} s")

    def _arm(self, delay: Seconds, action: Callable[[], None]) -> None:
        self._disarm()
        self._deadline = self.services.set_timer(delay, action)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    @override
    def stop(self) -> None:
        if self.is_down:
            self.settle(ChildState.STOPPED)
        elif self.state is not ChildState.STOPPING:
            self.state = ChildState.STOPPING
            if self._life is None:
                # Its factory failed, and the report of that is on its way.
                return
            why = f"did not stop within {self.shutdown:g} s"
            self._arm(self.shutdown, partial(self.abandon, why))
            self.cell.request_stop(self._life)

    @override
    def abandon(self, why: str) -> None:
        if self._life is not None:
            self._abandon(self._life, why)

    @override
    def hang(self, incarnation: Incarnation, stack: str, limit: Seconds) -> None:
        # Its pool thread was replaced already.
        self._abandon(incarnation, f"a turn did not end within {limit:g} s", stack)
        self.services.note_hang()

    def _abandon(self, life: Incarnation, why: str, stack: str = "") -> None:
        if not life.cut_off():
            # Its own ending is already on its way.
            return
        self.services.reports.abandoned(self.name, why, stack)
        ended = Ended(
            name=self.name,
            incarnation=life.number,
            reason=EndReason.FAILED,
            hook=_HOOK_WHILE.get(self.state, Hook.RECEIVE),
            error=why,
            abandoned=True,
        )
        self._on_ended(life.number, ended)

    @override
    def forget(self) -> None:
        self.cell.close()

    @override
    def incarnation_started(self, incarnation: Incarnation) -> None:
        self.services.control.post(partial(self._on_started, incarnation.number))

    @override
    def incarnation_ended(self, incarnation: Incarnation, ended: Ended) -> None:
        self.services.control.post(partial(self._on_ended, incarnation.number, ended))

    def _on_started(self, number: int) -> None:
        if self._is_present(number) and self.state is ChildState.STARTING:
            self._disarm()
            self.report_started()

    def _on_ended(self, number: int, ended: Ended) -> None:
        if not self._is_present(number):
            return
        self._life = None
        self._disarm()
        self.report_ended(ended)

    def _is_present(self, number: int) -> bool:
        # A late report of an abandoned life has an older number, or comes after its end was reported.
        return number == self.cell.lives and self.state in ALIVE
