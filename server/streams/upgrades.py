"""What a request for a stream asks for, and what is passed on to the container runtime. Pure.

Of the client's head only what the two protocols need is passed on: no credentials, no cookies, no origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from messages.container_runtime import Streams
from server.access.identity import other_protocols

SPDY: Final = "SPDY/3.1"
WEBSOCKET: Final = "websocket"
PROTOCOLS: Final = "x-stream-protocol-version"
"""The header in which a client of SPDY names the protocols inside that it speaks. It may repeat."""
_WEBSOCKET_HEADERS: Final = (
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
)
UPGRADE_REQUIRED: Final = (
    f"Upgrade request required: Connection: Upgrade, with {SPDY} or {WEBSOCKET}"
)
NO_STREAM: Final = "you must specify at least 1 of stdin, stdout, stderr"
_LOOPBACKS: Final = {4: "127.0.0.1", 6: "::1"}


class UpgradeError(Exception):
    """The request cannot become a stream. The text is a sentence for the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """What a client offers."""

    method: str
    protocol: str
    headers: tuple[tuple[str, str], ...]
    """Those that are passed on."""


class RuntimePlace(NamedTuple):
    """Where a container runtime gives a stream."""

    host: str
    port: int
    target: str
    """The path, and the query if there is one."""


def upgrade_of(method: str, headers: Iterable[tuple[str, str]]) -> Upgrade:
    """Return what a request offers. Raises ``UpgradeError``: it is no upgrade, or more than one."""
    told = [(name.lower(), value) for name, value in headers]
    words = {
        word.strip().lower()
        for name, value in told
        for word in value.split(",")
        if name == "connection"
    }
    offered = [value.strip() for name, value in told if name == "upgrade"]
    if any(
        name == "transfer-encoding" or (name == "content-length" and value.strip() != "0")
        for name, value in told
    ):
        raise UpgradeError("an upgrade has no body")
    if "upgrade" not in words or len(offered) != 1:
        raise UpgradeError(UPGRADE_REQUIRED)
    match offered[0].lower():
        case "spdy/3.1":
            return Upgrade(method=method, protocol=SPDY, headers=_of_spdy(told))
        case "websocket":
            return Upgrade(method=method, protocol=WEBSOCKET, headers=tuple(_of_websocket(told)))
        case _:
            raise UpgradeError(UPGRADE_REQUIRED)


def _of_spdy(told: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    kept = tuple((name, value) for name, value in told if name == PROTOCOLS)
    if not kept:
        raise UpgradeError("the header X-Stream-Protocol-Version is missing")
    return kept


def _of_websocket(told: list[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    for name, value in told:
        if name == "sec-websocket-protocol":
            yield name, ", ".join(other_protocols([(name, value)]))
        elif name in _WEBSOCKET_HEADERS:
            yield name, value


def head_for(upgrade: Upgrade, place: RuntimePlace) -> bytes:
    """Return the head of the request to the runtime."""
    host = f"[{place.host}]" if ":" in place.host else place.host
    lines = [f"{upgrade.method} {place.target} HTTP/1.1", f"Host: {host}:{place.port}"]
    lines += ["Connection: Upgrade", f"Upgrade: {upgrade.protocol}"]
    lines += ["Content-Length: 0"] if upgrade.method == "POST" else []
    lines += [f"{name.title()}: {value}" for name, value in upgrade.headers]
    # The bytes of the client's headers, whatever they are: so the server has decoded them.
    return "\r\n".join((*lines, "", "")).encode("utf-8", "surrogateescape")


def place_of(url: str) -> RuntimePlace:
    """Return where the runtime says that a stream is. Raises ``UpgradeError`` if that is not this machine.

    An address that means every one of the machine becomes that of loopback.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        address = ip_address(host)
    except ValueError:
        raise UpgradeError(
            "the container runtime names no address of this machine for the stream"
        ) from None
    is_plain = parts.scheme == "http" and port and parts.username is None and parts.password is None
    if not is_plain or not (address.is_loopback or address.is_unspecified) or not url.isascii():
        raise UpgradeError(f"the container runtime has the stream at {host}, which is not asked")
    if any(ord(each) <= ord(" ") for each in url):
        raise UpgradeError("the container runtime names no address of this machine for the stream")
    query = f"?{parts.query}" if parts.query else ""
    found = _LOOPBACKS[address.version] if address.is_unspecified else host
    assert port is not None  # noqa: S101  # was looked at
    return RuntimePlace(found, port, f"{parts.path or '/'}{query}")


def streams_asked(query: Mapping[str, list[str]]) -> Streams:
    """Return the streams that a query asks for. Raises ``UpgradeError`` if that is none.

    Only the value ``1`` counts, as for a kubelet. A terminal has its errors among its output.
    """

    def asks(name: str) -> bool:
        return "1" in query.get(name, [])

    streams = Streams(
        stdin=asks("input"),
        stdout=asks("output"),
        stderr=asks("error") and not asks("tty"),
        tty=asks("tty"),
    )
    if not (streams.stdin or streams.stdout or streams.stderr):
        raise UpgradeError(NO_STREAM)
    return streams


def ports_asked(query: Mapping[str, list[str]], protocol: str) -> tuple[int, ...]:
    """Return the ports that a query names: SPDY names them in its streams. Raises ``UpgradeError``."""
    if protocol == SPDY:
        return ()
    said = [port for each in query.get("port", []) for port in each.split(",")]
    if not said:
        raise UpgradeError('query parameter "port" is required')
    if not all(each.isascii() and each.isdigit() and 0 < int(each) < 2**16 for each in said):
        raise UpgradeError('query parameter "port" has to be numbers of ports')
    return tuple(int(each) for each in said)
