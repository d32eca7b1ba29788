"""Binding the agent's ports, before anything else is started: a port in use is the user's to mend."""

from __future__ import annotations

import os
import socket

from settings.errors import StartError

BACKLOG = 128
"""Connections that wait while the server is restarted; the kernel's usual limit."""


def listen(address: str, port: int, what: str) -> tuple[socket.socket, ...]:
    """Return a socket that listens at ``address`` and ``port``; none for port 0, which means off.

    Raises StartError, with one sentence for the user, when that is not to be had.
    """
    if port == 0:
        return ()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # So that a restarted agent gets its port while old connections linger.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        place = f"[{address}]:{port}" if family == socket.AF_INET6 else f"{address}:{port}"
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise StartError(f"cannot listen on {what} {place}: {reason}") from error
    return (listener,)
