"""How many connections the ports may have, by how many descriptors the process may open. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MOST_CONNECTIONS: Final = 200
"""Connections of the read-only port, where there are descriptors enough."""
MOST_ON_HEALTHZ: Final = 100
"""The same of the port that answers for the agent's health only."""
MOST_READERS: Final = 32
"""Readers of events. Each has a connection of its own, which does not count among the others."""
CONTROLS: Final = 10
"""Connections of the control socket: people, and not many at a time."""
OWN: Final = 25
"""Descriptors that logs, files and calls take, about."""
RESERVE: Final = 40
"""Descriptors that are never given to clients: the agent's own, and those of connections for watches."""
BACKLOG: Final = 128
"""Most connections that wait until they are accepted, also while the server is restarted. Linux's former
default limit."""
_FEWEST: Final = 12
"""Connections that clients get at least, all kinds together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """How many connections there may be at a time, of each kind."""

    read_only: int = MOST_CONNECTIONS
    healthz: int = MOST_ON_HEALTHZ
    readers: int = MOST_READERS


def connections_for_watches(descriptors: int) -> int:
    """Return how many connections to the API server such a process has room for, if every client comes."""
    limits = connection_limits(descriptors)
    clients = limits.read_only + limits.healthz + limits.readers
    return max(0, descriptors - clients - OWN)


def descriptors_for_watches(connections: int) -> int:
    """Return how many descriptors a process needs to have room for so many connections to the API server."""
    full = ConnectionLimits()
    kept = max(RESERVE, connections + OWN)
    # Clients have as many as the agent keeps, unless these are more than they ever get.
    return kept + min(kept, full.read_only + full.healthz + full.readers)


def connection_limits(descriptors: int) -> ConnectionLimits:
    """Return the limits of a process that may have that many descriptors open.

    Half of them, and ``RESERVE`` at least, are kept for the agent itself. Of the rest each port has its own
    part, so a full read-only port leaves the health port its connections.
    """
    free = max(descriptors - max(RESERVE, descriptors // 2), _FEWEST)
    readers, healthz = min(MOST_READERS, free // 4), min(MOST_ON_HEALTHZ, free // 4)
    return ConnectionLimits(
        read_only=min(MOST_CONNECTIONS, free - readers - healthz), healthz=healthz, readers=readers
    )
