"""What a hook is to do, read from the handler of a specification. Pure.

A hook may carry confidential values in its command, path and headers. No ``repr`` shows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from messages.pods import JsonObject
from messages.units import Seconds

MOST_PORT: Final = 65_535
LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecHook:
    """Run a command in the container. It succeeds if the command ends with 0."""

    command: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpGetHook:
    """Ask for a page. It succeeds if there is an answer, whatever its status is, as for a kubelet."""

    is_https: bool
    host: str
    port: int
    path: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpSocketHook:
    """Open a connection. It succeeds if that is accepted."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepHook:
    """Wait for so long."""

    seconds: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusableHook:
    """A hook that cannot be carried out."""

    why: str
    """For people. Names no value of the handler but a port."""


HookAction: TypeAlias = ExecHook | HttpGetHook | TcpSocketHook | SleepHook | UnusableHook


def action_of(handler: JsonObject, container: JsonObject, ip: str) -> HookAction:
    """Return what ``handler`` of ``container`` says, with its named port resolved.

    ``ip`` is the pod's, for targets without a host; empty for the network of the node.
    """
    if command := (handler.get("exec") or {}).get("command"):
        return ExecHook(command=tuple(map(str, command)))
    if page := handler.get("httpGet"):
        return _http_get(page, container, ip)
    if target := handler.get("tcpSocket"):
        port = _port(target.get("port"), container)
        if isinstance(port, UnusableHook):
            return port
        return TcpSocketHook(host=target.get("host") or ip or LOOPBACK, port=port)
    if sleep := handler.get("sleep"):
        return SleepHook(seconds=Seconds(float(max(0, sleep.get("seconds") or 0))))
    return UnusableHook(why="the hook says nothing that can be done")


def _http_get(page: JsonObject, container: JsonObject, ip: str) -> HookAction:
    port = _port(page.get("port"), container)
    if isinstance(port, UnusableHook):
        return port
    headers = tuple(
        (str(each.get("name") or ""), str(each.get("value") or ""))
        for each in page.get("httpHeaders") or ()
    )
    return HttpGetHook(
        is_https=str(page.get("scheme") or "").upper() == "HTTPS",
        host=page.get("host") or ip or LOOPBACK,
        port=port,
        path=str(page.get("path") or "/"),
        headers=headers,
    )


def _port(said: Any, container: JsonObject) -> int | UnusableHook:
    """Return the number of a port that a handler says by its number or by its name."""
    text = str(said if said is not None else "")
    named = (
        each.get("containerPort")
        for each in container.get("ports") or ()
        if each.get("name") == text
    )
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else next(named, None)
    if isinstance(number, int) and 0 < number <= MOST_PORT:
        return number
    return UnusableHook(why=f"the container has no port {text[:64]!r}")
