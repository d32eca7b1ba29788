"""Answers ``kubectl logs``: ``/containerLogs/NAMESPACE/POD/CONTAINER``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiohttp import web

from manifests.times import is_rfc3339
from messages.units import Timestamp
from server.access.asked import Asked
from server.backend import EndpointBackend
from server.control.console import (
    ConsoleError,
    ContainerConsole,
    Instance,
    LogAsked,
    StillRuns,
    still_runs,
)
from server.node.pods import FoundPod, find_pod, logged_instance

UNDECODABLE: Final = '{"message": "Unable to decode query."}'
INVALID: Final = '{"message": "Invalid request."}'
_NO: Final = frozenset({"false", "0"})
_STREAMS: Final = {"All": "", "Stdout": "stdout", "Stderr": "stderr"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogParameters:
    """What is wanted of a log."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    limit: int | None = None
    """Bytes, of time stamps too."""
    since: Timestamp | None = None
    stream: str = ""
    """``stdout`` or ``stderr``; empty for both."""


def options_of(query: Mapping[str, str], now: Timestamp) -> LogParameters:
    """Return what a query asks for.

    Raises HTTPBadRequest for what is no number, HTTPUnprocessableEntity for one that makes no sense.
    """
    seconds, tail = _number(query, "sinceSeconds"), _number(query, "tailLines")
    if tail is None and query.get("tail") != "all":
        tail = _number(query, "tail")
    limit, moment = _number(query, "limitBytes"), _moment(query)
    stream = query.get("stream") or "All"
    is_invalid = (
        (tail is not None and tail < 0)
        or (limit is not None and limit < 1)
        or (seconds is not None and (seconds < 1 or moment is not None))
        or stream not in _STREAMS
    )
    if is_invalid:
        raise web.HTTPUnprocessableEntity(text=INVALID)
    return LogParameters(
        follow=_is_set(query, "follow"),
        previous=_is_set(query, "previous"),
        timestamps=_is_set(query, "timestamps"),
        tail=tail,
        limit=limit,
        since=Timestamp(now - seconds) if seconds is not None else moment,
        stream=_STREAMS[stream],
    )


class LogPages:
    """The logs of containers."""

    def __init__(self, backend: EndpointBackend, console: ContainerConsole) -> None:
        self._backend = backend
        self._console = console

    async def container_logs(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        """Return the log of a container, and with ``follow`` what comes until the instance ends."""
        _, namespace, name, container = asked.segments
        # The first value counts, as for a kubelet.
        options = options_of(dict(reversed(asked.query)), self._backend.system.clock.wall())
        found = await find_pod(self._backend, namespace, name)
        if found is None:
            raise web.HTTPNotFound(text=f'pod "{name}" does not exist')
        instance = logged_instance(found, container, previous=options.previous)
        log = LogAsked(
            pod=found.pod,
            container=instance.container,
            container_id=instance.id,
            attempt=instance.attempt,
            tail=options.tail,
            since=options.since,
            with_times=options.timestamps,
            with_rotated=True,
            stream=options.stream,
        )
        follows = options.follow and instance.is_running
        runs = self._runs(found, instance) if follows else None
        async with aclosing(
            self._console.log(log, runs)
        ) as pieces:  # also for who left between two
            return await _sent(request, pieces, options.limit)

    def _runs(self, found: FoundPod, instance: Instance) -> StillRuns:
        pod = found.pod

        async def runs() -> bool:
            try:
                now = await find_pod(self._backend, pod.namespace, pod.name, pod.uid)
            except web.HTTPServiceUnavailable:
                return True  # nobody knows otherwise
            return now is not None and still_runs(now.document, instance)

        return runs


async def _sent(
    request: web.Request, pieces: AsyncIterator[bytes], limit: int | None
) -> web.StreamResponse:
    """Answer with these pieces, as they come: the head at once, since the API server waits for it."""
    response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
    try:
        first = await anext(pieces, b"")  # what cannot be read is known with the first piece
    except ConsoleError as error:
        raise web.HTTPNotFound(text=str(error)) from None
    await response.prepare(request)
    if request.method == "HEAD":
        return response
    left = limit
    with suppress(ConsoleError):  # the log has gone meanwhile: this is all of it
        async for piece in _chained(first, pieces):
            sent = piece if left is None else piece[:left]
            if sent:
                await response.write(sent)
            if left is not None:
                left -= len(sent)
                if not left:
                    break
    await response.write_eof()
    return response


async def _chained(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in pieces:
        yield piece


def _is_set(query: Mapping[str, str], name: str) -> bool:
    return name in query and query[name] not in _NO


def _number(query: Mapping[str, str], name: str) -> int | None:
    said = query.get(name, "")
    if not said:
        return None
    digits = said.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):  # 64 bits
        raise web.HTTPBadRequest(text=UNDECODABLE)
    return int(said)


def _moment(query: Mapping[str, str]) -> Timestamp | None:
    said = query.get("sinceTime", "")
    if not said:
        return None
    if not is_rfc3339(said):
        raise web.HTTPBadRequest(text=UNDECODABLE)
    return Timestamp(datetime.fromisoformat(said.upper()).timestamp())
