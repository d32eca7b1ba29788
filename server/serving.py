"""aiohttp on an event loop, controlled from another thread. Agents of a process may share it."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import threading
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

import structlog
from aiohttp import hdrs, web
from typing_extensions import override

from messages.units import Seconds
from server.limits import BACKLOG

T = TypeVar("T")

CLOSES_WITHIN: Final = Seconds(5.0)
"""How long ``close`` waits for the thread. It usually takes milliseconds."""
SAID_AGAIN_AFTER: Final = Seconds(60.0)
"""How long the log is silent about connections after a line about them."""

_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What keeps asyncio from accepting a connection. It tries again after a second."""

_log = structlog.get_logger("http-server")

SETUP_TIMEOUT: Final = Seconds(5.0)
"""How long ``open`` and ``close`` may take. They usually take milliseconds."""
GRACE: Final = Seconds(0.5)
"""How long ``close`` waits for requests that are being answered."""
IDLE: Final = Seconds(75.0)
"""How long an idle connection is kept for its next request. nginx's default."""
ACCEPTED_AT_ONCE: Final = 1
"""Connections that are accepted before the loop does something else, such as cutting the oldest. asyncio
also tries so often in a row when descriptors have run out, and says so each time."""
SERVER: Final = "actorlet"
"""The header ``Server`` of every answer, of those to garbage as well. It tells no versions."""

EXEMPT: Final = web.AppKey("exempt", Collection)
"""Connections that an application limits itself. They are never cut for others."""

_CLIENTS_FAULTS = logging.getLogger("aiohttp.garbage")
"""The logger for requests that aiohttp cannot parse. Clients could fill the log with tracebacks by it.
Failures of handlers do not get there: the applications answer them."""
OPTIONS: Final[dict[str, Any]] = {
    "access_log": None,
    "logger": _CLIENTS_FAULTS,
    "keepalive_timeout": IDLE,
}


class Served(Protocol):
    """Something that serves on a loop."""

    def cut(self) -> None:
        """Close all that is open: the loop has ended. On its thread."""
        ...

    def ended(self, error: str) -> None:
        """Hear that the loop has ended, with ``error``, and that another one has begun. On its thread."""
        ...


class ServerLoop:
    """A loop on a thread of its own, from construction until ``close``.

    One that ends by itself, as by a ``SystemExit`` in a handler, is replaced at once. All that served on it
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
            except BaseException as failure:  # noqa: BLE001  # after any of them the loop serves no more
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


_CLIENTS_FAULTS.setLevel(logging.CRITICAL)


class Serving(Served):
    """Serves applications on a loop, from construction until ``close``."""

    def __init__(self, ended: Callable[[str], None], loop: ServerLoop | None = None) -> None:
        """``ended`` is called with an error, on the loop's thread, if that ends before ``close``.

        Without a ``loop`` it has one of its own.
        """  # noqa: D401
        self._ended = ended
        self._has_own = loop is None
        self._loop = loop or ServerLoop()
        self._closing = False
        self._runners: list[web.AppRunner] = []
        self._servers: list[asyncio.Server] = []

    def open(
        self, application: web.Application, sockets: Sequence[socket.socket], most: int
    ) -> None:
        """Serve ``application`` on duplicates of ``sockets``. Raises OSError, TimeoutError.

        There are ``most`` connections at a time: a new one beyond that cuts the oldest. So clients that send
        nothing, or never read, can neither keep others out nor use up the process's descriptors.
        """
        self._loop.begin(self._open(application, sockets, most)).result(SETUP_TIMEOUT)

    def close(self) -> None:
        """Stop serving. The given sockets stay open, and queue new connections."""
        self._closing = True
        if self._runners:
            with suppress(
                RuntimeError, TimeoutError
            ):  # the loop has just ended by itself, or hangs
                self._loop.begin(self._finish()).result(SETUP_TIMEOUT)
        if self._has_own:
            self._loop.close()

    async def _open(
        self, application: web.Application, sockets: Sequence[socket.socket], most: int
    ) -> None:
        self._loop.add(self)
        application.on_response_prepare.append(say_who_answers)
        runner = web.AppRunner(
            application,
            shutdown_timeout=GRACE,
            handler_cancellation=True,  # who has left needs no answer, and no events
            **OPTIONS,
        )
        self._runners.append(runner)
        await runner.setup()
        server = runner.server
        assert server is not None  # noqa: S101  # there is one after setup
        exempt = application.get(EXEMPT, frozenset())
        loop = asyncio.get_running_loop()
        for listener in sockets:
            listening = await loop.create_server(
                self._bounded(server, exempt, most), sock=listener.dup(), backlog=ACCEPTED_AT_ONCE
            )
            self._servers.append(listening)
            listener.listen(BACKLOG)  # asyncio has set it to what it accepts at once

    async def _finish(self) -> None:
        """Stop accepting, and close connections that are being answered after ``GRACE``.

        The duplicated sockets are closed last: asyncio forgets, open, a connection that it has accepted
        a moment before.
        """
        self._loop.discard(self)
        loop = asyncio.get_running_loop()
        for each in [each for listening in self._servers for each in listening.sockets]:
            loop.remove_reader(each)
        transports = [each.transport for each in self._connections() if each.transport]
        await asyncio.gather(*(runner.cleanup() for runner in self._runners))
        for transport in transports:
            transport.abort()  # unread data would keep its socket open
        for listening in self._servers:
            listening.close()

    @override
    def cut(self) -> None:
        for listening in self._servers:
            listening.close()
        for connection in self._connections():
            abort(connection)
        self._servers, self._runners = [], []

    @override
    def ended(self, error: str) -> None:
        if not self._closing:
            self._ended(error)

    def _bounded(
        self, server: web.Server, exempt: Collection[web.RequestHandler], most: int
    ) -> Callable[[], asyncio.Protocol]:
        """Return the factory of connections' protocols. It cuts the oldest connection beyond ``most``."""
        loop = asyncio.get_running_loop()

        def connection() -> asyncio.Protocol:
            others = [each for each in server.connections if each not in exempt]
            for oldest in others[: max(0, len(others) + 1 - most)]:
                self._loop.say("too many connections: the oldest are cut", most=most)
                abort(oldest)
            return ServedConnection(server, loop=loop, **OPTIONS)

        return connection

    def _connections(self) -> list[web.RequestHandler]:
        servers = [runner.server for runner in self._runners if runner.server]
        return [connection for server in servers for connection in server.connections]


class ServedConnection(web.RequestHandler):
    """One connection. What is no request has no application that would say who answers."""

    __slots__ = ()

    @override
    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        answer = super().handle_error(request, status, exc, message)
        answer.headers[hdrs.SERVER] = SERVER
        return answer


async def say_who_answers(_: web.Request, answer: web.StreamResponse) -> None:
    """Name the server, in the answers of an application."""
    answer.headers[hdrs.SERVER] = SERVER


def abort(connection: web.RequestHandler) -> None:
    """End a connection at once."""
    if connection.transport is not None:
        connection.transport.abort()
