"""``/events``: server-sent events for as long as somebody reads them.

A reader hears of everything from ``: connected`` on, in order, or is told why not before the connection
ends. What it does not read waits in its queue and nowhere else.
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

MOST_READERS: Final = 32
"""Each has a connection of its own, beside those that everybody else shares."""
AT_A_STOP: Final = Seconds(0.2)
"""Such time to read the last words, of the half second that a stop gives to all requests."""
SEND_BUFFER: Final = 2**18
"""Bytes that the machine may hold for a reader; by itself it lets that grow to 4 MiB."""

CONNECTED: Final = comment("connected")
STOPPING: Final = comment("the agent's endpoints are closing: come back")

_HEADERS: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # else nginx keeps events until it has a page of them
}


class EventStreams:
    """All who read events, of one life of the server."""

    def __init__(self, backend: EndpointBackend) -> None:
        self._backend = backend
        self._closing_within = backend.timeouts.closing
        self._readers: set[EventReader] = set()
        self.connections: set[web.RequestHandler] = set()
        """Of the readers."""

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Tell one reader what happens until it leaves, is too slow, or the server stops."""
        response = web.StreamResponse(headers=_HEADERS)
        response.force_close()  # its end is the end: nothing else can be asked on this connection
        if request.method == "HEAD":
            return response
        if len(self._readers) >= MOST_READERS:
            raise web.HTTPServiceUnavailable(text=f"there are {MOST_READERS} readers already")
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
        """End all readers, so that nobody waits for them."""
        self._closing_within = min(self._closing_within, AT_A_STOP)
        for reader in self._readers:
            reader.end(STOPPING)

    async def _serve(
        self, request: web.Request, response: web.StreamResponse, reader: EventReader
    ) -> web.StreamResponse:
        attached = await self._backend.attach(reader)
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
        """Send everything until it is over, and the last words. Raises ConnectionError."""
        sending = asyncio.ensure_future(_send_all(response, reader))
        sending.add_done_callback(_heed)
        try:
            await asyncio.wait((sending, reader.ended), return_when=asyncio.FIRST_COMPLETED)
            if not reader.ended.done():
                await sending
            # Who sends may be waiting for room, and is not cancelled: all who write wait by one future.
            if not await _say(response, await reader.ended, self._closing_within):
                _cut(request)
        finally:
            sending.cancel()


async def _send_all(response: web.StreamResponse, reader: EventReader) -> None:
    await response.write(CONNECTED)
    while text := await reader.take():
        await response.write(text)


def _heed(sending: asyncio.Future[None]) -> None:
    """Look at how it ended, when nobody waits for that any more."""
    if not sending.cancelled():
        sending.exception()


async def _say(response: web.StreamResponse, last_words: bytes, within: Seconds) -> bool:
    """End the answer; return whether what is left was read within so long."""
    try:
        async with asyncio.timeout(within):
            await response.write(last_words)
            await response.write_eof()
    except TimeoutError:
        return False
    return True


def _keep_small(request: web.Request) -> None:
    """Have what is not read wait in the reader's queue, where it is bounded."""
    if request.transport is not None:
        connection: socket.socket = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
