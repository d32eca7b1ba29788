"""One life of an actor, and the turn function that runs it on any executor.

Whatever ends a life (its factory, ``started``, a message, ``stopping``, a SystemExit) ends it by the
same path: resources closed, fenced off from mailbox and timers, one ``Ended`` told to its supervisor.
"""

from __future__ import annotations

from contextlib import ExitStack
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from actors.kernel.cell import EMPTY, STOP, Cell
from actors.kernel.current import set_current_incarnation
from actors.kernel.endings import Ended, EndReason, Hook, one_line, with_traceback
from actors.kernel.envelope import Envelope, Fence
from actors.kernel.timers import Timer

if TYPE_CHECKING:
    from actors.kernel.actor import BaseActor

SLOW = 1.0
"""Seconds after which a handler is reported as slow. Generous: four 30 ms handlers at once look
like 100 ms each on two cores."""

_log = structlog.get_logger("kernel")


class Executor(Protocol):
    """Whose thread runs an incarnation's turns."""

    def start(self, incarnation: Incarnation) -> None:
        """Run the first turn soon. Raises when no thread can be had for it."""
        ...

    def wake(self, incarnation: Incarnation) -> None:
        """Run a turn soon: an idle incarnation got a message or was asked to stop."""
        ...


class Supervised(Protocol):
    """What an incarnation reports to."""

    def incarnation_started(self, incarnation: Incarnation) -> None:
        """Take note that it has finished ``started``. Called on its own thread."""
        ...

    def incarnation_ended(self, incarnation: Incarnation, ended: Ended) -> None:
        """Take note that it is over. Called on its own thread, once."""
        ...


class Incarnation:
    """One life: the actor object, and what the kernel knows of it."""

    __slots__ = (
        "actor",
        "cell",
        "executor",
        "fenced",
        "is_started",
        "number",
        "resources",
        "stop_requested",
        "stopped_itself",
        "supervised",
        "timers",
    )

    def __init__(
        self,
        actor: BaseActor[Any],
        cell: Cell[Any],
        number: int,
        executor: Executor,
        supervised: Supervised,
    ) -> None:
        self.actor = actor
        self.cell = cell
        self.number = number
        self.executor = executor
        self.supervised = supervised
        self.is_started = False
        self.stop_requested = False
        self.stopped_itself = False
        self.fenced = False
        """It ended or was abandoned: nothing it tells or set a timer for counts any more."""
        self.resources: ExitStack | None = None
        self.timers: set[Timer] | None = None

    def turn(self, batch: int) -> bool:
        """Handle up to ``batch`` messages on the calling thread; return whether to come again."""
        set_current_incarnation(self)
        try:
            return self._run(batch)
        finally:
            set_current_incarnation(None)

    def _run(self, batch: int) -> bool:
        if not self.is_started and not self._start():
            return False
        for _ in range(batch):
            item = self.cell.take(self)
            if item is EMPTY:
                return False
            if item is STOP:
                self._stop()
                return False
            if not self._handle(item):
                return False
        return not self.fenced

    def _start(self) -> bool:
        self.is_started = True
        if self.fenced:
            return False
        try:
            self.actor.started()
        except BaseException as error:  # noqa: BLE001  # rule: every ending is a crash like any other
            self._end(EndReason.FAILED, Hook.STARTED, error)
            return False
        if not self.fenced:
            self.supervised.incarnation_started(self)
        return not self.fenced

    def _handle(self, item: object) -> bool:
        envelope = item if isinstance(item, Envelope) else None
        message = item if envelope is None else envelope.message
        began = perf_counter()
        try:
            if isinstance(message, Fence):
                assert envelope is not None  # noqa: S101  # a fence is always asked
                envelope.answer(None)
            else:
                self.actor.receive(message)
        except BaseException as error:  # noqa: BLE001  # rule: every ending is a crash like any other
            if envelope is not None:
                envelope.fail(error)
            self._end(EndReason.FAILED, Hook.RECEIVE, error, type(message).__name__)
            return False
        self._account(perf_counter() - began, message)
        return not self.fenced

    def _account(self, seconds: float, message: object) -> None:
        self.cell.handled += 1
        self.cell.meter.handled(seconds)
        if seconds > SLOW:
            _log.warning(
                "slow handler",
                actor=self.cell.key.path,
                message=type(message).__name__,
                seconds=round(seconds, 3),
            )

    def _stop(self) -> None:
        try:
            self.actor.stopping()
        except BaseException as error:  # noqa: BLE001  # rule: every ending is a crash like any other
            self._end(EndReason.FAILED, Hook.STOPPING, error)
            return
        self._end(EndReason.NORMAL if self.stopped_itself else EndReason.SHUTDOWN)

    def _end(
        self,
        reason: EndReason,
        hook: Hook | None = None,
        error: BaseException | None = None,
        message: str = "",
    ) -> None:
        try:
            if self.resources is not None:
                self.resources.close()
        except BaseException as closing_error:  # noqa: BLE001  # rule: every ending is one fact
            if error is None:
                reason, hook, error = EndReason.FAILED, Hook.RESOURCES, closing_error
        if self.fence():
            self.supervised.incarnation_ended(
                self,
                Ended(
                    name=self.cell.key.path,
                    incarnation=self.number,
                    reason=reason,
                    hook=hook,
                    message=message,
                    error=one_line(error) if error is not None else "",
                    details=with_traceback(error) if error is not None else "",
                ),
            )

    def fence(self) -> bool:
        """Cut it off from mailbox and timers; return False when it was cut off before."""
        if not self.cell.detach(self):
            return False
        for timer in tuple(self.timers or ()):
            timer.cancel()
        return True
