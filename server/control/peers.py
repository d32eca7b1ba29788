"""The user at the other side of a Unix socket. The kernel names it, so it cannot be forged."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Awaitable, Callable, Collection
from typing import Final, NamedTuple

from aiohttp import web
from aiohttp.typedefs import Middleware

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
