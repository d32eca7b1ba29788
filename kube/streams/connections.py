"""Clients, each with one connection, and the places on them.

A watch has one place as long as it lives, for its lists and its streams one after the other: so a
client has never more requests at a time than places, and none of them waits in silence behind the
server's limit. The fullest client that has room is taken first, so that emptied ones can be closed.
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

from kube.clients import base_url
from kube.credentials.access import Access, CredentialsError
from kube.errors import ApiError, error_of_transport
from kube.streams.circuit_breaker import Gate, Permit
from kube.streams.queries import query_text
from kube.streams.rules import WatchRules
from kube.streams.shared_credentials import Identity
from messages.units import Seconds

MakeClient: TypeAlias = Callable[[Access, str], Client]
"""Returns a client for an access and a User-Agent. May block; raises ``CredentialsError``, ``ApiError``."""

Build: TypeAlias = Callable[[], asyncio.Future[Client]]
"""Begins to build a client."""

READ_BUFFER: Final = 0
"""Bytes that pyreqwest reads before it gives the answer out. With any, opening a stream returns only
with the first byte of its body: a watch of a quiet object would never be open."""


class Lane:
    """One client, its gate, and how many have a place on it."""

    def __init__(self, access: Access, build: Build, gate: Gate, most: int) -> None:
        """Begin with no streams, of which there may be ``most``."""
        self.connection = access.connection
        self.gate = gate
        self.places = 0
        self.streams = 0
        """How many answers are open."""
        self.limit = most
        """How many may be, as far as that is known."""
        self.answered_at = 0.0
        """When a request was answered last, on the loop's clock."""
        self.lapse: asyncio.TimerHandle | None = None
        """When it is closed unless somebody takes a place; None while somebody has one."""
        self.pending: set[asyncio.Task[None]] = set()
        """Requests that are being opened or closed, perhaps for somebody who has gone."""
        # The only one who holds the client: its socket is closed when nobody does any more, and what
        # a frame of a cancelled task holds would wait for the garbage collector.
        self._most = most
        self._build = build
        self._building = build()

    async def ready(self) -> None:
        """Return once there is a client. Raises ``ApiError`` when it cannot be built."""
        try:
            await asyncio.shield(self._building)
        except CredentialsError as error:
            raise error_of_transport(error) from None
        except ApiError as error:
            raise ApiError(error.text, kind=error.kind) from None

    async def renew(self) -> None:
        """Have another client built: one that was told its server's address never looks it up again.

        Requests that are under way keep the old one, which may be answered yet. Raises ``ApiError`` when
        there can be no other.
        """
        building = self._build()
        with suppress(CredentialsError, ApiError):
            await asyncio.shield(building)
        self._building = building  # done, as others who are ready believe it to be
        await self.ready()

    def request(
        self, access: Access, path: str, query: Mapping[str, str], longest: Seconds
    ) -> StreamRequest:
        """Return a GET that is not sent yet, once this is ``ready``.

        ``longest`` ends it whatever happens, also when nobody waits for its answer any more.
        Raises pyreqwest's errors for a URL that is none, and CancelledError after ``close``.
        """
        url = f"{base_url(access)}{path}?{query_text(query)}"
        builder = self._building.result().get(url)
        builder = builder.streamed_read_buffer_limit(READ_BUFFER)
        builder = builder.timeout(timedelta(seconds=longest))
        if access.authorization:
            # With the request, not the client: another token then needs no other connection.
            builder = builder.header("Authorization", access.authorization, is_sensitive=True)
        return builder.build_streamed()

    @property
    def is_usable(self) -> bool:
        """Whether its client was built, or may be yet."""
        done = self._building.done()
        return not done or not (self._building.cancelled() or self._building.exception())

    def take_answer(self, permit: Permit) -> None:
        """Note that a request got an answer, of whatever kind."""
        self.answered_at = asyncio.get_running_loop().time()
        self.gate.answered(permit)

    def take_stream(self) -> None:
        """Note one more open answer. If that is more than were thought to fit, so many do."""
        self.streams += 1
        self.limit = max(self.limit, self.streams)

    def take_failure(self, permit: Permit, error: ApiError) -> None:
        """Note that the connection broke. How many fit on the next one is another question."""
        self.limit = self._most
        self.gate.failed(permit, error)

    def is_full(self, rules: WatchRules) -> bool:
        """Return whether the server seems to let nobody in any more, and go by that from now on.

        Asked when a request has waited for long.
        """
        silence = asyncio.get_running_loop().time() - self.answered_at
        if self.streams < rules.fewest_streams or silence < rules.crowded_after:
            return False
        self.limit = self.streams
        return True

    def take_late_answer(self) -> None:
        """Note an answer that nobody waited for any more: the server was slow, and not full."""
        self.limit = self._most

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Have ``work`` done before the client is closed."""
        task = asyncio.get_running_loop().create_task(work)
        self.pending.add(task)
        task.add_done_callback(self.pending.discard)

    async def close(self, within: Seconds) -> None:
        """Close the client once nothing is pending: live streams would outlive it.

        What is still pending after ``within`` has no server that answers.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self.pending:
                    await asyncio.wait(self.pending)
        building, self._building = self._building, _nothing()
        with suppress(CredentialsError, ApiError):
            await (await building).close()


