"""Ports of loopback for programs that are told theirs by number, and may come back to it later."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from random import SystemRandom
from typing import Final

_LOWEST: Final = 11_000
"""Above those that a Kubernetes node uses itself: 10,248 to 10,259."""
_HIGHEST: Final = 32_767
"""The last one that Linux does not give away, unless a machine is told otherwise."""
_EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_chance: Final = SystemRandom()


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on at present, all different.

    They lie below those that the kernel gives to outgoing connections. Otherwise one of these could take
    such a port before the program does, or while it is down; whoever dials it meanwhile could even be
    given the very port that it dials, and be connected to itself.
    """
    found: set[int] = set()
    while len(found) < number:
        port = _chance.randint(_LOWEST, _highest())
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.add(port)
    return list(found)


def _highest() -> int:
    below = int(_EPHEMERAL.read_text().split()[0]) - 1
    # A machine that gives away nearly all ports has none that are safe: then any will do.
    return below if below > _LOWEST else _HIGHEST
