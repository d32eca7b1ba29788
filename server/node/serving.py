"""Serves the TLS port on an asyncio loop, controlled from another thread."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from aiohttp import web
from typing_extensions import override

from messages.pods import PodUid
from messages.streams import ClientStream, StreamsDescribed
from server.door.process import TlsContext
from server.node.clients import Clients, NodeConnection, Switched
from server.node.counts import ServedCounts
from server.serving import (
    GRACE,
    OPTIONS,
    SETUP_TIMEOUT,
    Served,
    ServerLoop,
    abort,
    say_who_answers,
)


class ServingListener(Protocol):
    """Who hears of what happens at the TLS port."""

    def loop_ended(self, error: str) -> None:
        """Hear that the loop has ended by itself."""
        ...

    def door_ended(self) -> None:
        """Hear that the process of the door has ended, or could not be started."""
        ...

    def stream_began(self) -> None:
        """Hear that there is one stream more."""
        ...


class NodeServing(Served):
    """Serves one application on the TLS port, from ``open`` until ``close``.

    The door is started with the first connection: a node that nobody asks does without the process.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        counts: ServedCounts,
        listener: ServingListener,
        loop: ServerLoop | None = None,
    ) -> None:
        """Without a ``loop`` it has one of its own. ``listener`` is told on the loop's thread."""
        self._sockets = sockets
        self.counts = counts
        self._listener = listener
        self._has_own = loop is None
        self._loop = loop or ServerLoop()
        self._runner: web.AppRunner | None = None
        self._context: TlsContext | None = None
        self._clients: Clients | None = None
        self._waits = False
        self._is_closing = False

    # --- for the actor, on its thread ------------------------------------------------------------------

    def open(self, application: web.Application) -> None:
        """Be ready. Nothing is accepted before there is a context. Raises RuntimeError, TimeoutError."""
        self._loop.begin(self._open(application)).result(SETUP_TIMEOUT)

    def use(self, context: TlsContext) -> None:
        """Have connections from now on speak TLS so. Raises RuntimeError if the loop has just ended."""
        self._loop.begin(self._use(context))

    def open_door(self) -> None:
        """Have the next connection start the door again. Raises RuntimeError if the loop has just ended."""
        self._loop.begin(self._wait_for_client())

    def keep_streams_of(self, pods: Collection[PodUid]) -> None:
        """Cut the streams of all other pods. Raises RuntimeError if the loop has just ended."""
        self._loop.begin(self._keep_streams_of(pods))

    def described(self) -> StreamsDescribed:
        """Return what is served, and what was."""
        clients, counts = self._clients, self.counts
        return StreamsDescribed(
            streams=self.streams(),
            door=clients.door if clients is not None else None,
            opened=counts.opened,
            carried=counts.carried,
            refused=counts.refused,
            requests=counts.requests,
            in_flight=counts.in_flight,
        )

    def close(self) -> None:
        """Stop serving. Streams go on; the given sockets stay open, and queue connections."""
        self._is_closing = True
        with suppress(RuntimeError, TimeoutError):  # the loop has just ended by itself, or hangs
            self._loop.begin(self._close()).result(SETUP_TIMEOUT)
        if self._has_own:
            self._loop.close()

    # --- for handlers, on the loop ---------------------------------------------------------------------

    def switch(
        self, request: web.Request, other: socket.socket, first: bytes, stream: ClientStream
    ) -> Switched:
        """Make the connection of a request a stream between its client and ``other``.

        ``first`` are the first bytes to the client. Raises ConnectionError if the door has ended.
        """
        connection = request.protocol
        assert isinstance(connection, NodeConnection)  # noqa: S101  # no other one is served
        if self._clients is None or connection.clients is not self._clients:
            other.close()
            raise ConnectionError("its door has ended")
        switched = self._clients.switch(connection, other, first, stream)
        self._listener.stream_began()
        return switched

    def streams(self) -> tuple[ClientStream, ...]:
        """Return the streams that there are. Those of doors before this one are nobody's.

        Any thread may ask.
        """
        clients = self._clients
        return clients.streams() if clients is not None else ()

    # --- the loop --------------------------------------------------------------------------------------

    async def _open(self, application: web.Application) -> None:
        self._loop.add(self)
        application.on_response_prepare.append(say_who_answers)
        self._runner = web.AppRunner(
            application, shutdown_timeout=GRACE, handler_cancellation=True, **OPTIONS
        )
        await self._runner.setup()

    async def _use(self, context: TlsContext) -> None:
        self._context = context
        if self._clients is not None:
            self._hand_over(context)
        else:
            await self._wait_for_client()

    async def _wait_for_client(self) -> None:
        if self._context is None or self._clients is not None or self._waits or self._is_closing:
            return
        self._waits = True
        for each in self._sockets:
            asyncio.get_running_loop().add_reader(each.fileno(), self._start_door)

    def _start_door(self) -> None:
        """Start the door: there is a client, who waits until it accepts."""
        self._stop_waiting()
        assert self._context is not None  # noqa: S101  # else nothing was waited for
        assert self._runner is not None  # noqa: S101  # it is open
        assert self._runner.server is not None  # noqa: S101  # there is one after setup
        try:
            self._clients = Clients(
                self._sockets,
                self._runner.server,
                self.counts,
                self._note_refused,
                self._door_has_ended,
            )
        except OSError as error:
            self._loop.say("the TLS port has no door", reason=error.strerror)
            self._listener.door_ended()
        else:
            self._hand_over(self._context)

    def _hand_over(self, context: TlsContext) -> None:
        """Have the door speak TLS so. Without memory for that it goes on as before."""
        assert self._clients is not None  # noqa: S101  # there is a door
        try:
            self._clients.use(context)
        except OSError as error:
            self._loop.say("the door does not get its certificate", reason=error.strerror)

    def _note_refused(self, reasons: Mapping[str, int]) -> None:
        """Log it, now and then: anybody on the network can cause it."""
        self.counts.note_refused(reasons)
        told = {reason.replace(" ", "_"): count for reason, count in reasons.items()}
        self._loop.say("connections are refused at the TLS port", **told)

    def _door_has_ended(self) -> None:
        self._clients = None
        self._listener.door_ended()

    def _stop_waiting(self) -> None:
        if self._waits:
            self._waits = False
            for each in self._sockets:
                asyncio.get_running_loop().remove_reader(each.fileno())

    async def _keep_streams_of(self, pods: Collection[PodUid]) -> None:
        if self._clients is not None:
            self._clients.cut_all(lambda stream: stream.uid not in pods)

    async def _close(self) -> None:
        self._loop.discard(self)
        self._stop_waiting()
        if self._clients is not None:
            self._clients.close()
            self._clients = None
        if self._runner is not None:
            await self._runner.cleanup()

    @override
    def cut(self) -> None:
        if self._clients is not None:
            self._clients.close()
            self._clients = None
        if self._runner is not None and self._runner.server is not None:
            for connection in self._runner.server.connections:
                abort(connection)

    @override
    def ended(self, error: str) -> None:
        if not self._is_closing:
            self._listener.loop_ended(error)
