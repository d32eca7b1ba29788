"""One connection of the HTTP/2 server of tests, and the exchanges on it.

Everything here runs on the server's loop. What a handler does to a client who has left raises
``ClientGoneError``, which ends the handler quietly.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
from h2.errors import ErrorCodes
from hyperframe.frame import GoAwayFrame
from typing_extensions import override

CONTENT_TYPE = "content-type"


class ClientGoneError(Exception):
    """The client reset the stream or left."""


class Exchange:
    """One request, and how to answer it."""

    def __init__(self, connection: Connection, stream: int, headers: Mapping[str, str]) -> None:
        target = urlsplit(headers[":path"])
        self.method = headers[":method"]
        self.path = unquote(target.path)
        self.query: dict[str, str] = dict(parse_qsl(target.query, keep_blank_values=True))
        self.headers = {name: value for name, value in headers.items() if name[0] != ":"}
        self.body = b""
        self.at = time.monotonic()
        """When the request arrived."""
        self.connection = connection
        self.stream = stream
        self.is_started = False
        """The head of an answer is sent whose body comes later: a stream is open."""
        self._closed = asyncio.Event()

    @property
    def client_common_name(self) -> str:
        """The name in the client's certificate; empty when it showed none."""
        return self.connection.client_common_name

    @property
    def json(self) -> Any:
        """The body as a document."""
        return json.loads(self.body)

    async def respond(
        self, status: int, body: bytes | object = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer as a whole. A body that is not bytes is sent as JSON."""
        given = dict(headers or {})
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
            given.setdefault(CONTENT_TYPE, "application/json")
        self._send_head(status, {**given, "content-length": str(len(body))})
        await self.send(body)
        await self.finish()

    async def start(self, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Send the head of an answer."""
        self._send_head(status, headers or {})
        self.is_started = True
        self.connection.note_change()

    async def send(self, data: bytes) -> None:
        """Send some of the body, as fast as the client lets it."""
        rest = memoryview(data)
        while rest:
            size = await self._window()
            self.connection.h2.send_data(self.stream, bytes(rest[:size]))
            self.connection.flush()
            rest = rest[size:]

    async def finish(self) -> None:
        """End the answer."""
        self._check()
        self.connection.h2.end_stream(self.stream)
        self.connection.flush()
        self.connection.forget(self.stream)

    async def reset(self, error_code: int = ErrorCodes.INTERNAL_ERROR) -> None:
        """End the stream with an error."""
        self._check()
        self.connection.h2.reset_stream(self.stream, error_code)
        self.connection.flush()
        self.connection.forget(self.stream)

    async def cut(self) -> None:
        """Cut the whole connection, with all that is on it (TCP RST)."""
        self.connection.cut()

    async def closed(self) -> None:
        """Return once the client has reset the stream or left."""
        await self._closed.wait()

    def close(self) -> None:
        """Note that the stream is no more."""
        self._closed.set()
        self.connection.turn()

    def _send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self._check()
        self.connection.h2.send_headers(self.stream, [(":status", str(status)), *headers.items()])
        self.connection.flush()

    async def _window(self) -> int:
        """Wait until something may be sent; return how much."""
        while True:
            self._check()
            conversation = self.connection.h2
            size = conversation.local_flow_control_window(self.stream)
            if size > 0 and self.connection.writable:
                return min(size, conversation.max_outbound_frame_size)
            await self.connection.turned()

    def _check(self) -> None:
        if self._closed.is_set():
            raise ClientGoneError


class Connection(asyncio.Protocol):
    """One client. ``on_exchange`` gets every complete request, ``on_change`` what is counted."""

    def __init__(
        self,
        most_streams: int,
        on_exchange: Callable[[Exchange], None],
        on_change: Callable[[Connection], None],
    ) -> None:
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        limits = {
            h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: most_streams,
            h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 65_535,
            h2.settings.SettingCodes.MAX_HEADER_LIST_SIZE: 65_536,
        }
        self.h2.local_settings = h2.settings.Settings(client=False, initial_values=limits)
        self.exchanges: dict[int, Exchange] = {}
        self.client_common_name = ""
        self.writable = True
        self.is_open = False
        self.gone = asyncio.Event()
        self._frozen = False
        self._transport: asyncio.Transport | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._on_exchange = on_exchange
        self._on_change = on_change

    # What asyncio says.

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.client_common_name = _common_name(transport.get_extra_info("ssl_object"))
        self.is_open = True
        self.h2.initiate_connection()
        self.flush()
        self._on_change(self)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self.gone.set()
        for stream in tuple(self.exchanges):
            self.forget(stream)
        self._on_change(self)

    @override
    def pause_writing(self) -> None:
        self.writable = False

    @override
    def resume_writing(self) -> None:
        self.writable = True
        self.turn()

    @override
    def data_received(self, data: bytes) -> None:
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.flush()
            self.cut()
            return
        for event in events:
            self._handle(event)
        self.flush()

    # What exchanges and the server do.

    def flush(self) -> None:
        """Write what waits to be written."""
        self._write(self.h2.data_to_send() or b"")

    def forget(self, stream: int) -> None:
        """Take a stream that has ended from the books."""
        exchange = self.exchanges.pop(stream, None)
        if exchange is not None:
            exchange.close()
            self.note_change()

    def note_change(self) -> None:
        """Tell the server that something is to be counted anew."""
        self._on_change(self)

    def cut(self) -> None:
        """Cut the connection with a RST."""
        assert self._transport is not None
        sock: socket.socket | None = self._transport.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def freeze(self) -> None:
        """Read and write nothing from here on; the socket stays open."""
        assert self._transport is not None
        self._frozen = True
        self._transport.pause_reading()

    def goaway(self, *, last: int | None = None) -> None:
        """Ask the client to open no more streams here; those that are open live on.

        Streams after ``last`` are said to be ignored: by default there are none such.
        """
        # By hand: h2 takes a connection for closed once it has sent this.
        last = self.h2.highest_inbound_stream_id if last is None else last
        frame = GoAwayFrame(0, last_stream_id=last)
        self._write(frame.serialize())

    def turn(self) -> None:
        """Wake those who wait until they may send."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def turned(self) -> None:
        """Return after the next change to what may be sent."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def _write(self, data: bytes) -> None:
        transport = self._transport
        if data and transport is not None and not (self._frozen or transport.is_closing()):
            transport.write(data)

    def _handle(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RequestReceived():
                headers = cast("dict[str, str]", dict(event.headers or ()))
                self.exchanges[event.stream_id] = Exchange(self, event.stream_id, headers)
                self._on_change(self)
            case h2.events.DataReceived():
                self._take(event)
            case h2.events.StreamEnded():
                exchange = self.exchanges.get(event.stream_id)
                if exchange is not None:
                    self._on_exchange(exchange)
            case h2.events.StreamReset():
                self.forget(event.stream_id)
            case h2.events.WindowUpdated() | h2.events.RemoteSettingsChanged():
                self.turn()
            case h2.events.ConnectionTerminated() if self._transport is not None:
                self._transport.close()
            case _:
                pass

    def _take(self, event: h2.events.DataReceived) -> None:
        exchange = self.exchanges.get(event.stream_id)
        if exchange is not None:
            exchange.body += event.data or b""
        self.h2.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)


def _common_name(tls: ssl.SSLObject | None) -> str:
    certificate = tls.getpeercert() if tls is not None else None
    subject: Any = (certificate or {}).get("subject", ())
    return next((value for ((name, value),) in subject if name == "commonName"), "")
