"""Binds the agent's ports before anything else starts, so that a port in use is an error at the start."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from server.limits import BACKLOG
from settings.errors import StartError

CONTROL_SOCKET: Final = "actorlet.sock"
"""Below ``--root-dir``: for root and the agent's own user."""

_log = structlog.get_logger("actorlet")


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
        place = host_and_port(address, port)
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise StartError(f"cannot listen on {what} {place}: {reason}") from error
    return (listener,)


def host_and_port(address: str, port: int) -> str:
    """Return both as a URL has them."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


@contextmanager
def control_socket(root_dir: Path) -> Iterator[tuple[socket.socket, ...]]:
    """Yield a socket that listens below ``root_dir``, which this process has locked; remove it at the end.

    Its file has the mode 0600 from its beginning. Yields nothing if there can be none, and says so: no pod is
    the worse for it.
    """
    # By the directory's descriptor: a path that is longer than 107 bytes could not be bound.
    directory = os.open(root_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    place = Path(f"/proc/self/fd/{directory}/{CONTROL_SOCKET}")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listeners = _bound(listener, place, root_dir)
    try:
        yield listeners
    finally:
        if listeners:
            with suppress(OSError):
                place.unlink()
        os.close(directory)
        listener.close()


def _bound(listener: socket.socket, place: Path, root_dir: Path) -> tuple[socket.socket, ...]:
    """Bind and listen. Return the listener, or nothing if that is impossible."""
    try:
        # The directory is locked: a socket that is there is one that an earlier process has left.
        if place.is_socket():
            place.unlink()
        os.fchmod(listener.fileno(), 0o600)  # becomes the mode of the file that bind makes
        listener.bind(str(place))
        listener.listen(BACKLOG)
    except OSError as error:
        path = str(root_dir / CONTROL_SOCKET)
        _log.warning("the control socket is not served", path=path, reason=error.strerror)
        return ()
    return (listener,)
