"""Whether watches find the connections that they need."""

from __future__ import annotations

import pytest

from kube.streams.rules import ConnectionRoom, connections_for, descriptors_lacked

ROOM = ConnectionRoom(connections=100, descriptors_for=lambda connections: connections + 200)


@pytest.mark.parametrize(
    ("watches", "connections"), [(0, 3), (1, 4), (95, 4), (96, 5), (20_000, 214)]
)
def test_full_connections_and_three_more_are_needed(watches: int, connections: int) -> None:
    assert connections_for(watches, 95) == connections


def test_nothing_lacks_where_there_is_room() -> None:
    assert descriptors_lacked(100, ROOM) is None
    assert descriptors_lacked(10**9, ConnectionRoom()) is None


@pytest.mark.parametrize(
    ("connections", "descriptors"), [(101, 512), (312, 512), (313, 1_024), (824, 1_024)]
)
def test_what_lacks_is_told_as_the_limit_to_set(connections: int, descriptors: int) -> None:
    assert descriptors_lacked(connections, ROOM) == descriptors
