"""Binds the agent's ports before anything else starts, and decides how many connections they may have.

A port in use is an error at the start. The process may have as many descriptors open as the system lets it,
up to ``ENOUGH``; ``server.limits`` decides how clients and the agent share them.
"""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from server.limits import BACKLOG, ConnectionLimits, connection_limits
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


_process_log = structlog.get_logger("process")

ENOUGH: Final = 65_536
"""The soft limit is not raised above this. Commands that give credentials inherit it, and some close every
descriptor below it when they start. In a container the hard limit may be 1,073,741,816."""


def raised(soft: int, hard: int) -> int:
    """Return the soft limit to have instead of ``soft``. It is never lower."""
    if soft == resource.RLIM_INFINITY:
        return soft
    return max(soft, ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH))


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open descriptors to the hard one, or ``ENOUGH``; return the limit in effect.

    The soft limit is 1,024 nearly everywhere, for programs that use ``select``; this one does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The hard limit may be above what the system gives today.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised(soft, hard), hard))
    return descriptor_limit()


def descriptor_limit() -> int:
    """Return the limit in effect."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit


def limits_of_connections(descriptors: int) -> ConnectionLimits:
    """Return how many connections there may be; say once in the log if they are fewer than usual."""
    limits = connection_limits(descriptors)
    if limits != ConnectionLimits():
        _process_log.warning(
            "few descriptors, so few connections are served",
            descriptors=descriptors,
            read_only_port=limits.read_only,
            healthz_port=limits.healthz,
            event_readers=limits.readers,
        )
    return limits
