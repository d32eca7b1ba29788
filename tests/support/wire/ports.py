"""Ports of loopback for programs that are told theirs by number, and may come back to it later."""

from __future__ import annotations

import atexit
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import SystemRandom
from typing import Final

_LOWEST: Final = 11_000
"""Above those that a Kubernetes node uses itself: 10,248 to 10,259."""
_HIGHEST: Final = 32_767
"""The last one that Linux does not give away, unless a machine is told otherwise."""
_EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_BLOCK: Final = 50
"""Ports that a process of tests takes at a time."""
_ENOUGH: Final = 20 * _BLOCK


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on at present, all different, none of them returned before.

    No other process is given them until this one ends. They lie below those that the kernel gives to
    outgoing connections. Otherwise one of these could take such a port before the program does, or while
    it is down; whoever dials it meanwhile could even be given the very port that it dials, and be
    connected to itself.
    """
    return [next(_ports) for _ in range(number)]


def _given() -> Iterator[int]:
    for first in _blocks():
        yield from filter(_is_free, range(first + 1, first + _BLOCK))


def _is_free(port: int) -> bool:
    with suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return True
    return False


def _blocks() -> Iterator[int]:
    """Take blocks of ports in any order. To listen on the first port of a block is to have it."""
    starts = range(_LOWEST, _highest() - _BLOCK, _BLOCK)
    for first in SystemRandom().sample(starts, len(starts)):
        with suppress(OSError):
            owner = socket.create_server(("127.0.0.1", first))
            atexit.register(owner.close)
            yield first


def _highest() -> int:
    below = int(_EPHEMERAL.read_text().split()[0]) - 1
    # A machine that gives away nearly all ports has none that are safe: then any will do.
    return below if below > _LOWEST + _ENOUGH else _HIGHEST


_ports: Final = _given()
