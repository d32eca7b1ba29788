"""A hostile HTTP/2 server on loopback: it answers what a test says, and misbehaves when told to.

It runs on a thread of its own. A handler answers one request; what it raises fails the test when
the server is left. Methods and properties may be used from any thread.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeAlias

import trustme

from tests.support.patience import PATIENCE
from tests.support.wire.http2_connection import ClientGoneError, Connection, Exchange

__all__ = ["ClientGoneError", "Exchange", "Handler", "Http2Server"]

Handler: TypeAlias = Callable[[Exchange], Awaitable[None]]

HOST = "127.0.0.1"


class Http2Server:
    """Listens from ``with`` on until its end, at a port that the kernel chooses."""

    def __init__(
        self,
        handler: Handler,
        *,
        tls: bool = True,
        most_streams: int = 100,
        authority: trustme.CA | None = None,
        certificate: trustme.LeafCert | None = None,
    ) -> None:
        """Serve with ``handler``. ``most_streams`` may be open at a time on each connection.

        ``certificate`` is shown to clients, else one for localhost that ``authority`` (by default
        one of its own) issues. Clients may show certificates of that authority, and need not.
        """
        self._handler = handler
        self._most_streams = most_streams
        self._authority = authority or trustme.CA()
        self._tls = self._context(certificate) if tls else None
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._note_trouble)
        self._thread = threading.Thread(target=self._loop.run_forever, name="http2-server")
        self._connections: list[Connection] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: list[BaseException] = []
        self._changed = threading.Condition()
        self._listening: asyncio.Server | None = None
        self.port = 0
        self.requests: list[Exchange] = []
        """Every complete request, in order."""

    def __enter__(self) -> Self:
        self._thread.start()
        self.listen_again()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._run(self._finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self._failures and error is None:
            raise AssertionError("a handler of the server failed") from self._failures[0]

    # What tests look at.

    @property
    def url(self) -> str:
        """Where it is, without a slash at the end."""
        return f"{'https' if self._tls else 'http'}://{HOST}:{self.port}"

    @property
    def ca_pem(self) -> bytes:
        """The authority to trust."""
        return self._authority.cert_pem.bytes()

    @property
    def connections_accepted(self) -> int:
        """Connections of clients since the start."""
        return len(self._connections)

    @property
    def open_connections(self) -> int:
        """Connections that are open."""
        return sum(connection.is_open for connection in tuple(self._connections))

    @property
    def open_streams(self) -> int:
        """Requests that are not answered to the end, on connections that are open."""
        return len(self._exchanges())

    @property
    def begun_streams(self) -> int:
        """Of these, those that were started, and not answered as a whole: watches that are open."""
        return sum(exchange.is_started for exchange in self._exchanges())

    def issue_client_identity(self, name: str) -> bytes:
        """Return the PEM of a key and a certificate that says ``name``."""
        issued = self._authority.issue_cert(f"{name}@example.com", common_name=name)
        return issued.private_key_and_cert_chain_pem.bytes()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Return once ``condition`` holds; looks whenever a stream or a connection changes."""
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE), "it never came to that"

    def notify(self) -> None:
        """Have ``wait_until`` look again: for handlers that change what it waits for."""
        with self._changed:
            self._changed.notify_all()

    def call(self, action: Callable[[], object]) -> None:
        """Have ``action`` done on the loop, some time soon."""
        self._loop.call_soon_threadsafe(action)

    # What tests do to clients.

    def cut_connections(self) -> None:
        """Cut every connection (TCP RST)."""

        async def cut() -> None:
            await self._do(Connection.cut, self._connections)
            await asyncio.gather(*(connection.gone.wait() for connection in self._connections))

        self._run(cut())

    def freeze(self, *numbers: int) -> None:
        """Read and write nothing more on the connections of these numbers (all, when none given).

        Counted from 0 as accepted. Their sockets stay open; connections made later work.
        """
        chosen = [self._connections[number] for number in numbers] or self._connections
        self._run(self._do(Connection.freeze, chosen))

    def goaway(self) -> None:
        """Send GOAWAY on every connection; streams that are open live on."""
        self._run(self._do(Connection.goaway, self._connections))

    def stop_listening(self) -> None:
        """Refuse connections from here on; those that are open live on."""

        async def stop() -> None:
            if self._listening is not None:
                self._listening.close()

        self._run(stop())

    def listen_again(self) -> None:
        """Accept connections, at the same port as before."""

        async def listen() -> None:
            self._listening = await self._loop.create_server(
                self._connection, HOST, self.port, ssl=self._tls, backlog=1024
            )
            self.port = self._listening.sockets[0].getsockname()[1]

        self._run(listen())

    def _exchanges(self) -> list[Exchange]:
        open_ones = [tuple(each.exchanges.values()) for each in tuple(self._connections)]
        return [exchange for exchanges in open_ones for exchange in exchanges]

    # On the loop.

    def _connection(self) -> Connection:
        return Connection(self._most_streams, self._serve, self._note_change)

    def _note_change(self, connection: Connection) -> None:
        if connection not in self._connections:
            self._connections.append(connection)
        self.notify()

    def _serve(self, exchange: Exchange) -> None:
        self.requests.append(exchange)
        task = self._loop.create_task(self._answer(exchange))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.notify()

    async def _answer(self, exchange: Exchange) -> None:
        try:
            await self._handler(exchange)
        except ClientGoneError:
            pass
        except Exception as failure:  # noqa: BLE001  # reported when the server is left
            self._failures.append(failure)
            exchange.connection.cut()

    def _note_trouble(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        trouble = context.get("exception")
        if trouble is not None and not isinstance(trouble, OSError):
            self._failures.append(trouble)

    async def _finish(self) -> None:
        if self._listening is not None:
            self._listening.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._connections:
            if connection.is_open:
                connection.cut()
        await asyncio.gather(*(connection.gone.wait() for connection in self._connections))

    # From other threads.

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    @staticmethod
    async def _do(action: Callable[[Connection], None], connections: list[Connection]) -> None:
        for connection in tuple(connections):
            if connection.is_open:
                action(connection)

    def _context(self, certificate: trustme.LeafCert | None) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        (certificate or self._authority.issue_cert("localhost", HOST)).configure_cert(context)
        self._authority.configure_trust(context)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["h2"])
        return context
