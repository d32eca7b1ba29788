"""``/events``: server-sent events for as long as somebody reads them.

After ``: connected`` a reader gets the present state unless it does without, and then every event, in order,
or a last comment that says why not. What it has not read yet waits in its queue, and nowhere else.

The feed adds to the queue on its own thread and never waits; the server's loop removes. Each side counts its
own bytes only, so no lock is needed. All readers are given the same objects of bytes, so many slow readers
need little more memory than one.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from aiohttp import web
from typing_extensions import override

from messages.event_feed import DetachReader, EventPieces, FeedTelling, comment
from messages.port import Port
from messages.units import Seconds
from server import questions
from server.backend import EndpointBackend
from server.json_answers import NO
from server.questions import Unanswered

MOST_WAITING: Final = 4 * 2**20
"""Bytes, about 20,000 events: as many may come at once when all of a large node changes. A reader with more
than that in its queue when the next event comes does not keep up, and is dropped."""
CHUNK: Final = 2**16
"""About how many bytes are sent at once."""

ALIVE: Final = comment("nothing to tell")
SLOW: Final = comment(
    "dropped: you do not keep up with what happens; ask for what there is, and come back"
)

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


class EventReader(Port[FeedTelling]):
    """The queue between the feed and one connection. Belongs to the asyncio loop that creates it.

    It ends once: by ``end``, or when it is told more than it may hold. ``ended`` has a result then.
    """

    def __init__(self, feed: Port[DetachReader], keep_alive: Seconds) -> None:
        self._feed = feed
        self._keep_alive = keep_alive
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes | Iterator[bytes]] = deque()
        self._told_bytes = 0
        self._taken_bytes = 0
        self._something = asyncio.Event()
        self._is_waking = False
        self._is_over = False
        self.ended: asyncio.Future[bytes] = self._loop.create_future()
        """The last comment to send, once the reader has ended."""

    @override
    def tell(self, message: FeedTelling, /) -> None:
        """Queue what happened. Runs on the feed's thread."""
        if self._is_over:
            # The feed crashed over the first one, or has not handled it yet.
            self._feed.tell(DetachReader(reader=self))
        elif self._told_bytes - self._taken_bytes > MOST_WAITING:
            self._is_over = True
            self._feed.tell(DetachReader(reader=self, was_slow=True))
            self._call_loop(lambda: self._finish(SLOW))
        elif isinstance(message, EventPieces):
            self._queue.append(message.pieces)  # they take no room before they are made
            self._wake()
        else:
            self._queue.append(message.text)
            self._told_bytes += len(message.text)
            self._wake()

    async def take(self) -> bytes:
        """Return what is queued, as soon as there is something; empty at the end.

        Returns the comment ``ALIVE`` if nothing comes for the time of a keep-alive.
        """
        while not (chunk := self._next_chunk()) and not self.ended.done():
            try:
                async with asyncio.timeout(self._keep_alive):
                    await self._something.wait()
            except TimeoutError:
                return ALIVE
        return chunk

    def end(self, last_words: bytes) -> None:
        """End the reader with ``last_words`` as its last comment. May repeat."""
        self._is_over = True
        self._feed.tell(DetachReader(reader=self))
        self._finish(last_words)

    def _next_chunk(self) -> bytes:
        chunk: list[bytes] = []
        size = 0
        while self._queue and size < CHUNK:
            first = self._queue[0]
            if not isinstance(first, bytes):
                if chunk:
                    break
                if piece := next(first, b""):
                    return piece
                self._queue.popleft()
                continue
            chunk.append(first)
            self._queue.popleft()
            size += len(first)
        self._taken_bytes += size
        if not self._queue:
            self._something.clear()
        return b"".join(chunk)

    def _wake(self) -> None:
        # One wake-up for everything that is told until the loop runs it.
        if not self._is_waking:
            self._is_waking = True
            self._call_loop(self._woken)

    def _woken(self) -> None:
        self._is_waking = False  # first: what is told from here on needs another wake-up
        self._something.set()

    def _finish(self, last_words: bytes) -> None:
        self._queue.clear()
        self._something.set()
        if not self.ended.done():
            self.ended.set_result(last_words)

    def _call_loop(self, what: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(what)
        except RuntimeError:  # the loop is closed, and with it the connection
            self._is_over = True


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
        reader = EventReader(
            self._backend.answering[questions.ATTACH], self._backend.timeouts.keep_alive
        )
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
        attached = await self._backend.ask(
            questions.ATTACH,
            reader=reader,
            wants_state=_wants_state(request),
            since=_since(request),
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
    """Retrieve the exception of a task that is not awaited any more, so that asyncio does not log it."""
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
