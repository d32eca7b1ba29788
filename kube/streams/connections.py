"""The pool of connections, each with a number of slots for watches.

A watch has one slot as long as it lives, for its lists and its streams one after the other. A connection
therefore never has more requests at a time than slots, and no request waits without an error behind the
server's limit on streams. The fullest connection with a free slot is taken first, so that emptied ones can
be closed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final, TypeAlias

from pyreqwest.client import Client
from pyreqwest.request import StreamRequest

from kube.api_loop import ApiLoop
from kube.clients import base_url
from kube.credentials.access import Access, CredentialsError
from kube.errors import ApiError, error_of_transport
from kube.streams.circuit_breaker import CircuitBreaker, Permit
from kube.streams.queries import query_text
from kube.streams.rules import WatchRules
from messages.units import Seconds

MakeClient: TypeAlias = Callable[[Access, str], Client]
"""Returns a client for an access and a User-Agent. May block. Raises ``CredentialsError`` and
``ApiError``."""

Build: TypeAlias = Callable[[], asyncio.Future[Client]]
"""Starts to build a client."""

READ_BUFFER: Final = 0
"""Bytes of the body that pyreqwest reads before it returns the answer. With any other number, opening a
stream would return only with the first byte of its body: the watch of an object that does not change would
never open."""


class Connection:
    """One HTTP client with its connection, its circuit breaker and its slots."""

    def __init__(self, access: Access, build: Build, breaker: CircuitBreaker, most: int) -> None:
        """Start to build the client. ``most`` is the limit on streams, as far as it is known."""
        self.key = access.connection_key
        self.breaker = breaker
        self.slots_taken = 0
        self.streams = 0
        """How many answers are open."""
        self.limit = most
        """How many answers may be open, as far as that is known."""
        self.answered_at = 0.0
        """When the last request was answered, on the loop's clock."""
        self.idle_timer: asyncio.TimerHandle | None = None
        """Closes the connection unless somebody takes a slot; None while somebody has one."""
        self.pending: set[asyncio.Task[None]] = set()
        """Requests that are being opened or closed, perhaps for somebody who no longer waits."""
        self._most = most
        self._build = build
        # The only reference to the client. Its socket is closed with the last reference, and one in a
        # frame of a cancelled task would wait for the garbage collector.
        self._building = build()

    async def ready(self) -> None:
        """Return once there is a client. Raises ``ApiError`` when it cannot be built."""
        try:
            await asyncio.shield(self._building)
        except CredentialsError as error:
            raise error_of_transport(error) from None
        except ApiError as error:
            raise ApiError(error.text, kind=error.kind) from None

    async def rebuild(self) -> None:
        """Replace the client. A client that was told its server's address never looks the name up again.

        Requests that are under way keep the old client and may still be answered. Raises ``ApiError`` when
        no client can be built.
        """
        building = self._build()
        with suppress(CredentialsError, ApiError):
            await asyncio.shield(building)
        self._building = building  # done: those who returned from ``ready`` rely on that
        await self.ready()

    def request(
        self, access: Access, path: str, query: Mapping[str, str], longest: Seconds
    ) -> StreamRequest:
        """Return a GET request that is not sent yet. Call it after ``ready``.

        ``longest`` ends the request whatever happens, also when nobody waits for its answer any more.
        Raises pyreqwest's errors for an invalid URL, and ``CancelledError`` after ``close``.
        """
        url = f"{base_url(access)}{path}?{query_text(query)}"
        builder = self._building.result().get(url)
        builder = builder.streamed_read_buffer_limit(READ_BUFFER)
        builder = builder.timeout(timedelta(seconds=longest))
        if access.authorization:
            # On the request and not on the client: a new token then needs no new connection.
            builder = builder.header("Authorization", access.authorization, is_sensitive=True)
        return builder.build_streamed()

    @property
    def is_usable(self) -> bool:
        """Whether the client was built, or may be yet."""
        done = self._building.done()
        return not done or not (self._building.cancelled() or self._building.exception())

    def on_answer(self, permit: Permit) -> None:
        """Note that a request was answered, with whatever status."""
        self.answered_at = asyncio.get_running_loop().time()
        self.breaker.on_answer(permit)

    def on_stream_opened(self) -> None:
        """Note one more open answer. If there are more than the limit, raise the limit."""
        self.streams += 1
        self.limit = max(self.limit, self.streams)

    def on_failure(self, permit: Permit, error: ApiError) -> None:
        """Note that the connection broke. The next one may allow another number of streams."""
        self.limit = self._most
        self.breaker.on_failure(permit, error)

    def check_full(self, rules: WatchRules) -> bool:
        """Return whether the server seems to accept no more streams. If so, lower the limit to those open.

        Call it when a request has waited for ``full_after``.
        """
        silence = asyncio.get_running_loop().time() - self.answered_at
        if self.streams < rules.fewest_streams or silence < rules.full_after:
            return False
        self.limit = self.streams
        return True

    def on_late_answer(self) -> None:
        """Note an answer that nobody waits for any more: the server was slow, not full. Reset the limit."""
        self.limit = self._most

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` and finish it before the client is closed."""
        task = asyncio.get_running_loop().create_task(work)
        self.pending.add(task)
        task.add_done_callback(self.pending.discard)

    async def close(self, within: Seconds) -> None:
        """Close the client once nothing is pending: open streams would outlive it.

        Waits for at most ``within``. A server does not answer what is pending after that.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self.pending:
                    await asyncio.wait(self.pending)
        building, self._building = self._building, _nothing()
        with suppress(CredentialsError, ApiError):
            await (await building).close()


class ConnectionPool:
    """All connections of a process. Lives on the loop."""

    def __init__(
        self,
        loop: ApiLoop,
        rules: WatchRules,
        make_client: MakeClient,
        chance: random.Random,
    ) -> None:
        self._loop = loop
        self._rules = rules
        self._make_client = make_client
        self._chance = chance
        self._connections: list[Connection] = []
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many clients there are."""
        return len(self._connections)

    def take_slot(self, access: Access, present: Connection | None) -> Connection:
        """Return the connection to send requests of ``access`` over: ``present`` if possible.

        Gives the slot on ``present`` back if that connection is for another access, cannot be used, or has
        more slots taken than the server accepts streams.
        """
        if present is not None:
            is_right = present.key == access.connection_key and present.is_usable
            if is_right and present.slots_taken <= present.limit:
                return present
            self.release_slot(present)
        connection = max(
            (connection for connection in self._connections if self._has_room(connection, access)),
            key=lambda connection: connection.slots_taken,
            default=None,
        )
        connection = connection or self._new(access)
        if connection.idle_timer is not None:
            connection.idle_timer.cancel()
            connection.idle_timer = None
        connection.slots_taken += 1
        return connection

    def release_slot(self, connection: Connection) -> None:
        """Give a slot back. A connection without taken slots is closed after a while."""
        connection.slots_taken -= 1
        if connection.slots_taken == 0:
            close_idle_after = (
                self._rules.close_idle_after if connection.is_usable else Seconds(0.0)
            )
            connection.idle_timer = asyncio.get_running_loop().call_later(
                close_idle_after, self._close, connection
            )

    async def close(self) -> None:
        """Close every connection and return when that is done. All slots must have been given back."""
        for connection in self._connections.copy():
            if connection.idle_timer is not None:
                connection.idle_timer.cancel()
                self._close(connection)
        await asyncio.gather(*self._closing)

    def _close(self, connection: Connection) -> None:
        self._connections.remove(connection)
        task = asyncio.get_running_loop().create_task(connection.close(self._rules.drain_within))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _has_room(self, connection: Connection, access: Access) -> bool:
        # The cheapest question first: most connections of a big node have no free slot.
        has_room = connection.slots_taken < connection.limit
        return has_room and connection.key == access.connection_key and connection.is_usable

    def _new(self, access: Access) -> Connection:
        def make() -> Client:
            return self._make_client(access, self._rules.user_agent)

        def build() -> asyncio.Future[Client]:
            return asyncio.get_running_loop().create_task(self._loop.run_blocking(make))

        breaker = CircuitBreaker(self._rules, self._chance)
        connection = Connection(access, build, breaker, self._rules.streams_per_connection)
        self._connections.append(connection)
        return connection


def _nothing() -> asyncio.Future[Client]:
    """Return a cancelled future, in place of the client that was closed."""
    gone: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    gone.cancel()
    return gone
