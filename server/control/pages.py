"""The handlers of the control socket: logs of containers, and commands in them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

from aiohttp import web

from messages.pods import Pod
from messages.statuses import StatusesDescribed
from messages.units import Seconds, Timestamp
from server import questions
from server.backend import EndpointBackend
from server.control.console import (
    ConsoleError,
    ContainerConsole,
    Instance,
    LogAsked,
    StillRuns,
    instance_of,
    still_runs,
)
from server.json_answers import json_answer
from server.questions import Unanswered
from stores.statuses.rendering import with_status

LONGEST_COMMAND: Final = Seconds(600.0)
"""A command in a container may take so long, if that is asked for."""
COMMAND_WITHIN: Final = Seconds(30.0)
MOST_OF_A_COMMAND: Final = 2**16
"""Bytes of a request for a command. The kernel takes no longer arguments by default."""
NOTE: Final = "Actorlet-Note"
"""The header with what people should know of a log."""
OF_POD_BEFORE: Final = (
    "this is of the pod that had this name before: a changed manifest has replaced it"
)
_YES: Final = frozenset({"1", "true"})


class ControlPages:
    """What can be asked of containers."""

    def __init__(self, backend: EndpointBackend, console: ContainerConsole) -> None:
        self._backend = backend
        self._console = console

    def routes(self) -> dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]:
        """Return the handlers of GET by path."""
        return {"/control/pods/{uid}/log": self.log}

    def actions(self) -> dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]:
        """Return the handlers of POST by path."""
        return {"/control/pods/{uid}/exec": self.run}

    async def log(self, request: web.Request) -> web.StreamResponse:
        """Return the log of a container, and with ``follow`` what comes until the container ends."""
        query = request.query
        pod, instance = await self._asked_for(request, previous=_is_set(query, "previous"))
        asked = LogAsked(
            pod=pod,
            container=instance.container,
            container_id=instance.id,
            attempt=instance.attempt,
            is_of_pod_before=instance.is_of_pod_before,
            tail=_whole_number(query, "tail"),
            since=_moment(query, "since"),
            with_times=_is_set(query, "timestamps"),
        )
        follows = _is_set(query, "follow") and instance.is_running
        while_it_runs = self._while_it_runs(pod, instance) if follows else None
        async with aclosing(self._console.log(asked, while_it_runs)) as lines:
            return await self._stream(request, asked, lines)

    async def _stream(
        self, request: web.Request, asked: LogAsked, lines: AsyncIterator[bytes]
    ) -> web.StreamResponse:
        note = {NOTE: OF_POD_BEFORE} if asked.is_of_pod_before else {}
        response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8", **note})
        response.force_close()
        try:
            # What cannot be done is known with the first lines.
            first = await anext(lines, b"")
            await response.prepare(request)
            if first:
                await response.write(first)
            async for piece in lines:
                if piece:
                    await response.write(piece)
            await response.write_eof()
        except ConsoleError as error:
            if response.prepared:
                raise ConnectionError(str(error)) from None
            raise web.HTTPConflict(text=str(error)) from None
        return response

    async def run(self, request: web.Request) -> web.Response:
        """Run a command in a container, and return its exit code and what it wrote."""
        command, within = await _command_asked(request)
        _, instance = await self._asked_for(request, previous=False)
        if not instance.is_running:
            raise web.HTTPConflict(text=f"container {instance.container} does not run")
        try:
            ended = await self._console.run(instance.id, command, within)
        except ConsoleError as error:
            raise web.HTTPConflict(text=str(error)) from None
        answer = {"exitCode": ended.exit_code, "output": ended.output}
        return await json_answer(
            request, {**answer, **({"note": ended.note} if ended.note else {})}
        )

    async def _asked_for(self, request: web.Request, *, previous: bool) -> tuple[Pod, Instance]:
        pod, document = await self._pod(request.match_info["uid"])
        try:
            found = instance_of(document, request.query.get("container", ""), previous=previous)
        except ConsoleError as error:
            raise web.HTTPConflict(text=str(error)) from None
        return pod, found

    async def _pod(self, uid: str) -> tuple[Pod, Mapping[str, Any]]:
        pods = await self._backend.ask(questions.PODS)
        statuses = await self._backend.ask(questions.STATUSES)
        for answer in (pods, statuses):
            if isinstance(answer, Unanswered):
                raise web.HTTPServiceUnavailable(text=f"{answer.name}: {answer.reason}")
        assert not isinstance(pods, Unanswered)  # noqa: S101  # was checked
        pod = next((each for each in pods.pods if each.uid == uid), None)
        if pod is None:
            raise web.HTTPNotFound(text="there is no such pod")
        known = statuses.statuses if isinstance(statuses, StatusesDescribed) else {}
        return pod, with_status(pod, known.get(pod.uid))

    def _while_it_runs(self, pod: Pod, instance: Instance) -> StillRuns:
        async def runs() -> bool:
            try:
                _, document = await self._pod(pod.uid)
            except web.HTTPServiceUnavailable:
                return True  # nobody knows otherwise
            except web.HTTPNotFound:
                return False
            return still_runs(document, instance)

        return runs


async def _command_asked(request: web.Request) -> tuple[tuple[str, ...], Seconds]:
    """Return the command of a request, and how long it may take. Raises ``HTTPBadRequest``."""
    if (request.content_length or 0) > MOST_OF_A_COMMAND:
        raise web.HTTPBadRequest(text="the command is too long")
    try:
        asked = json.loads(await request.content.read(MOST_OF_A_COMMAND))
    except (ValueError, RecursionError):
        asked = None
    command = asked.get("command") if isinstance(asked, dict) else None
    words = command if isinstance(command, list) else []
    if not words or not all(isinstance(each, str) and "\0" not in each for each in words):
        raise web.HTTPBadRequest(text="command has to be a list of words")
    within = asked.get("timeoutSeconds", COMMAND_WITHIN)
    if (
        isinstance(within, bool)
        or not isinstance(within, int | float)
        or not 0 < within <= LONGEST_COMMAND
    ):
        raise web.HTTPBadRequest(text=f"timeoutSeconds has to be at most {LONGEST_COMMAND:g}")
    return tuple(words), Seconds(float(within))


def _is_set(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "").lower() in _YES


def _whole_number(query: Mapping[str, str], name: str) -> int | None:
    said = query.get(name, "")
    if not said:
        return None
    if not (said.isascii() and said.isdigit() and len(said) <= 9):
        raise web.HTTPBadRequest(text=f"{name} has to be a whole number")
    return int(said)


def _moment(query: Mapping[str, str], name: str) -> Timestamp | None:
    """Return a moment that is given in seconds since 1970."""
    said = query.get(name, "")
    if not said:
        return None
    try:
        found = float(said)
    except ValueError:
        found = -1.0
    if not 0 <= found < 2**40:
        raise web.HTTPBadRequest(text=f"{name} has to be seconds since 1970")
    return Timestamp(found)
