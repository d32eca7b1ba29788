"""What an attempt of a probe needs, from its specification and the pod it is about. Pure."""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple

from probes.connections import SocketAddress
from probes.exchanges import HttpExchange, ProbeExchange, TcpExchange
from probes.http_requests import HttpPage, page_of, request_of
from probes.specs import ExecProbe, GrpcProbe, HttpProbe, ProbeHandler, TcpProbe, UnusableProbe


class PreparedProbe(NamedTuple):
    """What all attempts of a probe over sockets have in common."""

    host: str
    """A name or an address."""
    port: int
    page: HttpPage | None = None
    request: bytes = b""


class UnpreparedProbe(NamedTuple):
    """The probe cannot be carried out at present."""

    why: str


def prepare(handler: ProbeHandler, ip: str, user_agent: str) -> PreparedProbe | UnpreparedProbe:
    """Return what attempts need. ``ip`` is the pod's; empty as long as it has none."""
    match handler:
        case HttpProbe():
            if not (handler.host or ip):
                return UnpreparedProbe("the pod has no address")
            page = page_of(handler, ip, user_agent)
            return PreparedProbe(page.host, page.port, page, request_of(page))
        case TcpProbe(host=host, port=port):
            at = host.strip("[]") or ip
            return PreparedProbe(at, port) if at else UnpreparedProbe("the pod has no address")
        case UnusableProbe(why=why):
            return UnpreparedProbe(why)
        case GrpcProbe() | ExecProbe():
            return UnpreparedProbe("nobody carries it out")


def exchange_of(prepared: PreparedProbe) -> ProbeExchange:
    """Return what is said over a connection."""
    if prepared.page is not None:
        return HttpExchange(prepared.page, prepared.request)
    return TcpExchange(authority(prepared.host, prepared.port))


def authority(host: str, port: int) -> str:
    """Return host and port as they stand in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def address_of(host: str, port: int) -> SocketAddress:
    """Return an address and a port as sockets take them. Raises ``ValueError`` for a name."""
    family = family_of(host)
    if family is None:
        raise ValueError("a name is no address")
    return SocketAddress(family, (host, port))


def family_of(host: str) -> socket.AddressFamily | None:
    """Return the family of an address; None for a name."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return None
    return socket.AF_INET6 if version == 6 else socket.AF_INET
