"""aiohttp on a thread of its own, controlled from another thread."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Final

import structlog
from aiohttp import web, web_response

from messages.units import Seconds
from server.limits import BACKLOG

SETUP_TIMEOUT: Final = Seconds(5.0)
"""How long ``open`` and ``close`` may take. They usually take milliseconds."""
GRACE: Final = Seconds(0.5)
"""How long ``close`` waits for requests that are being answered."""
IDLE: Final = Seconds(75.0)
"""How long an idle connection is kept for its next request. nginx's default."""
ACCEPTED_AT_ONCE: Final = 1
"""Connections that are accepted before the loop does something else, such as cutting the oldest. asyncio
also tries so often in a row when descriptors have run out, and says so each time."""
SAID_AGAIN_AFTER: Final = Seconds(60.0)
"""How long the log is silent about connections after a line about them."""

EXEMPT: Final = web.AppKey("exempt", Collection)
"""Connections that an application limits itself. They are never cut for others."""

_CLIENTS_FAULTS = logging.getLogger("aiohttp.garbage")
"""The logger for requests that aiohttp cannot parse. Clients could fill the log with tracebacks by it.
Failures of handlers do not get there: the applications answer them."""
_CLIENTS_FAULTS.setLevel(logging.CRITICAL)

_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What keeps asyncio from accepting a connection. It tries again after a second."""

vars(web_response)["SERVER_SOFTWARE"] = "actorlet"
"""The header ``Server`` of every answer, of those to garbage as well. Versions are nobody's business."""

_log = structlog.get_logger("http-server")


class Serving:
    """An asyncio loop that serves applications, from construction until ``close``."""

    def __init__(self, ended: Callable[[str], None]) -> None:
        """``ended`` is called with an error, on the loop's thread, if the loop ends before ``close``."""  # noqa: D401
        self._ended = ended
        self._closing = False
        self._runners: list[web.AppRunner] = []
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._note_failure)
        self._silent_until: dict[str, Seconds] = {}
        self._thread = threading.Thread(target=self._run, name="http-loop", daemon=True)
        self._thread.start()

    def open(
        self, application: web.Application, sockets: Sequence[socket.socket], most: int
    ) -> None:
        """Serve ``application`` on duplicates of ``sockets``. Raises OSError, TimeoutError.

        There are ``most`` connections at a time: a new one beyond that cuts the oldest. So clients that send
        nothing, or never read, can neither keep others out nor use up the process's descriptors.
        """
        opening = self._open(application, sockets, most)
        asyncio.run_coroutine_threadsafe(opening, self._loop).result(SETUP_TIMEOUT)

    def close(self) -> None:
        """Stop serving. The given sockets stay open, and queue new connections."""
        self._closing = True
        with suppress(RuntimeError):  # the loop ended by itself and is closed
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SETUP_TIMEOUT)

    async def _open(
        self, application: web.Application, sockets: Sequence[socket.socket], most: int
    ) -> None:
        runner = web.AppRunner(
            application,
            access_log=None,
            logger=_CLIENTS_FAULTS,
            keepalive_timeout=IDLE,
            shutdown_timeout=GRACE,
            handler_cancellation=True,  # who has left needs no answer, and no events
        )
        self._runners.append(runner)
        await runner.setup()
        server = runner.server
        assert server is not None  # noqa: S101  # there is one after setup
        exempt = application.get(EXEMPT, frozenset())
        for listener in sockets:
            listening = await self._loop.create_server(
                self._bounded(server, exempt, most), sock=listener.dup(), backlog=ACCEPTED_AT_ONCE
            )
            self._servers.append(listening)
            listener.listen(BACKLOG)  # asyncio has set it to what it accepts at once

    def _run(self) -> None:
        error = "the loop ended"
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._finish())
        except BaseException as failure:  # noqa: BLE001  # whatever it was, nobody is served any more
            error = f"{type(failure).__name__}: {failure}"
        self._cut()
        self._loop.close()
        if not self._closing:
            self._ended(error)

    async def _finish(self) -> None:
        """Close the duplicated sockets at once, and connections that are being answered after ``GRACE``."""
        for listening in self._servers:
            listening.close()
        transports = [each.transport for each in self._connections() if each.transport]
        await asyncio.gather(*(runner.cleanup() for runner in self._runners))
        for transport in transports:
            transport.abort()  # unread data would keep its socket open

    def _cut(self) -> None:
        """Close everything that is still open, in a loop that may be broken."""
        for listening in self._servers:
            listening.close()
        for connection in self._connections():
            _abort(connection)
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_soon(self._loop.stop)
        with suppress(BaseException):  # what ended it once may do so again
            self._loop.run_forever()

    def _bounded(
        self, server: web.Server, exempt: Collection[web.RequestHandler], most: int
    ) -> Callable[[], asyncio.Protocol]:
        """Return the factory of connections' protocols. It cuts the oldest connection beyond ``most``."""

        def connection() -> asyncio.Protocol:
            others = [each for each in server.connections if each not in exempt]
            for oldest in others[: max(0, len(others) + 1 - most)]:
                self._say("too many connections: the oldest are cut", most=most)
                _abort(oldest)
            return server()

        return connection

    def _note_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what the loop could not do. That it can accept nothing at present is said once."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _SHORTAGES:
            self._say("connections cannot be accepted", error=error.strerror)
        else:
            loop.default_exception_handler(context)

    def _say(self, event: str, **fields: object) -> None:
        """Log a warning, unless the same was logged less than ``SAID_AGAIN_AFTER`` ago."""
        now = Seconds(self._loop.time())
        if now >= self._silent_until.get(event, 0.0):
            self._silent_until[event] = Seconds(now + SAID_AGAIN_AFTER)
            _log.warning(event, **fields)

    def _connections(self) -> list[web.RequestHandler]:
        servers = [runner.server for runner in self._runners if runner.server]
        return [connection for server in servers for connection in server.connections]


def _abort(connection: web.RequestHandler) -> None:
    if connection.transport is not None:
        connection.transport.abort()
