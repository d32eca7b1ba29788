"""How one watch sends its requests: paced, through the gate, under the cap, with fresh credentials."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus

from kube.credentials.access import Access
from kube.errors import ApiError, error_of_answer, error_of_transport
from kube.streams.circuit_breaker import Permit
from kube.streams.connections import Lane
from kube.streams.context import Surroundings
from kube.streams.exchange import CrowdedError, Exchange, open_exchange
from kube.streams.next_round import SentAt, noted, pause
from kube.streams.parsing import is_too_new
from kube.streams.queries import url_path
from messages.api import FailureKind
from messages.units import Seconds
from messages.watches import WatchTarget


class Sending:
    """Sends the requests of one target, one at a time. Has a place on a client until ``close``."""

    __slots__ = ("_lane", "_sent", "_shared", "_target", "access", "before_each")

    def __init__(self, target: WatchTarget, shared: Surroundings) -> None:
        self._target = target
        self._shared = shared
        self.before_each: Callable[[], None] | None = None
        """Called right before a request is sent."""
        self._lane: Lane | None = None
        self._sent: SentAt = ()
        self.access: Access | None = None
        """Whom the last request was sent as; for sentences."""

    async def send(
        self, query: Mapping[str, str], longest: Seconds, *, paced: bool = True
    ) -> Exchange:
        """Return the answer to a GET, which is a 200. Raises ``ApiError``.

        ``longest`` is for all of it. After a cancelling too: what nobody waits for ends by itself.
        A 401 has the credentials read again, once for all watches, and is followed by one other try.
        """
        access = await self._shared.identity.access()
        try:
            return await self._send_as(access, query, longest, paced=paced)
        except ApiError as error:
            if error.kind is not FailureKind.UNAUTHORIZED:
                raise
        access = await self._shared.identity.renewed(access)
        return await self._send_as(access, query, longest, paced=paced)

    async def fetch(self, query: Mapping[str, str], limit: int, *, paced: bool) -> bytes:
        """Return the body of such an answer: the whole, or a little more than ``limit`` bytes of it.

        Raises ``ApiError``.
        """
        longest = Seconds(2.0 * self._shared.rules.answer_within)
        exchange = await self.send(query, longest, paced=paced)
        return await self._read(exchange, limit)

    def close(self) -> None:
        """Give the place back."""
        if self._lane is not None:
            self._shared.lanes.leave(self._lane)
            self._lane = None

    async def _send_as(
        self, access: Access, query: Mapping[str, str], longest: Seconds, *, paced: bool
    ) -> Exchange:
        self.access = access
        exchange = await self._let_in(access, query, longest, paced=paced)
        self._shared.count_request(access, str(exchange.status))
        if exchange.status != HTTPStatus.OK:
            raise await self._refusal(exchange)
        return exchange

    async def _let_in(
        self, access: Access, query: Mapping[str, str], longest: Seconds, *, paced: bool
    ) -> Exchange:
        """Return an answer of whatever status, from where there is room. Raises ``ApiError``."""
        while True:
            with suppress(CrowdedError):
                return await self._opened(access, query, longest, paced=paced)

    async def _opened(
        self, access: Access, query: Mapping[str, str], longest: Seconds, *, paced: bool
    ) -> Exchange:
        """Return an answer of whatever status. Raises ``ApiError``, ``CrowdedError``."""
        self._lane = lane = self._shared.lanes.place(access, self._lane)
        await lane.ready()
        build = partial(lane.request, access, url_path(self._target), query, longest)
        permit = await self._admitted(lane, paced=paced)
        try:
            if permit.is_probe and access.tls_server_name:
                await lane.renew()
            if self.before_each is not None:
                self.before_each()
            return await open_exchange(lane, permit, build, self._shared.rules)
        except ApiError:
            self._shared.count_request(access, "<error>")
            self._shared.identity.doubt()
            raise
        finally:
            self._shared.openings.release()
            # When it is answered and not when it is sent: so the bound holds at the server too, also
            # for a request that had to wait for its connection.
            now = asyncio.get_running_loop().time()
            self._sent = noted(self._sent, now, self._shared.rules)

    async def _admitted(self, lane: Lane, *, paced: bool) -> Permit:
        """Return once a request may be sent, with one of the openings taken."""
        if paced:
            now = asyncio.get_running_loop().time()
            wait = pause(self._sent, now, self._shared.rules)
            if wait > 0.0:
                await asyncio.sleep(wait)
        while True:
            permit = await lane.gate.enter()
            await self._shared.openings.acquire()
            if lane.gate.lets(permit):
                return permit
            self._shared.openings.release()

    async def _refusal(self, exchange: Exchange) -> ApiError:
        """Return the error that an answer other than 200 stands for."""
        status, headers = exchange.status, exchange.headers
        try:
            body = await self._read(exchange, self._shared.rules.most_error_bytes)
        except ApiError:
            body = b""  # the status says enough
        error = error_of_answer(status, headers, body)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR and is_too_new(body):
            # The server has not got the version asked for, as if it were too old.
            return ApiError(error.text, kind=FailureKind.GONE, status=status)
        return error

    async def _read(self, exchange: Exchange, limit: int) -> bytes:
        """Return the body, or a little more than ``limit`` of it. Closes the exchange."""
        within = self._shared.rules.answer_within
        body = bytearray()
        try:
            async with asyncio.timeout(within):
                while len(body) <= limit and (chunk := await exchange.read()) is not None:
                    body += chunk
        except TimeoutError as late:
            raise error_of_transport(late, within) from None
        finally:
            await exchange.close()
        return bytes(body)
