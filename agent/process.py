"""The main thread: it takes signals, tells systemd how the agent is, and returns the exit code.

The tree runs on other threads. The main thread only waits for what concerns the process as a whole.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Final, NoReturn, Protocol, Self

import structlog

from agent import garbage
from agent.systemd import Systemd
from kernel import EXIT_UNCLEAN, ActorSystem, AskTimeoutError
from messages.units import Seconds

_log = structlog.get_logger("process")

ANSWER_WITHIN: Final = Seconds(2.0)
"""How long the tree may take to describe itself for a dump."""

NO_ANSWER: Final = "the root or PodManager does not answer"

SAME_STOP: Final = Seconds(0.5)
"""A signal to stop that comes so soon after the first is taken for the same one: ``make``, ``timeout`` and
others pass on to their child what the whole process group has got already."""

LAST_CALLS_WITHIN: Final = Seconds(2.0)
"""How long the end waits for sandboxes that are being made. One takes 0.1 s, and more where many start."""

SETTLED_AFTER: Final = Seconds(30.0)
"""Time after the start by which the sources have listed: most of what is in memory then stays there."""


class LastCalls:
    """Calls that the end of the process waits for, since they leave something behind when they are cut off.

    They begin and end on any thread.
    """

    def __init__(self) -> None:
        self._out: set[object] = set()
        self.when_none: Callable[[], None] = lambda: None
        """Called when the last of them has ended. Callable from any thread."""

    def __len__(self) -> int:
        """How many are out."""
        return len(self._out)

    def begin(self) -> Callable[[], None]:
        """Note that one is sent. Return what is to be called when it has ended."""
        call = object()
        self._out.add(call)

        def end() -> None:
            self._out.discard(call)
            if not self._out:
                self.when_none()

        return end


class RunnableAgent(Protocol):
    """What ``Process`` uses of an agent."""

    @property
    def system(self) -> ActorSystem:
        """The agent's actor system."""
        ...

    @property
    def last_calls(self) -> LastCalls:
        """The calls that the end of the process waits for."""
        ...

    def rescan(self) -> None:
        """Make every source look again."""
        ...

    def is_responsive(self, within: Seconds) -> bool:
        """Return whether the control thread and PodManager both answer, each ``within`` so many seconds."""
        ...


