"""How many connections there may be, by how many descriptors."""

from __future__ import annotations

import pytest

from server.limits import (
    ConnectionLimits,
    connection_limits,
    connections_for_watches,
    descriptors_for_watches,
)


@pytest.mark.parametrize("descriptors", [1024, 65_536, 2**30])
def test_where_there_are_enough_each_port_has_as_many_as_ever(descriptors: int) -> None:
    limits = connection_limits(descriptors)
    assert (limits.healthz, limits.readers) == (100, 32)
    assert limits == ConnectionLimits()


@pytest.mark.parametrize(
    ("descriptors", "limits"),
    [
        (256, ConnectionLimits(read_only=64, healthz=32, readers=32)),
        (64, ConnectionLimits(read_only=12, healthz=6, readers=6)),
        (20, ConnectionLimits(read_only=6, healthz=3, readers=3)),
    ],
)
def test_where_there_are_few_half_are_kept_and_each_kind_has_its_own_part(
    descriptors: int, limits: ConnectionLimits
) -> None:
    assert connection_limits(descriptors) == limits


@pytest.mark.parametrize(
    ("descriptors", "connections"), [(20, 0), (64, 15), (256, 103), (1024, 667), (65_536, 65_179)]
)
def test_watches_have_what_is_left_when_every_client_comes(
    descriptors: int, connections: int
) -> None:
    assert connections_for_watches(descriptors) == connections


@pytest.mark.parametrize(("connections", "descriptors"), [(4, 80), (214, 478), (1_000, 1_357)])
def test_so_many_descriptors_are_needed_for_so_many_connections(
    connections: int, descriptors: int
) -> None:
    assert descriptors_for_watches(connections) == descriptors


def test_with_as_many_descriptors_as_are_needed_there_is_room() -> None:
    for connections in range(1, 2_000):
        assert connections_for_watches(descriptors_for_watches(connections)) >= connections
