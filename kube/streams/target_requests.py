"""Sends the requests of one target: paced, over a connection that works, with fresh credentials."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus

from kube.credentials.access import Access
from kube.errors import ApiError, error_of_answer, error_of_transport
from kube.streams.circuit_breaker import Permit
from kube.streams.connections import Connection
from kube.streams.exchange import ConnectionFullError, Exchange, open_exchange
from kube.streams.next_round import SentTimes, request_pause, with_request
from kube.streams.parsing import UnfinishedAnswer, is_too_new
from kube.streams.queries import url_path
from kube.streams.shared import WatchContext
from messages.api import FailureKind
from messages.units import Seconds
from messages.watches import WatchTarget


class TargetRequests:
    """Sends the requests of one target, one at a time. Has a slot on a connection until ``close``."""

    __slots__ = ("_connection", "_context", "_sent", "_target", "access", "before_send")

    def __init__(self, target: WatchTarget, context: WatchContext) -> None:
        self._target = target
        self._context = context
        self.before_send: Callable[[], None] | None = None
        """Called right before a request is sent."""
        self._connection: Connection | None = None
        self._sent: SentTimes = ()
        self.access: Access | None = None
        """The access that the last request was sent with, for sentences; None before the first."""

    async def send(
        self, query: Mapping[str, str], longest: Seconds, *, paced: bool = True
    ) -> Exchange:
        """Send a GET and return its answer, which is a 200. Raises ``ApiError``. May be cancelled.

        ``longest`` limits the whole exchange, also after a cancellation: an answer that nobody waits for
        ends by itself. After a 401 the credentials are read again, once for all watches, and the request is
        sent once more. ``paced`` requests wait while the target has sent too many.
        """
        access = await self._context.credentials.access(self._context.rules.access_age)
        try:
            return await self._send_as(access, query, longest, paced=paced)
        except ApiError as error:
            if error.kind is not FailureKind.UNAUTHORIZED:
                raise
        access = await self._context.credentials.reload(access)
        return await self._send_as(access, query, longest, paced=paced)

    async def fetch(self, query: Mapping[str, str], limit: int, *, paced: bool) -> bytes:
        """Send a GET and return its body: all of it, or a little more than ``limit`` bytes.

        Raises ``ApiError``.
        """
        longest = Seconds(2.0 * self._context.rules.answer_within)
        exchange = await self.send(query, longest, paced=paced)
        return await self._read(exchange, limit)

    def close(self) -> None:
        """Give the slot back."""
        if self._connection is not None:
            self._context.pool.release_slot(self._connection)
            self._connection = None

    async def _send_as(
        self, access: Access, query: Mapping[str, str], longest: Seconds, *, paced: bool
    ) -> Exchange:
        self.access = access
        exchange = await self._open_where_room(access, query, longest, paced=paced)
        self._context.count_request(access, str(exchange.status))
        if exchange.status != HTTPStatus.OK:
            raise await self._refusal(exchange)
        return exchange

    async def _open_where_room(
        self, access: Access, query: Mapping[str, str], longest: Seconds, *, paced: bool
    ) -> Exchange:
        """Return an answer of any status, from a connection that is not full. Raises ``ApiError``."""
        while True:
            with suppress(ConnectionFullError):
                return await self._open(access, query, longest, paced=paced)

    async def _open(
        self, access: Access, query: Mapping[str, str], longest: Seconds, *, paced: bool
    ) -> Exchange:
        """Return an answer of any status. Raises ``ApiError`` and ``ConnectionFullError``."""
        self._connection = connection = self._context.pool.take_slot(access, self._connection)
        await connection.ready()
        build = partial(connection.request, access, url_path(self._target), query, longest)
        permit = await self._permission(connection, paced=paced)
        try:
            if permit.is_probe and access.tls_server_name:
                await connection.rebuild()
            if self.before_send is not None:
                self.before_send()
            return await open_exchange(connection, permit, build, self._context.rules)
        except ApiError:
            self._context.count_request(access, "<error>")
            self._context.credentials.mark_stale()
            raise
        finally:
            self._context.pending_requests.release()
            # The time of the answer, not of sending. The bound then holds at the server too, also for a
            # request that had to wait for its connection.
            now = asyncio.get_running_loop().time()
            self._sent = with_request(self._sent, now, self._context.rules)

    async def _permission(self, connection: Connection, *, paced: bool) -> Permit:
        """Return once a request may be sent. Takes one of the pending requests; the caller gives it back."""
        if paced:
            now = asyncio.get_running_loop().time()
            wait = request_pause(self._sent, now, self._context.rules)
            if wait > 0.0:
                await asyncio.sleep(wait)
        while True:
            permit = await connection.breaker.acquire()
            await self._context.pending_requests.acquire()
            if connection.breaker.is_valid(permit):
                return permit
            self._context.pending_requests.release()

    async def _refusal(self, exchange: Exchange) -> ApiError:
        """Return the error of an answer other than 200."""
        status, headers = exchange.status, exchange.headers
        try:
            body = await self._read(exchange, self._context.rules.most_error_bytes)
        except ApiError:
            body = b""  # the status says enough
        error = error_of_answer(status, headers, body)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR and is_too_new(body):
            # The server does not have the requested version yet. Treat it like one that is too old.
            return ApiError(error.text, kind=FailureKind.GONE, status=status)
        return error

    async def _read(self, exchange: Exchange, limit: int) -> bytes:
        """Return the body, or a little more than ``limit`` bytes of it. Closes the exchange."""
        within = self._context.rules.answer_within
        body, waiting = bytearray(), UnfinishedAnswer(self._context.unfinished)
        try:
            async with asyncio.timeout(within):
                # To its end, even where the length is known: a stream that is left before its end is reset,
                # and a proxy may close a connection with many of those.
                while len(body) <= limit:
                    chunk = await exchange.read()
                    if chunk is None:
                        break
                    body += chunk
                    waiting.hold(len(body))
        except TimeoutError as late:
            raise error_of_transport(late, within) from None
        finally:
            waiting.close()
            await exchange.close()
        return bytes(body)
