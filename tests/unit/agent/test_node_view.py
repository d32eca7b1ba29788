"""How admission sees the node before an API server shows it."""

from __future__ import annotations

from agent.node_view import configured_node
from tests.support.node.node_stage import FACTS, GIB
from tests.support.settings.settled import settled


def test_a_hollow_node_by_itself_has_labels_and_no_limits() -> None:
    node = configured_node(settled("--runtime=hollow", "--node-labels=zone=a"), FACTS)
    assert node.name == "node-1"
    assert node.labels["kubernetes.io/arch"] == "amd64"
    assert node.labels["zone"] == "a"
    assert node.labels["actorlet/runtime"] == "hollow"
    assert node.allocatable == {}


def test_limits_that_were_told_count() -> None:
    flags = ("--max-pods=7", "--hollow-capacity=cpu=2,memory=1Gi", "--system-reserved=cpu=500m")
    node = configured_node(settled("--runtime=hollow", *flags), FACTS)
    assert node.allocatable == {"cpu": 1500, "memory": GIB - 100 * 2**20, "pods": 7}


def test_a_node_of_a_cluster_has_what_its_machine_has() -> None:
    flags = ("--kubeconfig=k", "--runtime=hollow", "--register-with-taints=a:NoExecute")
    node = configured_node(settled(*flags), FACTS)
    assert node.allocatable["cpu"] == 4000
    assert node.allocatable["pods"] == 110
    assert node.taints == ({"key": "a", "effect": "NoExecute"},)
