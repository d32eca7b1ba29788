"""What the handler of a probe or of a hook says is to be done. Pure.

A document is validated before it comes here. What is still impossible, such as a port that the container does
not name, is a handler of its own: ``UnusableHandler`` says why.

A handler may carry confidential values in its command, path and headers. No ``repr`` shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

MOST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecAction:
    """Run a command in the container. It succeeds if the command ends with 0."""

    command: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpGetAction:
    """Ask for a page. Which answers are a success is for who asks."""

    is_https: bool
    host: str
    """A name or an address; empty for the pod's address."""
    port: int
    path: str = field(repr=False)
    """As it stands in the document, mostly with a query. May be empty."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def has_unusable_header(self) -> bool:
        """Whether a header has a line feed in it or the like: then it would be more than one line."""
        return any(set("\r\n\0") & set(name + value) for name, value in self.headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpSocketAction:
    """Open a connection. It succeeds if that is accepted."""

    host: str
    """A name or an address; empty for the pod's address."""
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusableHandler:
    """What cannot be carried out."""

    why: str
    """For people. Of the handler's values it names a port or a mode alone."""


CommonAction: TypeAlias = ExecAction | HttpGetAction | TcpSocketAction
"""What both probes and hooks can do."""


def common_action(
    handler: Mapping[str, Any], container: Mapping[str, Any]
) -> CommonAction | UnusableHandler | None:
    """Return what ``handler`` of ``container`` says; None if that is nothing that both kinds can do."""
    if command := (handler.get("exec") or {}).get("command"):
        return ExecAction(command=tuple(map(str, command)))
    if page := handler.get("httpGet"):
        port = port_of(page, container)
        return port if isinstance(port, UnusableHandler) else _http_get(page, port)
    if target := handler.get("tcpSocket"):
        port = port_of(target, container)
        if isinstance(port, UnusableHandler):
            return port
        return TcpSocketAction(host=str(target.get("host") or ""), port=port)
    return None


def port_of(target: Mapping[str, Any], container: Mapping[str, Any]) -> int | UnusableHandler:
    """Return the number of the port that ``target`` says by its number or by its name."""
    said = target.get("port")
    text = str(said if said is not None else "")
    named = (
        each.get("containerPort")
        for each in container.get("ports") or ()
        if each.get("name") == text
    )
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else next(named, None)
    if isinstance(number, int) and 0 < number <= MOST_PORT:
        return number
    return UnusableHandler(why=f"the container has no port {text[:64]!r}")


def _http_get(page: Mapping[str, Any], port: int) -> HttpGetAction:
    headers = page.get("httpHeaders") or ()
    return HttpGetAction(
        is_https=str(page.get("scheme") or "").upper() == "HTTPS",
        host=str(page.get("host") or ""),
        port=port,
        path=str(page.get("path") or ""),
        headers=tuple(
            (str(each.get("name") or ""), str(each.get("value") or "")) for each in headers
        ),
    )
