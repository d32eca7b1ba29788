"""The actor that serves HTTP. It does not own the sockets: they outlive it, so no crash loses a port."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from aiohttp import web
from typing_extensions import override

from kernel import Actor, Key
from server.backend import EndpointBackend
from server.control.console import ContainerConsole
from server.endpoints import Endpoints
from server.limits import CONTROLS, ConnectionLimits
from server.serving import ServerLoop, Serving


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingEnded:
    """The asyncio loop ended by itself."""

    error: str


HttpServerMessage: TypeAlias = ServingEnded

HTTP_SERVER: Key[HttpServerMessage] = Key("http-server")


class ServingError(Exception):
    """The endpoints could not be served, or not any longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Listening sockets, bound before any actor starts. Empty for a port that is off."""

    read_only: Sequence[socket.socket] = ()
    healthz: Sequence[socket.socket] = ()
    node: Sequence[socket.socket] = ()
    """Of the TLS port, which another actor serves."""
    control: Sequence[socket.socket] = ()
    """Unix sockets, for root and the agent's own user."""
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    """How many connections they may have."""


class HttpServer(Actor[HttpServerMessage]):
    """Serves the endpoints on sockets that it is given.

    Owns: what serves its sockets on an asyncio loop, which has a thread of its own. Nothing if all sockets
    are off.
    Hears: ``ServingEnded`` from that thread.
    Tells: the event feed when a reader ends. Its handlers ask actors from outside of the tree.
    Fails when: the loop cannot start, or ends by itself.

    During a restart the operating system queues new connections on the sockets, and the next life answers
    them. A connection that was accepted and not answered is cut.
    """

    def __init__(
        self,
        backend: EndpointBackend,
        listeners: Listeners,
        console: ContainerConsole | None = None,
        loop: ServerLoop | None = None,
    ) -> None:
        """Without a ``loop`` of the process each life has one of its own."""
        self._backend = backend
        self._listeners = listeners
        self._console = console
        self._loop = loop

    @override
    def started(self) -> None:
        endpoints = Endpoints(self._backend)
        limits = self._listeners.limits
        served: list[tuple[Callable[[], web.Application], Sequence[socket.socket], int]] = [
            (endpoints.application, self._listeners.read_only, limits.read_only),
            (endpoints.health_application, self._listeners.healthz, limits.healthz),
            (
                partial(endpoints.control_application, self._console),
                self._listeners.control,
                CONTROLS,
            ),
        ]
        if not any(sockets for _, sockets, _ in served):
            return
        me = self.me
        serving = Serving(lambda error: me.tell(ServingEnded(error=error)), self._loop)
        self.resources.callback(serving.close)
        for application, sockets, most in served:
            serving.open(application(), sockets, most)

    @override
    def receive(self, message: HttpServerMessage, /) -> None:
        raise ServingError(message.error)
