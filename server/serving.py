"""aiohttp on the loop of a process, controlled from another thread."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Final

from aiohttp import hdrs, web
from typing_extensions import override

from messages.units import Seconds
from server.limits import BACKLOG
from server.loop import Served, ServerLoop

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
"""The header ``Server`` of every answer, of those to garbage as well. Versions are nobody's business."""

EXEMPT: Final = web.AppKey("exempt", Collection)
"""Connections that an application limits itself. They are never cut for others."""

_CLIENTS_FAULTS = logging.getLogger("aiohttp.garbage")
"""The logger for requests that aiohttp cannot parse. Clients could fill the log with tracebacks by it.
Failures of handlers do not get there: the applications answer them."""
_CLIENTS_FAULTS.setLevel(logging.CRITICAL)
_OPTIONS: Final[dict[str, Any]] = {
    "access_log": None,
    "logger": _CLIENTS_FAULTS,
    "keepalive_timeout": IDLE,
}


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
        application.on_response_prepare.append(_say_who_answers)
        runner = web.AppRunner(
            application,
            shutdown_timeout=GRACE,
            handler_cancellation=True,  # who has left needs no answer, and no events
            **_OPTIONS,
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
        """Accept nobody any more, and close connections that are being answered after ``GRACE``.

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
            _abort(connection)
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
                _abort(oldest)
            return _Connection(server, loop=loop, **_OPTIONS)

        return connection

    def _connections(self) -> list[web.RequestHandler]:
        servers = [runner.server for runner in self._runners if runner.server]
        return [connection for server in servers for connection in server.connections]


class _Connection(web.RequestHandler):
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


async def _say_who_answers(_: web.Request, answer: web.StreamResponse) -> None:
    answer.headers[hdrs.SERVER] = SERVER


def _abort(connection: web.RequestHandler) -> None:
    if connection.transport is not None:
        connection.transport.abort()
