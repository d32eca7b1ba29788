"""A crash of either actor at any point of a long story changes nothing about its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from actors.node.lease_keeper import LEASE_KEEPER
from actors.node.registrar import NODE_REGISTRAR
from kernel import Key
from tests.support.node.node_stage import NodeStage, node_stage

STORY: tuple[Callable[[NodeStage], object], ...] = (
    lambda node: node.loops_fail("source/http"),
    lambda node: node.store.change("nodes", "n1", spec={"unschedulable": True}),
    lambda node: node.play.advance(45.0),
    lambda node: node.store.remove("nodes", "n1"),
    lambda node: node.store.change("leases", "kube-node-lease", "n1", metadata={"labels": {}}),
    lambda node: node.api.go_away(),
    lambda node: node.machine.feels(memory_free=0),
    lambda node: node.play.advance(12.0),
    lambda node: node.api.come_back(),
    lambda node: node.store.change("nodes", "n1", metadata={"labels": {"zone": "a"}}),
    lambda node: node.store.remove("leases", "kube-node-lease", "n1"),
    lambda node: node.loops_fail(),
)


def plays(node: NodeStage, key: Key[Any], crash_at: int) -> None:
    """Play the story, with a crash of ``key`` after a step; what is under way then gets lost or late."""
    for number, step in enumerate(STORY):
        step(node)
        if number == crash_at:
            node.goes_down(key)
        node.play.advance(1.0)
    node.play.advance(30.0)


@pytest.mark.parametrize("crash_at", range(len(STORY)))
@pytest.mark.parametrize("key", [NODE_REGISTRAR, LEASE_KEEPER], ids=lambda key: key.path)
def test_the_end_is_the_same(key: Key[Any], crash_at: int) -> None:
    with node_stage() as node:
        follower = node.follows()
        plays(node, key, crash_at)
        assert len(node.play.endings) == 1
        assert node.states() == {
            "MemoryPressure": "True",
            "DiskPressure": "False",
            "PIDPressure": "False",
            "Ready": "True",
        }
        assert node.node["metadata"]["labels"]["zone"] == "a"
        assert node.lease["metadata"]["ownerReferences"][0]["uid"] == node.uid
        assert node.lease["spec"]["renewTime"] > "2023-11-14T22:14:40"
        assert follower.heard()[-1] == f"is {node.uid}"
