"""Makes streams of ``exec``, ``attach`` and ``port-forward``: the runtime opens them, the door copies."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from aiohttp import hdrs, web

from messages.access import Identity
from messages.container_runtime import (
    OpenAttach,
    OpenExec,
    OpenPortForward,
    OpenStream,
    RuntimeFailure,
    RuntimeFailureKind,
    StreamPlace,
    Streams,
)
from messages.pods import Pod
from messages.streams import ClientStream
from messages.units import Seconds
from server.access.asked import Asked
from server.backend import EndpointBackend
from server.door.messages import MOST_STREAMS
from server.node.clients import NodeConnection
from server.node.pods import find_pod, running_instance
from server.node.serving import NodeServing
from server.streams.dialling import SWITCHING, RuntimeAnswerError, ask_runtime
from server.streams.upgrades import (
    SPDY,
    WEBSOCKET,
    Upgrade,
    UpgradeError,
    head_for,
    place_of,
    ports_asked,
    streams_asked,
    upgrade_of,
)

T = TypeVar("T")

AT_ONCE: Final = 32
"""Streams that are being set up at a time: each may start a process in a container."""
WAITING: Final = 16
"""Requests that may wait for that."""
NOT_ALONE: Final = "an upgrade is the first request of its connection, and nothing follows its head"
COMMAND_SHOWN: Final = 128
"""Characters of a command in the log."""

OpensStream: TypeAlias = Callable[[OpenStream], Awaitable[StreamPlace | RuntimeFailure]]
"""Asks whoever runs the containers where a stream is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A stream that is to be made."""

    question: OpenStream
    pod: Pod
    container: str = ""
    command: tuple[str, ...] = ()


class CommandPages:
    """Streams to containers."""

    def __init__(self, backend: EndpointBackend, opens: OpensStream, serving: NodeServing) -> None:
        self._backend = backend
        self._opens = opens
        self._serving = serving
        self._under_way = 0
        self._room = asyncio.Semaphore(AT_ONCE)

    async def exec(
        self, request: web.Request, asked: Asked, identity: Identity
    ) -> web.StreamResponse:
        """Run a command in a container, which the client talks to."""
        upgrade, query = _upgrade(request), _values(asked)
        streams, command = _checked(lambda: streams_asked(query)), tuple(query["command"])
        if not command or not command[0]:
            raise web.HTTPBadRequest(text="you must specify a command")
        pod, container, container_id = await self._container(asked)
        question = OpenExec(id=container_id, command=command, streams=streams)
        wanted = _Wanted(question=question, pod=pod, container=container, command=command)
        return await self._opened(request, identity, upgrade, wanted)

    async def attach(
        self, request: web.Request, asked: Asked, identity: Identity
    ) -> web.StreamResponse:
        """Let the client talk to the main process of a container."""
        upgrade, query = _upgrade(request), _values(asked)
        streams: Streams = _checked(lambda: streams_asked(query))
        pod, container, container_id = await self._container(asked)
        question = OpenAttach(id=container_id, streams=streams)
        return await self._opened(
            request, identity, upgrade, _Wanted(question=question, pod=pod, container=container)
        )

    async def port_forward(
        self, request: web.Request, asked: Asked, identity: Identity
    ) -> web.StreamResponse:
        """Let the client reach ports of a pod."""
        upgrade = _upgrade(request)
        ports = _checked(lambda: ports_asked(_values(asked), upgrade.protocol))
        _, namespace, name, *uid = asked.segments
        found = await find_pod(self._backend, namespace, name, *uid)
        if found is None:
            raise web.HTTPNotFound(text="pod not found")
        question = OpenPortForward(uid=found.pod.uid, ports=ports)
        return await self._opened(
            request, identity, upgrade, _Wanted(question=question, pod=found.pod)
        )

    async def _container(self, asked: Asked) -> tuple[Pod, str, str]:
        """Return the pod, the container's name and the id of the instance that runs."""
        _, namespace, name, *uid, container = asked.segments
        found = await find_pod(self._backend, namespace, name, *uid)
        if found is None:
            raise web.HTTPNotFound(text="pod does not exist")
        return found.pod, container, running_instance(found, container).id

    async def _opened(
        self, request: web.Request, identity: Identity, upgrade: Upgrade, wanted: _Wanted
    ) -> web.StreamResponse:
        """Have the stream made, a few at a time."""
        if len(self._serving.streams()) >= MOST_STREAMS:
            # The door would cut it after its command has begun.
            raise web.HTTPTooManyRequests(
                text="too many streams are open", headers={hdrs.RETRY_AFTER: "5"}
            )
        if self._under_way >= AT_ONCE + WAITING:
            raise web.HTTPTooManyRequests(
                text="too many streams are being set up", headers={hdrs.RETRY_AFTER: "1"}
            )
        self._under_way += 1
        try:
            async with self._room:
                return await self._dialled(request, identity, upgrade, wanted)
        finally:
            self._under_way -= 1

    async def _dialled(
        self, request: web.Request, identity: Identity, upgrade: Upgrade, wanted: _Wanted
    ) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, NodeConnection)  # noqa: S101  # no other one is served
        _check_silence(connection)
        answer = await self._opens(wanted.question)
        if isinstance(answer, RuntimeFailure):
            raise _failed(answer)
        try:
            place = place_of(answer.url)
            got = await ask_runtime(place, head_for(upgrade, place))
        except (UpgradeError, RuntimeAnswerError) as error:
            raise web.HTTPBadGateway(text=str(error)) from None
        if got.status != SWITCHING:
            got.connection.close()
            return web.Response(status=got.status, body=got.received, headers=got.headers)
        try:
            _check_silence(connection)
        except web.HTTPBadRequest:
            got.connection.close()
            raise
        stream = ClientStream(
            kind=asked_kind(wanted.question),
            user=identity.user,
            pod=wanted.pod.display_name,
            uid=wanted.pod.uid,
            container=wanted.container,
            command=shown_command(wanted.command),
            since=Seconds(asyncio.get_running_loop().time()),
        )
        return self._serving.switch(request, got.connection, got.received, stream)


