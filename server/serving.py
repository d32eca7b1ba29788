"""aiohttp on a thread of its own, driven from another one."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Final

from aiohttp import web

from messages.units import Seconds

SETUP_TIMEOUT: Final = Seconds(5.0)
"""For what takes milliseconds: binding applications to sockets, and letting them go."""
GRACE: Final = Seconds(0.5)
"""How long ``close`` waits for requests that are being answered."""
IDLE: Final = Seconds(75.0)
"""How long a connection is kept for its next request; nginx's default."""
MOST_CONNECTIONS: Final = 200
"""Of each port. The oldest is cut for the one that is too many, so that clients who say nothing, or
never read, can neither keep others out nor use up the process's descriptors (1,024, usually)."""

KEPT: Final = web.AppKey("kept", Collection)
"""Connections of an application that are not cut for others: it bounds their number itself."""

_CLIENTS_FAULTS = logging.getLogger("aiohttp.garbage")
"""What aiohttp says of requests that it cannot read: whatever was sent, with a traceback. Failures of
handlers do not get that far, the applications answer them themselves."""
_CLIENTS_FAULTS.setLevel(logging.CRITICAL)


class Serving:
    """An asyncio loop that serves applications, from construction until ``close``."""

    def __init__(self, ended: Callable[[str], None]) -> None:
        """``ended`` is called, on the loop's thread, if the loop ends before ``close``."""  # noqa: D401
        self._ended = ended
        self._closing = False
        self._runners: list[web.AppRunner] = []
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="http-loop", daemon=True)
        self._thread.start()

    def open(self, application: web.Application, sockets: Sequence[socket.socket]) -> None:
        """Serve ``application`` on duplicates of ``sockets``. Raises OSError, TimeoutError."""
        opening = self._open(application, sockets)
        asyncio.run_coroutine_threadsafe(opening, self._loop).result(SETUP_TIMEOUT)

    def close(self) -> None:
        """Stop serving. The sockets given stay open, and keep new connections waiting."""
        self._closing = True
        with suppress(RuntimeError):  # the loop ended by itself and is closed
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SETUP_TIMEOUT)

    async def _open(self, application: web.Application, sockets: Sequence[socket.socket]) -> None:
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
        kept = application.get(KEPT, frozenset())
        for listener in sockets:
            listening = await self._loop.create_server(_bounded(server, kept), sock=listener.dup())
            self._servers.append(listening)

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
        """Let go of the listening sockets at once, and of who is being answered after a grace."""
        for listening in self._servers:
            listening.close()
        transports = [each.transport for each in self._connections() if each.transport]
        await asyncio.gather(*(runner.cleanup() for runner in self._runners))
        for transport in transports:
            transport.abort()  # what nobody has read by now would keep its socket open

    def _cut(self) -> None:
        """Close what is still open, in a loop in which anything may have gone wrong."""
        for listening in self._servers:
            listening.close()
        for connection in self._connections():
            _abort(connection)
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_soon(self._loop.stop)
        with suppress(BaseException):  # what ended it once may do so again
            self._loop.run_forever()

    def _connections(self) -> list[web.RequestHandler]:
        servers = [runner.server for runner in self._runners if runner.server]
        return [connection for server in servers for connection in server.connections]


def _bounded(
    server: web.Server, kept: Collection[web.RequestHandler]
) -> Callable[[], asyncio.Protocol]:
    """Return what makes the protocol of a new connection, and cuts the oldest one if need be."""

    def connection() -> asyncio.Protocol:
        others = [each for each in server.connections if each not in kept]
        for oldest in others[: 1 - MOST_CONNECTIONS]:
            _abort(oldest)
        return server()

    return connection


def _abort(connection: web.RequestHandler) -> None:
    if connection.transport is not None:
        connection.transport.abort()
