"""An event loop on a thread of its own, beside the actors. Imported where it is used: asyncio takes 10 MB."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeVar

ENDS_WITHIN: Final = 1.0
"""Seconds that what is in progress has to end when the loop does."""

T = TypeVar("T")


class LoopThread:
    """Runs coroutines on one event loop, which is made when it is first needed.

    It belongs to the process, and outlives the lives of the actor that uses it. Only that actor begins
    anything, so the loop is made by one thread at a time. Its own thread is a daemon: what hangs on the loop
    keeps no process from ending.
    """

    def __init__(self, name: str) -> None:
        """``name`` is the thread's."""
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, which runs."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(self._loop,), name=self._name, daemon=True).start()
        return self._loop

    def run(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a coroutine, and return what it can be cancelled by."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def close(self) -> None:
        """End the loop. What is in progress is cancelled. What is begun later has another loop."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        with suppress(Exception):
            _end_tasks(loop)
            # A connection that was closed gives its socket back in the next round of the loop.
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is in progress, so that it closes what it has open. What does not end is dropped."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=ENDS_WITHIN))
