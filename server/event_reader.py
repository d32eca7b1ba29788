"""One reader of ``/events``: the queue of what it was told and has not been sent yet.

The feed adds on its own thread and never waits; the server's loop removes. Each side counts its own bytes
only, so no lock is needed. All readers are told the same objects of bytes, so many slow readers need
little more memory than one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from typing_extensions import override

from messages.event_feed import DetachReader, EventPieces, FeedTelling, comment
from messages.port import Port
from messages.units import Seconds

MOST_WAITING: Final = 4 * 2**20
"""Bytes, about 20,000 events: as many may come at once when all of a large node changes. A reader with more
than that in its queue when the next event comes does not keep up, and is dropped."""
CHUNK: Final = 2**16
"""About how many bytes are sent at once."""

ALIVE: Final = comment("nothing to tell")
SLOW: Final = comment(
    "dropped: you do not keep up with what happens; ask for what there is, and come back"
)


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
