"""One life of an actor, and the turn function that runs it on any executor.

Whatever ends a life (its factory, ``started``, a message, ``stopping``, a SystemExit) ends it by the
same path: resources closed, fenced off from mailbox and timers, one ``Ended`` told to its supervisor.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from time import perf_counter
from typing import Any, Protocol

import structlog

from kernel.cell import EMPTY, STOP, Cell
from kernel.control import Control
from kernel.current import set_current_incarnation
from kernel.endings import Ended, EndReason, Hook, one_line, with_traceback
from kernel.envelope import Envelope, ForLife, KernelMessage
from kernel.ports import ActorCrashedError
from kernel.timers import Timer
from messages.units import Seconds

SLOW = 1.0
"""Seconds after which a handler is reported as slow. Generous: four 30 ms handlers at once look
like 100 ms each on two cores."""

LONGEST_TURN = 0.1
"""Seconds after which a turn handles no further message: the others in the pool wait meanwhile, and
sixteen slow handlers in one turn must not look like one that hangs."""

_log = structlog.get_logger("kernel")


class Executor(Protocol):
    """Whose thread runs an incarnation's turns."""

    def start(self, incarnation: Incarnation) -> None:
        """Run the first turn soon. Raises when no thread can be had for it."""
        ...

    def wake(self, incarnation: Incarnation) -> None:
        """Run a turn soon: an idle incarnation got a message or was asked to stop."""
        ...


class ActorHooks(Protocol):
    """What an incarnation calls of its actor."""

    def started(self) -> None:
        """Prepare."""
        ...

    def receive(self, message: Any, /) -> None:
        """Handle one message."""
        ...

    def stopping(self) -> None:
        """Say goodbye."""
        ...

    def unbind(self) -> None:
        """Forget the incarnation: it is over."""
        ...


class Supervised(Protocol):
    """What an incarnation reports to."""

    def incarnation_started(self, incarnation: Incarnation) -> None:
        """Take note that it has finished ``started``. Called on its own thread."""
        ...

    def incarnation_ended(self, incarnation: Incarnation, ended: Ended) -> None:
        """Take note that it is over. Called on its own thread, once, and may not wait."""
        ...

    def hang(self, incarnation: Incarnation, stack: str, limit: Seconds) -> None:
        """Take note that a turn of it takes longer than ``limit``. Called on the control thread."""
        ...


class Incarnation:
    """One life: the actor object, and what the kernel knows of it."""

    __slots__ = (
        "actor",
        "cell",
        "executor",
        "fenced",
        "is_over",
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
        actor: ActorHooks,
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
        self.is_over = False
        """And no turn of it runs."""
        self.resources: ExitStack | None = None
        self.timers: set[Timer] | None = None

    def turn(self, batch: int) -> bool:
        """Handle up to ``batch`` messages on the calling thread; return whether to come again."""
        set_current_incarnation(self)
        try:
            return self._run(batch)
        finally:
            if self.fenced and not self.is_over:
                self.is_over = True
                self._release()
            set_current_incarnation(None)

    def wake(self) -> None:
        """Run a turn soon."""
        self.executor.wake(self)

    def tell(self, message: object) -> None:
        """Tell ``message`` to this life alone; to nobody when it is over before its turn."""
        self.cell.tell(ForLife(self.number, message))

    def set_timer(self, control: Control, delay: Seconds, message: object) -> Timer:
        """Have ``message`` told to this life in ``delay`` seconds; return how to cancel that."""
        if self.timers is None:
            self.timers = set()
        timer = control.set_timer(delay, partial(self.tell, message), self.timers)
        if self.fenced:
            # Too late to be dropped with the others, and it would keep a dead actor in memory.
            timer.cancel()
        return timer

    def _run(self, batch: int) -> bool:
        if not self.is_started and not self._start():
            return False
        must_yield = perf_counter() + LONGEST_TURN
        for _ in range(batch):
            item = self.cell.take(self)
            if item is EMPTY:
                return False
            if item is STOP:
                self._stop()
                return False
            if not self._handle(item):
                return False
            if perf_counter() > must_yield:
                break
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
            if isinstance(message, KernelMessage):
                message.happen()
                if envelope is not None:
                    envelope.answer(None)
            else:
                self.actor.receive(message)
        except BaseException as error:  # noqa: BLE001  # rule: every ending is a crash like any other
            self._end(EndReason.FAILED, Hook.RECEIVE, error, type(message).__name__)
            if envelope is not None:
                envelope.fail(_for_asker(error))
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
        ended = Ended(
            name=self.cell.key.path,
            incarnation=self.number,
            reason=reason,
            hook=hook,
            message=message,
            error=one_line(error) if error is not None else "",
            details=with_traceback(error) if error is not None else "",
        )
        self.fence(partial(self.supervised.incarnation_ended, self, ended))

    def _release(self) -> None:
        """Close what an abandoned life held, on its own thread, once it is back, and let it go."""
        try:
            if self.resources is not None:
                self.resources.close()
        except BaseException as error:  # noqa: BLE001  # nobody waits for this life any more
            _log.warning(
                "resources of an abandoned actor failed to close",
                actor=self.cell.key.path,
                incarnation=self.number,
                error=one_line(error),
            )
        self.actor.unbind()
        del self.actor

    def fence(self, report: Callable[[], None] | None = None) -> bool:
        """Cut it off from mailbox and timers; return False when it was cut off before.

        If it was not, ``report`` is called in the same step.
        """
        if not self.cell.detach(self, report):
            return False
        for timer in tuple(self.timers or ()):
            timer.cancel()
        return True


def _for_asker(error: BaseException) -> Exception:
    """Return what is raised at who asked: without traceback, which would keep the actor in memory."""
    if isinstance(error, Exception):
        return error.with_traceback(None)
    return ActorCrashedError(one_line(error))
