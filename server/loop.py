"""The event loop on which endpoints are served. It may be that of several agents of a process."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

import structlog

from messages.units import Seconds

T = TypeVar("T")

CLOSES_WITHIN: Final = Seconds(5.0)
"""How long ``close`` waits for the thread. It usually takes milliseconds."""
SAID_AGAIN_AFTER: Final = Seconds(60.0)
"""How long the log is silent about connections after a line about them."""

_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What keeps asyncio from accepting a connection. It tries again after a second."""

_log = structlog.get_logger("http-server")


class Served(Protocol):
    """Who serves on a loop."""

    def cut(self) -> None:
        """Close all that is open: the loop has ended. On its thread."""
        ...

    def ended(self, error: str) -> None:
        """Take that the loop has ended, with ``error``, and that there is another one. On its thread."""
        ...


class ServerLoop:
    """A loop on a thread of its own, from construction until ``close``.

    One that ends by itself, as by a ``SystemExit`` in a handler, is replaced at once. All who served on it
    are told, and begin again.
    """

    def __init__(self) -> None:
        self._is_closing = False
        self._served: set[Served] = set()
        """Only the loop's thread touches it."""
        self._silent_until: dict[str, Seconds] = {}
        self._loop = self._new_loop()
        self._thread = threading.Thread(target=self._run, name="http-loop", daemon=True)
        self._thread.start()

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a coroutine on the loop. Raises RuntimeError if that has just ended."""
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:
            coroutine.close()
            raise

    def add(self, served: Served) -> None:
        """Tell ``served`` when the loop ends by itself. On the loop's thread."""
        self._served.add(served)

    def discard(self, served: Served) -> None:
        """Do not tell it any more. On the loop's thread."""
        self._served.discard(served)

    def close(self) -> None:
        """End the loop and its thread. Who serves on it is to have ended before."""
        self._is_closing = True
        with suppress(RuntimeError):  # it has just ended by itself
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSES_WITHIN)

    def say(self, event: str, **fields: object) -> None:
        """Log a warning, unless the same was logged less than ``SAID_AGAIN_AFTER`` ago. On its thread."""
        now = Seconds(self._loop.time())
        if now >= self._silent_until.get(event, 0.0):
            self._silent_until[event] = Seconds(now + SAID_AGAIN_AFTER)
            _log.warning(event, **fields)

    def _new_loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(self._note_failure)
        return loop

    def _run(self) -> None:
        while not self._is_closing:
            loop, error = self._loop, "the loop ended"
            try:
                loop.run_forever()
            except BaseException as failure:  # noqa: BLE001  # whatever it was, nobody is served any more
                error = f"{type(failure).__name__}: {failure}"
            self._end(loop, error)
        self._loop.close()  # the next one, if that was made in this moment

    def _end(self, loop: asyncio.AbstractEventLoop, error: str) -> None:
        """Close everything that is still open, in a loop that may be broken, and have another one."""
        served = tuple(self._served)
        self._served.clear()
        for each in served:
            each.cut()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.call_soon(loop.stop)
        with suppress(BaseException):  # what ended it once may do so again
            loop.run_forever()
        loop.close()
        if not self._is_closing:
            self._loop = self._new_loop()
        for each in served:
            each.ended(error)

    def _note_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what the loop could not do. That it can accept nothing at present is said once."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _SHORTAGES:
            self.say("connections cannot be accepted", error=error.strerror)
        else:
            loop.default_exception_handler(context)
