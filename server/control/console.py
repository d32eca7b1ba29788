"""What people may do with a container, which instance they mean, and which user of the machine asks.

``agent.endpoints`` does it. The kernel names the user at the other side of a Unix socket, so it cannot be
forged.
"""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from aiohttp import web
from aiohttp.typedefs import Middleware

from messages.pods import Pod
from messages.units import Seconds, Timestamp

_CREDENTIALS: Final = struct.Struct("iII")
"""``struct ucred``: process, user, group. Users and groups are unsigned."""
ROOT: Final = 0


class PeerUser(NamedTuple):
    """The process that made a connection, and its user at that moment."""

    pid: int
    uid: int


def peer_of(connection: socket.socket) -> PeerUser | None:
    """Return who made a connection; None for a connection that is not by a Unix socket."""
    if connection.family != socket.AF_UNIX:
        return None
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(told)
    return PeerUser(pid=pid, uid=uid)


def allowed_users() -> frozenset[int]:
    """Return whose requests are answered: root's, and those of the agent's own user."""
    return frozenset({ROOT, os.geteuid()})


def only_users(allowed: Collection[int]) -> Middleware:
    """Return what refuses requests of others, whatever the mode of the socket's file has become."""

    @web.middleware
    async def refuse_others(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        transport = request.transport
        peer = peer_of(transport.get_extra_info("socket")) if transport is not None else None
        if peer is None or peer.uid not in allowed:
            raise web.HTTPForbidden(text="this socket is for root and the agent's own user")
        return await handler(request)

    return refuse_others


_NO_SUCH_PROGRAM: Final = re.compile(
    r"executable file .*not found|no such file or directory", re.IGNORECASE
)
_NO_PROGRAM: Final = re.compile(
    r"permission denied|is a directory|exec format error", re.IGNORECASE
)
_OF_THE_COMMAND: Final = re.compile(
    r".*(?:unable to start container process|starting container process caused|crun): "
    r"(?=exec\b|executable|open executable)",
    re.DOTALL,
)
"""What runc and crun say before a cause that is the command: they came to start it."""

StillRuns = Callable[[], Awaitable[bool]]
"""Returns whether the container whose log is followed still runs."""

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


class ConsoleError(Exception):
    """It cannot be done. The text is one sentence for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAsked:
    """Which log is asked for, and what of it."""

    pod: Pod
    container: str
    container_id: str
    attempt: int
    """Counts the instances of the container from 0."""
    tail: int | None = None
    """So many of the last lines; None for all."""
    since: Timestamp | None = None
    """Only lines from that moment on; None for all."""
    is_of_pod_before: bool = False
    """Whether the last instance is asked for of the pod that had this name before, whatever ``attempt``."""
    with_times: bool = False
    """Whether each line begins with its time."""
    with_rotated: bool = False
    """Whether files are read, too, that the log was rotated to before it."""
    stream: str = ""
    """Only lines of ``stdout`` or of ``stderr``, where that is known; empty for both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnded:
    """How a command in a container ended."""

    exit_code: int
    output: str = field(repr=False)
    note: str = ""
    """What people should know of it, in one line; empty for nothing."""


def not_started(said: str) -> CommandEnded | None:
    """Return how a command ended that could not be started, with the exit code that shells have for it.

    ``said`` is what the runtime says. None if it says something else: the runtime may lack a file itself.
    """
    before = _OF_THE_COMMAND.match(said)
    if before is None:
        return None
    cause = said[before.end() :].removesuffix(": unknown").removeprefix("exec: ")
    for pattern, code in ((_NO_SUCH_PROGRAM, 127), (_NO_PROGRAM, 126)):
        if pattern.search(cause):
            return CommandEnded(exit_code=code, output="", note=f"cannot be started: {cause}")
    return None


class ContainerConsole(Protocol):
    """Reads logs of containers, and runs commands in them. Belongs to the server's asyncio loop."""

    def log(self, asked: LogAsked, still_runs: StillRuns | None) -> AsyncGenerator[bytes, None]:
        """Yield the lines of a log, some at a time. Raises ``ConsoleError``.

        With ``still_runs`` it goes on with those that come, until that says no.
        """
        ...

    async def run(
        self, container_id: str, command: tuple[str, ...], within: Seconds
    ) -> CommandEnded:
        """Run a command, for ``within`` at the most. Raises ``ConsoleError``."""
        ...


class Instance(NamedTuple):
    """One instance of a container."""

    container: str
    id: str
    attempt: int
    is_running: bool
    is_of_pod_before: bool = False
    """Whether it is one of the pod that had this name before, if there was one."""


def instance_of(pod: Mapping[str, Any], container: str, *, previous: bool) -> Instance:
    """Return the instance in a pod's document that ``container`` names; the only container if it is empty.

    Raises ``ConsoleError`` if there is none.
    """
    name = container or _only_one(pod)
    status = container_status(pod, name)
    if status is None:
        known = ", ".join(_names(pod)) or "none"
        raise ConsoleError(f"there is no container {name} in this pod; there is {known}")
    return _previous(name, status) if previous else _present(name, status)


def container_status(pod: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return what a pod's document says of the status of a container. None if it says nothing."""
    return next((each for each in _statuses(pod) if each.get("name") == name), None)


def still_runs(pod: Mapping[str, Any], instance: Instance) -> bool:
    """Return whether an instance runs by what a pod's document says, and not another one in its place."""
    try:
        found = instance_of(pod, instance.container, previous=False)
    except ConsoleError:
        return False
    return found.is_running and found.id == instance.id


def _only_one(pod: Mapping[str, Any]) -> str:
    names = [str(each.get("name")) for each in (pod.get("spec") or {}).get("containers") or ()]
    if len(names) != 1:
        raise ConsoleError(f"this pod has several containers, name one of them: {', '.join(names)}")
    return names[0]


def _names(pod: Mapping[str, Any]) -> list[str]:
    return [str(each.get("name")) for each in _statuses(pod)]


def _statuses(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    status = pod.get("status") or {}
    for name in _STATUSES:
        yield from status.get(name) or ()


def _present(name: str, status: Mapping[str, Any]) -> Instance:
    last = ((status.get("lastState") or {}).get("terminated") or {}).get("containerID")
    found = status.get("containerID") or last
    if not found:
        waiting = ((status.get("state") or {}).get("waiting") or {}).get(
            "reason"
        ) or "nothing of it ran"
        raise ConsoleError(f"container {name} has not been started yet: {waiting}")
    runs = "running" in (status.get("state") or {})
    return Instance(name, str(found), int(status.get("restartCount") or 0), runs)


def _previous(name: str, status: Mapping[str, Any]) -> Instance:
    last = ((status.get("lastState") or {}).get("terminated") or {}).get("containerID")
    if not last:
        return Instance(name, "", 0, is_running=False, is_of_pod_before=True)
    attempt = int(status.get("restartCount") or 0)
    # One that waits to be started again is itself the last that ended.
    is_same = last == status.get("containerID")
    return Instance(name, str(last), attempt if is_same else max(0, attempt - 1), is_running=False)
