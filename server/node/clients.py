"""The clients of one door: connections that it hands over, and streams that they became."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import structlog
from aiohttp import web
from typing_extensions import override

from messages.access import Identity
from messages.streams import ClientStream
from messages.units import Seconds
from server.access.identity import of_certificate
from server.door.process import DoorListener, DoorProcess, TlsContext
from server.node.counts import ServedCounts
from server.serving import OPTIONS, ServedConnection, abort

HEAD_WITHIN: Final = Seconds(10.0)
"""How long the first request of a connection may take to come."""
_END_OF_HEAD: Final = b"\r\n\r\n"

_log = structlog.get_logger("node-server")


class FirstHead:
    """Notes whether a connection has had the head of one request, and nothing behind it."""

    def __init__(self) -> None:
        self.is_alone = False
        """Whether the head is whole, and all that came."""
        self._has_ended = False
        self._last = b""
        """Where its end may have begun."""

    def takes(self, data: bytes) -> None:
        """Note what came, in whatever pieces."""
        _, end, behind = (self._last + data).partition(_END_OF_HEAD)
        self.is_alone = bool(end) and not behind and not self._has_ended
        self._has_ended = self._has_ended or bool(end)
        self._last = (self._last + data)[1 - len(_END_OF_HEAD) :]


class NodeConnection(ServedConnection):
    """A connection of a client. What is read here was decrypted by the door."""

    __slots__ = (
        "_head",
        "_head_timer",
        "clients",
        "identity",
        "number",
        "peer",
    )

    def __init__(
        self,
        server: web.Server,
        *,
        number: int,
        peer: str,
        identity: Identity | None,
        clients: Clients,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(server, loop=loop, **OPTIONS)
        self.number = number
        """Of the connection, at the door."""
        self.clients = clients
        """Those of the door that it came by."""
        self.peer = peer
        """The address of the client."""
        self.identity = identity
        """Whom the certificate of the client is for. None if it has none."""
        self._head_timer: asyncio.TimerHandle | None = None
        self._head = FirstHead()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._head_timer = asyncio.get_running_loop().call_later(HEAD_WITHIN, abort, self)

    @override
    def connection_lost(self, exc: BaseException | None) -> None:
        self.head_came()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        self._head.takes(data)
        super().data_received(data)

    def is_silent(self) -> bool:
        """Return whether the client has sent the head of one request, and nothing behind it."""
        return self._head.is_alone

    def head_came(self) -> None:
        """Note that there is a whole request."""
        if self._head_timer is not None:
            self._head_timer.cancel()


class Switched(web.StreamResponse):
    """What a handler returns whose connection became a stream: nothing is written to it any more."""

    def __init__(self) -> None:
        super().__init__()
        self.force_close()

    @override
    async def prepare(self, request: web.BaseRequest) -> None:
        del request

    @override
    async def write_eof(self, data: bytes = b"") -> None:
        del data


class Clients(DoorListener):
    """Those of one door, from its start until it ends or is closed. On an asyncio loop."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        server: web.Server,
        counts: ServedCounts,
        refused: Callable[[Mapping[str, int]], None],
        gone: Callable[[], None],
    ) -> None:
        """Start the door. ``refused`` hears whom it refuses, ``gone`` that it has ended. Raises OSError."""
        self._server = server
        self._counts = counts
        self._refused = refused
        self._gone = gone
        self._adopting: set[asyncio.Task[None]] = set()
        self._streams: Mapping[int, ClientStream] = {}
        """By number. Replaced whole: other threads read it."""
        self._door = DoorProcess(sockets, self)
        _log.info("the TLS port is served", process=self._door.pid)

    @property
    def door(self) -> int:
        """The process of the door."""
        return self._door.pid

    def use(self, context: TlsContext) -> None:
        """Have connections from now on speak TLS so. Raises OSError."""
        self._door.use(context)

    def switch(
        self, connection: NodeConnection, other: socket.socket, first: bytes, stream: ClientStream
    ) -> Switched:
        """Make a connection a stream between its client and ``other``, which belongs to the door then.

        ``first`` are the first bytes to the client.
        """
        self._streams = {**self._streams, connection.number: stream}
        self._counts.note_opened(stream)
        self._door.switch(connection.number, other.detach(), first)
        return Switched()

    def streams(self) -> tuple[ClientStream, ...]:
        """Return the streams that there are, the oldest first. Any thread may ask."""
        return tuple(self._streams.values())

    def cut_all(self, is_meant: Callable[[ClientStream], bool]) -> None:
        """Cut the streams that are meant. Their ends are heard of as those of others are."""
        for number, stream in self._streams.items():
            if is_meant(stream):
                self._door.cut(number)

    def close(self) -> None:
        """Let go of the door. Streams go on, and nobody hears of them any more."""
        for task in self._adopting:
            task.cancel()
        self._door.close()

    # --- what the door tells ---------------------------------------------------------------------------

    @override
    def opened(self, number: int, connection: socket.socket, told: dict[str, Any]) -> None:
        task = asyncio.get_running_loop().create_task(self._adopt(number, connection, told))
        self._adopting.add(task)
        task.add_done_callback(self._adopting.discard)

    async def _adopt(self, number: int, connection: socket.socket, told: dict[str, Any]) -> None:
        loop, identity = asyncio.get_running_loop(), of_certificate(told.get("subject", ()))

        def protocol() -> NodeConnection:
            return NodeConnection(
                self._server,
                number=number,
                peer=told["peer"],
                identity=identity,
                clients=self,
                loop=loop,
            )

        try:
            await loop.connect_accepted_socket(protocol, connection)
        except BaseException:
            connection.close()
            raise

    @override
    def moved(self, streams: dict[int, tuple[int, int]]) -> None:
        moved = {
            number: replace(self._streams[number], up=up, down=down)
            for number, (up, down) in streams.items()
            if number in self._streams
        }
        self._streams = {**self._streams, **moved}

    @override
    def ended(self, number: int, up: int, down: int) -> None:
        stream = self._streams.get(number)
        if stream is None:
            return
        self._streams = {each: one for each, one in self._streams.items() if each != number}
        self._counts.note_ended(replace(stream, up=up, down=down))
        _log.info(
            "a stream has ended",
            kind=stream.kind,
            user=stream.user,
            pod=stream.pod,
            container=stream.container,
            command=stream.command,
            seconds=round(asyncio.get_running_loop().time() - stream.since, 1),
            bytes_in=up,
            bytes_out=down,
        )

    @override
    def refused(self, reasons: dict[str, int]) -> None:
        self._refused(reasons)

    @override
    def gone(self) -> None:
        self.close()
        for number, stream in tuple(self._streams.items()):
            self.ended(number, stream.up, stream.down)
        self._gone()