class Lanes:
    """All clients. Lives on the loop."""

    def __init__(
        self,
        identity: Identity,
        rules: WatchRules,
        make_client: MakeClient,
        chance: random.Random,
    ) -> None:
        self._identity = identity
        self._rules = rules
        self._make_client = make_client
        self._chance = chance
        self._lanes: list[Lane] = []
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many clients there are."""
        return len(self._lanes)

    def place(self, access: Access, present: Lane | None) -> Lane:
        """Return where requests of ``access`` go: the present place, if it is of that connection.

        If it is not, or the server lets in fewer than have a place there, it is given back.
        """
        if present is not None:
            is_right = present.connection == access.connection and present.is_usable
            if is_right and present.places <= present.limit:
                return present
            self.leave(present)
        lane = max(
            (lane for lane in self._lanes if self._has_room(lane, access)),
            key=lambda lane: lane.places,
            default=None,
        )
        lane = lane or self._new(access)
        if lane.lapse is not None:
            lane.lapse.cancel()
            lane.lapse = None
        lane.places += 1
        return lane

    def leave(self, lane: Lane) -> None:
        """Give a place back. A client is closed when nobody has taken one for a while."""
        lane.places -= 1
        if lane.places == 0:
            linger = self._rules.linger if lane.is_usable else Seconds(0.0)
            lane.lapse = asyncio.get_running_loop().call_later(linger, self._close, lane)

    async def close(self) -> None:
        """Return once every client is closed, all places having been given back."""
        for lane in self._lanes.copy():
            if lane.lapse is not None:
                lane.lapse.cancel()
                self._close(lane)
        await asyncio.gather(*self._closing)

    def _close(self, lane: Lane) -> None:
        self._lanes.remove(lane)
        task = asyncio.get_running_loop().create_task(lane.close(self._rules.abandon_after))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _has_room(self, lane: Lane, access: Access) -> bool:
        # What is looked at first is what most lanes of a big node have not got.
        has_room = lane.places < lane.limit
        return has_room and lane.connection == access.connection and lane.is_usable

    def _new(self, access: Access) -> Lane:
        def make() -> Client:
            return self._make_client(access, self._rules.user_agent)

        def build() -> asyncio.Future[Client]:
            return asyncio.get_running_loop().create_task(self._identity.off_the_loop(make))

        gate = Gate(self._rules, self._chance)
        lane = Lane(access, build, gate, self._rules.streams_per_client)
        self._lanes.append(lane)
        return lane


def _nothing() -> asyncio.Future[Client]:
    """Return what stands for a client that was closed."""
    gone: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    gone.cancel()
    return gone
