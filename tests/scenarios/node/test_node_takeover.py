"""A Node that was a kubelet's: what it counts and nobody offers any more is taken off, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from actors.node.registrar import NODE_REGISTRAR
from messages.api import FailureKind, Verb
from tests.support.apiserver.fake_api import asks
from tests.support.node.node_stage import RULES, NodeStage, node_stage

REPORTED = "PATCH /api/v1/nodes/n1/status"

A_KUBELETS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {
        "capacity": {"example.org/gpu": "2", "hugepages-2Mi": "1Gi"},
        "allocatable": {"example.org/gpu": "1", "hugepages-2Mi": "1Gi"},
    },
}


@pytest.fixture
def node() -> Iterator[NodeStage]:
    with node_stage(lease=False) as node:
        yield node


def test_resources_that_nobody_offers_any_more_are_taken_off_a_node_that_exists() -> None:
    with node_stage(lease=False, prepare=lambda node: node.store.add(A_KUBELETS)) as node:
        capacity, allocatable = node.resources()
        assert capacity["example.org/gpu"] == allocatable["example.org/gpu"] == "0"
        assert "hugepages-2Mi" not in {**capacity, **allocatable}


@pytest.mark.parametrize(
    "prepare",
    [lambda node: node.store.add(A_KUBELETS), lambda _node: None],
    ids=["taken over", "registered"],
)
def test_resources_that_are_offered_later_are_left_alone(
    prepare: Callable[[NodeStage], object],
) -> None:
    with node_stage(lease=False, prepare=prepare) as node:
        offered = {"example.org/gpu": "4"}
        node.store.change("nodes", "n1", status={"capacity": offered, "allocatable": offered})
        node.play.advance(700.0)
        node.crashes(NODE_REGISTRAR)
        assert REPORTED in node.asked_within(400.0)
        assert [each["example.org/gpu"] for each in node.resources()] == ["4", "4"]


def test_volumes_that_a_kubelet_said_are_in_use_stay_so_whatever_is_reported() -> None:
    volume = "kubernetes.io/csi/disk.example.org^h1"
    attached = [{"name": volume, "devicePath": ""}]
    status = {**A_KUBELETS["status"], "volumesInUse": [volume], "volumesAttached": attached}
    left = {**A_KUBELETS, "status": status}
    with node_stage(lease=False, prepare=lambda node: node.store.add(left)) as node:
        assert node.resources()[0]["example.org/gpu"] == "0"  # the status was written
        assert REPORTED in node.asked_within(700.0)
        node.crashes(NODE_REGISTRAR)
        node.asked_within(700.0)
        shown = node.node["status"]
        assert (shown["volumesInUse"], shown["volumesAttached"]) == ([volume], attached)


@pytest.mark.parametrize("is_made_by", ["the agent", "somebody else"])
def test_a_node_that_is_made_anew_says_which_volumes_are_in_use(is_made_by: str) -> None:
    volumes = ["kubernetes.io/csi/disk.example.org^h1", "kubernetes.io/csi/disk.example.org^h2"]
    left = {**A_KUBELETS, "status": {**A_KUBELETS["status"], "volumesInUse": volumes}}
    with node_stage(lease=False, prepare=lambda node: node.store.add(left)) as node:
        node.crashes(NODE_REGISTRAR)
        node.play.settle()
        node.api.watches.pause()
        node.store.remove("nodes", "n1")
        if is_made_by == "somebody else":
            status = {**A_KUBELETS["status"], "volumesInUse": volumes[1:]}
            node.store.add({**A_KUBELETS, "status": status})
        else:  # it is said by the creation: a report that comes later would be too late
            node.api.calls.fail(FailureKind.FORBIDDEN, when=asks(Verb.PATCH, "/status"), times=1)
        node.api.watches.resume()
        node.play.settle()
        assert sorted(node.node["status"]["volumesInUse"]) == volumes
        # What is taken from the new one on purpose stays away.
        node.store.change("nodes", "n1", status={"volumesInUse": volumes[:1]})
        node.crashes(NODE_REGISTRAR)
        assert REPORTED in node.asked_within(700.0)
        assert node.node["status"]["volumesInUse"] == volumes[:1]


def test_a_node_that_somebody_else_registers_anew_is_taken_over_again(node: NodeStage) -> None:
    node.api.watches.pause()
    node.store.remove("nodes", "n1")
    node.store.add(A_KUBELETS)
    node.api.watches.resume()
    node.play.settle()
    assert node.resources()[0]["example.org/gpu"] == "0"


def test_an_agent_that_does_not_register_takes_no_resources_of_others_away() -> None:
    rules = replace(RULES, register=False)
    with node_stage(rules, lease=False, prepare=lambda node: node.store.add(A_KUBELETS)) as node:
        capacity, _ = node.resources()
        assert capacity["example.org/gpu"] == "2"
        assert "hugepages-2Mi" not in capacity


def test_resources_are_taken_off_by_the_first_report_that_arrives() -> None:
    def prepare(node: NodeStage) -> None:
        node.store.add(A_KUBELETS)
        node.api.calls.fail(FailureKind.FORBIDDEN, when=asks(Verb.PATCH, "/status"), times=7)

    with node_stage(lease=False, prepare=prepare) as node:
        node.crashes(NODE_REGISTRAR)
        assert node.resources()[0]["example.org/gpu"] == "2"
        node.play.advance(60.0)
        assert node.resources()[0]["example.org/gpu"] == "0"