def asked_kind(question: OpenStream) -> str:
    """Return the word that people have for a stream."""
    match question:
        case OpenExec():
            return "exec"
        case OpenAttach():
            return "attach"
        case OpenPortForward():
            return "port-forward"


def shown_command(command: tuple[str, ...]) -> str:
    """Return a command for the log: its beginning, and nothing that a terminal would obey."""
    text = " ".join(command)[:COMMAND_SHOWN]
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def _upgrade(request: web.Request) -> Upgrade:
    try:
        return upgrade_of(request.method, request.headers.items())
    except UpgradeError as error:
        offered = {hdrs.UPGRADE: f"{SPDY}, {WEBSOCKET}"}
        raise web.HTTPBadRequest(text=str(error), headers=offered) from None


def _check_silence(connection: NodeConnection) -> None:
    if not connection.is_silent():
        raise web.HTTPBadRequest(text=NOT_ALONE)


def _values(asked: Asked) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name, value in asked.query:
        found[name].append(value)
    return found


def _checked(read: Callable[[], T]) -> T:
    try:
        return read()
    except UpgradeError as error:
        raise web.HTTPBadRequest(text=str(error)) from None


def _failed(failure: RuntimeFailure) -> web.HTTPException:
    match failure.kind:
        case RuntimeFailureKind.NOT_FOUND:
            return web.HTTPNotFound(text=failure.message)
        case RuntimeFailureKind.UNSUPPORTED:
            return web.HTTPNotImplemented(text=failure.message)
        case RuntimeFailureKind.REFUSED:
            return web.HTTPInternalServerError(text=failure.message)
        case _:
            return web.HTTPServiceUnavailable(text=failure.message)
