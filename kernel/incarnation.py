"""An incarnation is one life of an actor. Its turn function runs on any executor.

Every life ends by the same path, whatever ends it (``started``, a message, ``stopping``, a SystemExit):
its resources are closed, it is cut off from mailbox and timers, and its supervisor gets one ``Ended``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from time import perf_counter
from typing import Any, Protocol

import structlog

from kernel.cell import EMPTY, STOP, Cell
from kernel.clock import Timer
from kernel.control import Control
from kernel.current import set_current_incarnation
from kernel.endings import Ended, EndReason, Hook, one_line, with_traceback
from kernel.mailbox import Envelope, ForIncarnation, KernelMessage, title_of
from kernel.ports import ActorCrashedError
from messages.units import Seconds

SLOW = 1.0
"""A handler that takes longer, in seconds, is logged as slow. Generous, because four 30 ms handlers at once
look like 100 ms each on two cores."""

LONGEST_TURN = 0.1
"""Seconds after which a turn takes no further message. The other actors of the pool wait meanwhile, and
sixteen slow handlers in one turn must not look like one that hangs."""

_log = structlog.get_logger("kernel")


class Executor(Protocol):
    """Has the threads that run the turns of incarnations."""

    def start(self, incarnation: Incarnation) -> None:
        """Run the first turn soon. Raises RuntimeError when no thread can be started for it."""
        ...

    def wake(self, incarnation: Incarnation) -> None:
        """Run a turn soon, because an idle incarnation got a message or has to stop."""
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
        """Do what belongs to an orderly stop."""
        ...

    def unbind(self) -> None:
        """Drop the references to itself: its life is over."""
        ...


class PartOfLife(Protocol):
    """What the kernel makes for one life, such as an alarm."""

    def let_go(self) -> None:
        """Forget the actor: its life has ended."""
        ...


class Monitor(Protocol):
    """Who an incarnation reports its start and end to."""

    def incarnation_started(self, incarnation: Incarnation) -> None:
        """Note that ``incarnation`` has finished ``started``. Called on the incarnation's thread."""
        ...

    def incarnation_ended(self, incarnation: Incarnation, ended: Ended) -> None:
        """Note that ``incarnation`` is over. Called once, on its thread, under the lock of its address.

        May not wait.
        """
        ...

    def hang(self, incarnation: Incarnation, stack: str, limit: Seconds) -> None:
        """Note that a turn of ``incarnation`` has taken longer than ``limit`` seconds.

        ``stack`` is where its thread is. Called on the control thread.
        """
        ...


class Incarnation:
    """One life of an actor: the actor object, and what the kernel knows of it."""

    __slots__ = (
        "actor",
        "began",
        "cell",
        "control",
        "executor",
        "is_cut_off",
        "is_over",
        "monitor",
        "number",
        "parts",
        "resources",
        "stop_requested",
        "stopped_itself",
        "timers",
    )

    def __init__(
        self,
        actor: ActorHooks,
        cell: Cell[Any],
        number: int,
        executor: Executor,
        monitor: Monitor,
        control: Control,
    ) -> None:
        self.actor = actor
        self.cell = cell
        self.number = number
        self.executor = executor
        self.monitor = monitor
        self.control = control
        self.began: Seconds | None = None
        """When its first turn began, by the monotonic clock. A busy pool may be late for it."""
        self.stop_requested = False
        self.stopped_itself = False
        self.is_cut_off = False
        """It ended or was abandoned: what it tells, and its timers, do not count any more."""
        self.is_over = False
        """It is cut off, and no turn of it runs."""
        self.resources: ExitStack | None = None
        self.timers: set[Timer] | None = None
        self.parts: list[PartOfLife] | None = None
        """What the kernel made for this life that knows its actor."""

    def turn(self, batch: int) -> bool:
        """Handle up to ``batch`` messages on the calling thread. Return whether it needs another turn."""
        set_current_incarnation(self)
        try:
            return self._run(batch)
        finally:
            if self.is_cut_off and not self.is_over:
                self.is_over = True
                self._release()
            set_current_incarnation(None)

    def wake(self) -> None:
        """Run a turn soon."""
        self.executor.wake(self)

    def tell(self, message: object) -> None:
        """Tell ``message`` to this life alone. A later life of the address never gets it."""
        self.cell.tell(ForIncarnation(self.number, message))

    def set_timer(self, delay: Seconds, message: object) -> Timer:
        """Tell this life ``message`` in ``delay`` seconds. Return the timer, which can be cancelled."""
        return self.set_timer_at(Seconds(self.now() + max(0.0, delay)), message)

    def now(self) -> Seconds:
        """Return the monotonic time."""
        return self.control.clock.monotonic()

    def set_timer_at(self, due: Seconds, message: object) -> Timer:
        """Tell this life ``message`` at ``due``, by the monotonic clock. Return the timer."""
        if self.timers is None:
            self.timers = set()
        timer = self.control.set_timer_at(due, partial(self.tell, message), self.timers)
        if self.is_cut_off:
            # The other timers were dropped before. This one would keep a dead actor in memory.
            timer.cancel()
        return timer

    def _run(self, batch: int) -> bool:
        if self.began is None and not self._start():
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
        return not self.is_cut_off and not self.cell.rest(self)

    def _start(self) -> bool:
        self.began = self.now()
        if self.is_cut_off:
            return False
        try:
            self.actor.started()
        except BaseException as error:  # noqa: BLE001  # rule: every ending is a crash like any other
            self._end(EndReason.FAILED, Hook.STARTED, error)
            return False
        if not self.is_cut_off:
            self.cell.begin_levels()
            self.monitor.incarnation_started(self)
        return not self.is_cut_off

    def _handle(self, item: object) -> bool:
        envelope = item if isinstance(item, Envelope) else None
        message = item if envelope is None else envelope.message
        began = perf_counter()
        try:
            if isinstance(message, KernelMessage):
                message.perform(self)
                if envelope is not None:
                    envelope.answer(None)
            else:
                self.actor.receive(message)
        except BaseException as error:  # noqa: BLE001  # rule: every ending is a crash like any other
            self._end(EndReason.FAILED, Hook.RECEIVE, error, title_of(message))
            if envelope is not None:
                envelope.fail(_for_asker(error))
            return False
        self._account(perf_counter() - began, message)
        return not self.is_cut_off

    def _account(self, seconds: float, message: object) -> None:
        self.cell.handled += 1
        self.cell.meter.handled(seconds)
        if seconds > SLOW:
            _log.warning(
                "slow handler",
                actor=self.cell.key.path,
                message=title_of(message),
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
        self.cut_off(partial(self.monitor.incarnation_ended, self, ended))

    def _release(self) -> None:
        """Close the resources of an abandoned life, and drop the actor.

        Runs on the life's own thread, once that is back from the actor's code.
        """
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
        for part in self.parts or ():
            part.let_go()
        self.actor.unbind()
        del self.actor

    def cut_off(self, report: Callable[[], None] | None = None) -> bool:
        """Cut it off from mailbox and timers. Return False when it was cut off before.

        Otherwise ``report`` is called under the lock of the address.
        """
        if not self.cell.detach(self, report):
            return False
        for timer in tuple(self.timers or ()):
            timer.cancel()
        return True


def _for_asker(error: BaseException) -> Exception:
    """Return the exception that the asker gets. Without its traceback, which keeps the actor in memory."""
    if isinstance(error, Exception):
        return error.with_traceback(None)
    return ActorCrashedError(one_line(error))
