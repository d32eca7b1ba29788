"""What an attempt of a probe needs, from its specification and the pod it is about. Pure."""

from __future__ import annotations

import ipaddress
import socket
from functools import lru_cache
from typing import Final, NamedTuple, assert_never

from actors.probes.connections import SocketAddress
from actors.probes.exchanges import HttpExchange, ProbeExchange, TcpExchange
from actors.probes.http_messages import HttpPage, page_of, request_of
from actors.probes.specs import GrpcAction, ProbeSpec
from manifests.handlers import ExecAction, HttpGetAction, TcpSocketAction, UnusableHandler
from messages.units import Seconds

MOST_ADDRESSES: Final = 4_096
"""That are remembered as they were read, since each attempt needs its one."""


class PreparedProbe(NamedTuple):
    """What all attempts of a probe over sockets have in common."""

    host: str
    """A name or an address."""
    port: int
    page: HttpPage | None = None
    request: bytes = b""
    """What is sent first; empty if nothing is."""
    timeout: Seconds = Seconds(0.0)
    """Of a call of gRPC."""
    is_tls_call: bool = False
    """Whether such a call is made over TLS."""

    @property
    def is_tls(self) -> bool:
        """Whether its first connection is one of TLS."""
        return self.is_tls_call or (self.page is not None and self.page.is_https)


class UnpreparedProbe(NamedTuple):
    """The probe cannot be carried out at present."""

    why: str


def prepare(spec: ProbeSpec, ip: str, user_agent: str) -> PreparedProbe | UnpreparedProbe:
    """Return what attempts need. ``ip`` is the pod's; empty as long as it has none."""
    handler = spec.handler
    if isinstance(handler, UnusableHandler):
        return UnpreparedProbe(handler.why)
    if isinstance(handler, ExecAction):
        return UnpreparedProbe("a command needs no connection")
    at = ip if isinstance(handler, GrpcAction) else handler.host.strip("[]") or ip
    if not at:
        return UnpreparedProbe("the pod has no address")
    match handler:
        case HttpGetAction():
            page = page_of(handler, ip, user_agent)
            return PreparedProbe(at, handler.port, page, request_of(page))
        case TcpSocketAction():
            return PreparedProbe(at, handler.port)
        case GrpcAction(port=port, service=service, is_tls=is_tls):
            from actors.probes.grpc_exchanges import call_of  # noqa: PLC0415  # its tables are large

            call = call_of(authority(at, port), service, spec.timeout, user_agent, is_tls=is_tls)
            return PreparedProbe(at, port, None, call, spec.timeout, is_tls)
        case _:
            assert_never(handler)


def exchange_of(prepared: PreparedProbe) -> ProbeExchange:
    """Return what is said over a connection."""
    if prepared.page is not None:
        return HttpExchange(prepared.page, prepared.request)
    where = authority(prepared.host, prepared.port)
    if prepared.request:
        from actors.probes.grpc_exchanges import GrpcExchange  # noqa: PLC0415  # as above

        return GrpcExchange(where, prepared.request, prepared.timeout)
    return TcpExchange(where)


def authority(host: str, port: int) -> str:
    """Return host and port as they stand in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@lru_cache(MOST_ADDRESSES)
def address_of(host: str, port: int) -> SocketAddress:
    """Return an address and a port as sockets take them. Raises ``ValueError`` for a name."""
    family = family_of(host)
    if family is None:
        raise ValueError("a name is no address")
    return SocketAddress(family, (host, port))


@lru_cache(MOST_ADDRESSES)
def family_of(host: str) -> socket.AddressFamily | None:
    """Return the family of an address; None for a name."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return None
    return socket.AF_INET6 if version == 6 else socket.AF_INET
