"""Binds the agent's ports before anything else starts, so that a port in use is an error at the start."""

from __future__ import annotations

import os
import socket

from server.limits import BACKLOG
from settings.errors import StartError


def listen(address: str, port: int, what: str) -> tuple[socket.socket, ...]:
    """Return a socket that listens at ``address`` and ``port``, or nothing for port 0, which means off.

    Raises StartError, with one sentence for the user that names ``what``, when that is impossible.
    """
    if port == 0:
        return ()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A restarted agent gets its port although old connections linger.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        place = f"[{address}]:{port}" if family == socket.AF_INET6 else f"{address}:{port}"
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise StartError(f"cannot listen on {what} {place}: {reason}") from error
    return (listener,)
