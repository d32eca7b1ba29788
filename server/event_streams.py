"""``/events``: server-sent events for as long as somebody reads them.

After ``: connected`` a reader gets the present state unless it does without, and then every event, in order,
or a last comment that says why not. What it has not read yet waits in its queue, and nowhere else.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Final

from aiohttp import web

from messages.event_feed import comment
from messages.units import Seconds
from server.answers import Unanswered
from server.backend import EndpointBackend
from server.event_reader import EventReader
from server.json_answers import NO

AT_A_STOP: Final = Seconds(0.2)
"""How long a stop waits until readers have read the last comment. A stop gives all requests 0.5 s."""
SEND_BUFFER: Final = 2**18
"""Bytes that the kernel may buffer for a reader. Its default grows to 4 MiB."""
MOST_OF_AN_ID: Final = 100
"""Bytes of an id that are looked at. Ours are shorter."""

CONNECTED: Final = comment("connected")
STOPPING: Final = comment("the agent's endpoints are closing: come back")

_HEADERS: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # else nginx keeps events until it has a page of them
}


class EventStreams:
    """All readers of events, in one life of the server."""

    def __init__(self, backend: EndpointBackend) -> None:
        self._backend = backend
        self._closing_within = backend.timeouts.closing
        self._readers: set[EventReader] = set()
        self.connections: set[web.RequestHandler] = set()
        """The connections of the readers."""

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Send events to one reader until it leaves, is too slow, or the server stops."""
        response = web.StreamResponse(headers=_HEADERS)
        response.force_close()  # its end is the end: nothing else can be asked on this connection
        if request.method == "HEAD":
            return response
        most = self._backend.limits.readers
        if len(self._readers) >= most:
            raise web.HTTPServiceUnavailable(text=f"there are {most} readers already")
        reader = EventReader(self._backend.feed, self._backend.timeouts.keep_alive)
        self._readers.add(reader)
        self.connections.add(request.protocol)
        try:
            return await self._serve(request, response, reader)
        finally:
            reader.end(STOPPING)
            self._readers.discard(reader)
            self.connections.discard(request.protocol)

    async def close(self, _application: web.Application) -> None:
        """End all readers, so that a stop does not wait for them."""
        self._closing_within = min(self._closing_within, AT_A_STOP)
        for reader in self._readers:
            reader.end(STOPPING)

    async def _serve(
        self, request: web.Request, response: web.StreamResponse, reader: EventReader
    ) -> web.StreamResponse:
        attached = await self._backend.attach(
            reader, wants_state=_wants_state(request), since=_since(request)
        )
        if isinstance(attached, Unanswered):
            raise web.HTTPServiceUnavailable(text=f"{attached.name}: {attached.reason}")
        with suppress(ConnectionError):  # it left
            _keep_small(request)
            await response.prepare(request)
            await self._tell_all(request, response, reader)
        return response

    async def _tell_all(
        self, request: web.Request, response: web.StreamResponse, reader: EventReader
    ) -> None:
        """Send events until the reader ends, then the last comment. Raises ConnectionError."""
        sending = asyncio.ensure_future(_send_all(response, reader))
        sending.add_done_callback(_heed)
        try:
            await asyncio.wait((sending, reader.ended), return_when=asyncio.FIRST_COMPLETED)
            if not reader.ended.done():
                await sending
            # The sending task may be waiting for room. It is not cancelled here: aiohttp lets all writers
            # wait by one future, which would be cancelled with it.
            if not await _say(response, await reader.ended, self._closing_within):
                _cut(request)
        finally:
            sending.cancel()


def _wants_state(request: web.Request) -> bool:
    return request.query.get("replay", "true").lower() not in NO


def _since(request: web.Request) -> str:
    """Return the id of the last event that a reader knows, or nothing.

    A browser that comes back asks for the same address as before, so what its header says is newer.
    """
    told = request.headers.get("Last-Event-ID") or request.query.get("since", "")
    return told[:MOST_OF_AN_ID]


async def _send_all(response: web.StreamResponse, reader: EventReader) -> None:
    await response.write(CONNECTED)
    while text := await reader.take():
        await response.write(text)
        await asyncio.sleep(0)  # others have a turn, also while the kernel takes everything


def _heed(sending: asyncio.Future[None]) -> None:
    """Retrieve the exception of a task that nobody awaits any more, so that asyncio does not log it."""
    if not sending.cancelled():
        sending.exception()


async def _say(response: web.StreamResponse, last_words: bytes, within: Seconds) -> bool:
    """End the answer with ``last_words``. Return whether the rest was read ``within`` that time."""
    try:
        async with asyncio.timeout(within):
            await response.write(last_words)
            await response.write_eof()
    except TimeoutError:
        return False
    return True


def _keep_small(request: web.Request) -> None:
    """Limit the kernel's buffer, so that unread events wait in the reader's queue, which is bounded."""
    if request.transport is not None:
        connection: socket.socket = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
