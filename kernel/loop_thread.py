"""An event loop on a thread of its own, beside the actors, and tasks on one that are cancelled.

Imported where it is used: asyncio takes 10 MB. Some libraries that bring their own event loop return their
result although the task that awaits them was cancelled: the task itself is asked.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeVar

import structlog

ENDS_WITHIN: Final = 1.0
"""Seconds that what is in progress has to end when the loop does."""
LAST_TURNS: Final = 3
"""Turns of the loop after everything has ended. A connection that was closed gives its socket back in the
next one, and threads of compiled libraries deliver their last results."""

T = TypeVar("T")

_log = structlog.get_logger("kernel")


class LoopThread:
    """Runs coroutines on one event loop, which is made when it is first needed.

    It belongs to the process: it outlives the lives of actors that use it, and may be that of several agents.
    A loop that ends by itself, as by a ``SystemExit`` in a task, is replaced as soon as somebody needs one;
    what was in progress is cancelled. Its thread is a daemon: what hangs on the loop keeps no process from
    ending.
    """

    def __init__(self, name: str) -> None:
        """``name`` is the thread's."""
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a loop."""
        return self._loop is not None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, which runs."""
        with self._lock:
            if self._loop is None:
                self._loop = loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run, args=(loop,), name=self._name, daemon=True
                )
                self._thread.start()
            return self._loop

    def run(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a coroutine, and return what it can be cancelled by."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def close(self, within: float = 0.0) -> None:
        """End the loop, and wait for its thread for so many seconds. What is in progress is cancelled.

        What is begun later has another loop.
        """
        with self._lock:
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is None or thread is None:
            return
        with suppress(RuntimeError):  # it has just ended by itself
            loop.call_soon_threadsafe(loop.stop)
        if within > 0:
            thread.join(within)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        except BaseException as error:  # noqa: BLE001  # whatever it was, there will be another loop
            _log.error("an event loop ended", loop=self._name, error=type(error).__name__)
        self._let_go(loop)
        with suppress(BaseException):  # what ended it once may do so again
            _end_tasks(loop)
            for _ in range(LAST_TURNS):
                loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    def _let_go(self, ended: asyncio.AbstractEventLoop) -> None:
        """Have the next who needs a loop make another one."""
        with self._lock:
            if self._loop is ended:
                self._loop = self._thread = None


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is in progress, so that it closes what it has open. What does not end is dropped."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=ENDS_WITHIN))


def raise_if_cancelled() -> None:
    """Raise ``CancelledError`` if the current task was cancelled.

    Call it after each ``await`` of a library that can lose a cancellation. pyreqwest does: when the
    cancellation and the result come at the same time, it returns the result (11 of 105 times on a busy
    machine). Without this call the task would go on although nobody waits for it.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
