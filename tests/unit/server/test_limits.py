"""How many connections there may be, by how many descriptors."""

from __future__ import annotations

import pytest

from server.limits import ConnectionLimits, connection_limits


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