class Process:
    """Runs an agent until it has stopped, because of a signal or because its root supervisor gave up."""

    def __init__(
        self,
        agent: RunnableAgent,
        systemd: Systemd,
        shutdown_deadline: Seconds,
        settled_after: Seconds = SETTLED_AFTER,
        last_calls_within: Seconds = LAST_CALLS_WITHIN,
    ) -> None:
        self._agent = agent
        self._systemd = systemd
        self._shutdown_deadline = shutdown_deadline
        self._settled_after = settled_after
        self._last_calls_within = last_calls_within
        self._settled_at: Seconds | None = None
        self._is_ready = False
        self._trouble = ""
        self._stopping_since: Seconds | None = None
        self._must_end_by: Seconds | None = None
        self._watchdog_due: Seconds | None = None

    def run(self) -> int:
        """Start the agent. Return the exit code of the process once the agent has stopped."""
        system = self._agent.system
        with Signals() as signals:
            system.on_milestone = self._agent.last_calls.when_none = signals.wake_up
            system.start()
            try:
                while (code := self._turn(signals)) is None:
                    pass
                return code
            finally:
                system.stop()

    def _turn(self, signals: Signals) -> int | None:
        """Wait for one thing and do it. Return the exit code if the agent has stopped, else None."""
        number = signals.wait(self._wait_limit())
        code = self._agent.system.wait(Seconds(0.0))
        if code is not None:
            return self._finish(signals, code)
        if self._must_end_by is not None and self._now() >= self._must_end_by:
            _log.error("ending at once", why="stopping takes too long")
            return EXIT_UNCLEAN
        self._note_ready()
        self._settle()
        self._feed_watchdog()
        return self._on_signal(number) if number else None

    def _finish(self, signals: Signals, code: int) -> int:
        """Wait a moment for the last calls, since nobody sends others any more. Return the exit code."""
        until = Seconds(self._now() + self._last_calls_within)
        if self._must_end_by is not None:
            until = min(until, self._must_end_by)
        calls = self._agent.last_calls
        while calls and (left := until - self._now()) > 0:
            number = signals.wait(Seconds(left))
            at_once = self._on_signal(number) if number else None
            if at_once is not None:
                return at_once
        if calls:
            _log.warning("ending while sandboxes are being made", sandboxes=len(calls))
        log = _log.error if code else _log.info
        log("stopped", exit_code=code)
        return code

    def _on_signal(self, number: int) -> int | None:
        actions: dict[int, Callable[[], int | None]] = {
            signal.SIGTERM: self._stop,
            signal.SIGINT: self._stop,
            signal.SIGHUP: self._rescan,
            signal.SIGUSR1: self._dump,
        }
        _log.info("signal received", signal=signal.Signals(number).name)
        return actions[number]()

    def _stop(self) -> int | None:
        if self._stopping_since is not None and self._now() - self._stopping_since < SAME_STOP:
            return None
        if self._must_end_by is not None:
            _log.warning("ending at once", why="a second signal to stop")
            return EXIT_UNCLEAN
        self._stopping_since = self._now()
        self._must_end_by = Seconds(self._stopping_since + self._shutdown_deadline)
        self._systemd.stopping()
        self._agent.system.stop()
        return None

    def _rescan(self) -> None:
        self._agent.rescan()

    def _dump(self) -> None:
        try:
            for actor in self._agent.system.describe(ANSWER_WITHIN):
                _log.info(
                    "actor",
                    actor=actor.name,
                    state=actor.state,
                    restarts=actor.restarts,
                    mailbox=actor.mailbox,
                    handled=actor.handled,
                    error=actor.last_error,
                )
        except AskTimeoutError as error:
            _log.error("actors not described", error=str(error))
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        for ident, frame in sys._current_frames().items():  # noqa: SLF001  # the one way to see them all
            stack = "".join(traceback.format_stack(frame))
            _log.info("thread", thread=names.get(ident, str(ident)), stack=stack)

    def _note_ready(self) -> None:
        is_stopping = self._must_end_by is not None
        if self._agent.system.is_started and not self._is_ready and not is_stopping:
            self._is_ready = True
            self._rearm_watchdog()
            self._settled_at = Seconds(self._now() + self._settled_after)
            self._systemd.ready()
            _log.info("started")

    def _settle(self) -> None:
        if self._settled_at is not None and self._now() >= self._settled_at:
            self._settled_at = None
            garbage.settle()

    def _feed_watchdog(self) -> None:
        if self._watchdog_due is None or self._now() < self._watchdog_due:
            return
        interval = self._systemd.watchdog_interval or Seconds(0.0)
        # Half of systemd's time is gone when it is due. Two questions take at most an eighth of that half
        # each, and the pause before the next try as long. That leaves room to ask twice more before systemd
        # gives up: an actor that is being restarted at this moment answers later.
        within = Seconds(min(ANSWER_WITHIN, interval / 8))
        # While the tree stops there is nobody to ask, and stopping has a deadline of its own.
        if self._must_end_by is not None or self._agent.is_responsive(within):
            self._systemd.watchdog()
            self._show_status("")
            self._rearm_watchdog()
        else:
            _log.error("watchdog not fed", why=NO_ANSWER)
            self._show_status(NO_ANSWER)
            self._watchdog_due = Seconds(self._now() + within)

    def _show_status(self, trouble: str) -> None:
        """Make ``systemctl status`` show what is wrong, if that has changed."""
        if trouble != self._trouble:
            self._trouble = trouble
            self._systemd.status(trouble or "running")

    def _rearm_watchdog(self) -> None:
        interval = self._systemd.watchdog_interval
        if interval is not None:
            self._watchdog_due = Seconds(self._now() + interval)

    def _wait_limit(self) -> Seconds | None:
        """Return the seconds until the next deadline; None if there is none."""
        all_dues = (self._must_end_by, self._watchdog_due, self._settled_at)
        dues = [due for due in all_dues if due is not None]
        return Seconds(max(0.0, min(dues) - self._now())) if dues else None

    def _now(self) -> Seconds:
        return self._agent.system.clock.monotonic()


def leave(code: int) -> NoReturn:
    """Flush the output and end the process with ``code`` at once. Call it when everything has stopped.

    The interpreter's own exit does not do here. It waits for threads that may be stuck for good. And
    threads of compiled libraries that come back while it exits abort the process (2 of 15 times, measured,
    after a request over HTTP).
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # its reader is gone
            stream.flush()
    os._exit(code)


HANDLED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
WAKE_UP: Final = 0
_EXPECTED: Final = frozenset({WAKE_UP, *HANDLED})


class Signals:
    """Collects signals while its ``with`` block runs. For the main thread only.

    Afterwards signals are ignored: the exit code is known by then, and a second Ctrl-C must not end the
    process with a traceback instead.
    """

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.settimeout(0.0)
        self._writer.settimeout(0.0)
        self._waiting: list[int] = []
        self._descriptor_before = -1

    def __enter__(self) -> Self:
        # The descriptor first: a signal that comes in between reaches the old handler or the new one.
        self._descriptor_before = signal.set_wakeup_fd(
            self._writer.fileno(), warn_on_full_buffer=False
        )
        for number in HANDLED:
            signal.signal(number, _leave_it)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number in HANDLED:
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(self._descriptor_before)
        self._reader.close()
        self._writer.close()

    def wake_up(self) -> None:
        """Make ``wait`` return. Callable from any thread. Does nothing after the ``with`` block."""
        with suppress(OSError):
            self._writer.send(bytes([WAKE_UP]))

    def wait(self, at_most: Seconds | None) -> int | None:
        """Return the number of the next signal, or ``WAKE_UP`` after ``wake_up``.

        Returns None if neither came within ``at_most`` seconds; waits for ever if that is None.
        """
        if not self._waiting:
            readable, _, _ = select.select([self._reader], [], [], at_most)
            if readable:
                # The numbers of signals that other code handles are written there, too.
                self._waiting += (n for n in self._reader.recv(4096) if n in _EXPECTED)
        return self._waiting.pop(0) if self._waiting else None


def _leave_it(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the wake-up descriptor has the signal."""
