"""For which hosts requests are answered.

A web page can give its own name the address 127.0.0.1 (DNS rebinding). The browser of somebody on this
machine then lets the page read what this agent answers. The browser says in ``Host`` for which name it asks.
So only names that are this machine's are answered.

Load balancers and monitors name a node as they know it, and ask for health alone. Where nothing
but health is served, it gets the verdict for any name, and nothing that a page could use.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from typing import Final

from aiohttp import HttpVersion11, web
from aiohttp.typedefs import Middleware

from server.json_answers import Handler

_HOST: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:/@?#\s]+)(:[0-9]*)?")
_MOST_SHOWN: Final = 80
_GETS_DETAILS: Final = web.RequestKey("gets_details", bool)


def host_of(header: str) -> str | None:
    """Return the host that a ``Host`` header names, in lower case and without port; None if it is wrong."""
    found = _HOST.fullmatch(header)
    return _plain(found["host"].strip("[]").rstrip(".").lower()) if found else None


def is_ours(host: str, hosts: Collection[str], arrived_at: str) -> bool:
    """Return whether ``host`` is this machine: on loopback, one of ``hosts``, or where the request came in.

    ``arrived_at`` is the address of this side of the connection. If it is link-local, it ends with its
    interface, which no client names. A request for an address cannot come from a page of another name.
    """
    address, _, _ = arrived_at.partition("%")
    if host == "localhost" or host in hosts or host == _plain(address):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def only_for(hosts: Collection[str], *, others_get_verdicts: bool = False) -> Middleware:
    """Return what refuses requests for hosts that are neither in ``hosts`` nor this machine otherwise.

    With ``others_get_verdicts`` these are passed on as well, unless they ask for details; ``gets_details``
    tells them from the others. A request of HTTP/1.0 may name no host: load balancers ask like that, and no
    browser does.
    """
    known = frozenset(_plain(host.lower()) for host in hosts)

    @web.middleware
    async def refuse_others(request: web.Request, handler: Handler) -> web.StreamResponse:
        headers = request.headers.getall("Host", [])
        if not headers and request.version < HttpVersion11:
            request[_GETS_DETAILS] = True
            return await handler(request)
        host = host_of(headers[0]) if len(headers) == 1 else None
        if host is None:
            raise web.HTTPBadRequest(text="a request names one host")
        request[_GETS_DETAILS] = is_ours(host, known, _arrived_at(request))
        is_modest = others_get_verdicts and not wants_details(request)
        if not gets_details(request) and not is_modest:
            raise web.HTTPMisdirectedRequest(
                text=f"{host[:_MOST_SHOWN]} is no name of this node: --allow-host allows another one"
            )
        return await handler(request)

    return refuse_others


def wants_details(request: web.Request) -> bool:
    """Return whether a request asks for more than a verdict."""
    return "verbose" in request.query


def gets_details(request: web.Request) -> bool:
    """Return whether a request that was passed on may be answered with more than a verdict."""
    return request[_GETS_DETAILS]


def _arrived_at(request: web.Request) -> str:
    name = request.transport.get_extra_info("sockname") if request.transport else None
    return str(name[0]) if name else ""


def _plain(host: str) -> str:
    """Return an address as it is written shortest, and one of IPv4 as such; any other host as it is."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
