"""A Node that is somebody else's is followed and never touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from actors.node.lease_keeper import LEASE_KEEPER
from actors.node.registrar import NODE_REGISTRAR
from messages.node import NodeIsGone
from tests.support.node.node_stage import RULES, NodeStage, node_stage

HOLLOW = {"actorlet/runtime": "hollow"}
PICKY = replace(RULES, labels=HOLLOW, own_label=("actorlet/runtime", "hollow"))
A_REAL_ONE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"zone": "a"}},
}
ITS_LEASE: dict[str, Any] = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "n1", "namespace": "kube-node-lease"},
    "spec": {"holderIdentity": "n1", "renewTime": "2023-11-14T22:13:20.000000Z"},
}
SAID = (
    "the Node n1 exists and has no label actorlet/runtime=hollow, so it is left alone: choose another "
    "name with --hostname-override, or take it over with --force-hollow"
)


def changes(asked: list[str]) -> list[str]:
    return [each for each in asked if not each.startswith("GET")]


def a_real_node(node: NodeStage) -> None:
    node.store.add(A_REAL_ONE)
    node.store.add(ITS_LEASE)


@pytest.fixture
def node() -> Iterator[NodeStage]:
    with node_stage(PICKY, prepare=a_real_node) as node:
        yield node


def test_a_node_that_is_somebody_else_s_is_left_alone_and_so_is_its_lease(node: NodeStage) -> None:
    follower = node.follows()
    follower.expect(NodeIsGone(name="n1", reason=SAID))
    assert changes(node.asked_within(700.0)) == []
    follower.expect_silence()


def test_a_lease_is_not_even_looked_at_before_there_is_a_node() -> None:
    with node_stage(PICKY, registrar=False, prepare=lambda node: node.store.add(ITS_LEASE)) as node:
        assert node.asked_within(120.0) == []
        node.play.tell(LEASE_KEEPER, NodeIsGone(name="n1"))
        node.play.settle()
        assert len(changes(node.asked())) == 1
        node.play.tell(LEASE_KEEPER, NodeIsGone(name="n1", reason=SAID))
        assert node.asked_within(120.0) == []


def test_neither_a_crash_nor_an_outage_changes_that(node: NodeStage) -> None:
    node.crashes(NODE_REGISTRAR)
    node.crashes(LEASE_KEEPER)
    node.api.watches.break_off()
    assert changes(node.asked_within(700.0)) == []
    assert node.node["metadata"]["labels"] == {"zone": "a"}


def test_whoever_labels_the_node_gives_it_away(node: NodeStage) -> None:
    follower = node.follows()
    follower.drain()
    node.store.change("nodes", "n1", metadata={"labels": HOLLOW})
    node.play.settle()
    assert follower.heard()[-1] == f"is {node.uid}"
    assert node.states()["Ready"] == "True"
    node.play.advance(60.0)
    assert node.lease["spec"]["leaseDurationSeconds"] == 40


def test_when_that_node_is_deleted_the_agent_registers_one_of_its_own(node: NodeStage) -> None:
    node.store.remove("nodes", "n1")
    node.play.advance(10.0)
    assert node.node["metadata"]["labels"]["actorlet/runtime"] == "hollow"


def test_a_node_that_was_registered_by_the_agent_is_its_own_after_a_restart() -> None:
    with node_stage(PICKY) as first:
        registered = first.node
    assert registered["metadata"]["labels"]["actorlet/runtime"] == "hollow"
    with node_stage(PICKY, prepare=lambda node: node.store.add(registered)) as node:
        assert node.states()["Ready"] == "True"
        assert node.follows().heard() == [f"is {node.uid}"]


def test_a_node_that_was_the_agent_s_stays_so_when_its_label_is_taken_away() -> None:
    with node_stage(PICKY) as node:
        node.store.change("nodes", "n1", metadata={"labels": {"actorlet/runtime": None}})
        node.play.settle()
        assert node.follows().heard() == [f"is {node.uid}"]
        assert "PATCH /api/v1/nodes/n1/status" in node.asked_within(700.0)


def test_by_force_it_is_taken_over_and_marked() -> None:
    forced = replace(PICKY, own_label=None)
    with node_stage(forced, prepare=a_real_node) as node:
        assert node.node["metadata"]["labels"]["actorlet/runtime"] == "hollow"
        assert node.states()["Ready"] == "True"
