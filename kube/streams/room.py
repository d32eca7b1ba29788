"""Whether there is room for the connections that watches need, among all descriptors. Pure."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

SPARE = 3
"""Connections beside the full ones: some are closing, or not full, while watches come and go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionRoom:
    """How many connections there is room for."""

    connections: int = sys.maxsize
    descriptors_for: Callable[[int], int] = lambda connections: connections
    """Returns how many descriptors a process has to have that is to have so many connections."""


def connections_for(watches: int, streams_per_connection: int) -> int:
    """Return how many connections so many watches take at most."""
    return -(-watches // streams_per_connection) + SPARE


def descriptors_lacked(connections: int, room: ConnectionRoom) -> int | None:
    """Return how many descriptors so many connections would take; None if there is room for them.

    It is a power of two: limits are given so, and it changes seldom while watches are added one by one.
    """
    if connections <= room.connections:
        return None
    return 1 << (room.descriptors_for(connections) - 1).bit_length()
