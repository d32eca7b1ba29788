"""What the Node has, and what of it pods may request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.node.rules import NodeResources, allocatable, capacity, written
from manifests.thresholds import Threshold, parse_threshold
from tests.support.node.node_stage import FACTS, GIB

MACHINE = {"cpu": 4000, "memory": 8 * GIB, "ephemeral-storage": 100 * GIB, "pods": 110}


def left(**told: Any) -> dict[str, int]:
    return allocatable(NodeResources(**told), FACTS)


def test_a_node_has_what_its_machine_has() -> None:
    assert capacity(NodeResources(), FACTS) == MACHINE


def test_a_kubelet_s_thresholds_stay_free() -> None:
    assert left() == {
        **MACHINE,
        "memory": 8 * GIB - 100 * 2**20,
        "ephemeral-storage": 90 * GIB,
    }


def test_what_is_reserved_and_what_stays_free_is_for_no_pod() -> None:
    amounts = left(
        reserved={"cpu": 1500, "memory": GIB, "ephemeral-storage": GIB, "pid": 100},
        thresholds={
            "memory.available": Threshold(share=0.25),
            "nodefs.available": Threshold(amount=GIB),
        },
    )
    assert amounts == {
        "cpu": 2500,
        "memory": 5 * GIB,
        "ephemeral-storage": 98 * GIB,
        "pods": 110,
    }


def test_there_is_never_less_than_nothing() -> None:
    assert left(reserved={"cpu": 9000})["cpu"] == 0


def test_what_is_stated_counts_in_place_of_the_machine() -> None:
    stated = {"cpu": 32_000, "example.com/gpu": 8, "pods": 5000}
    assert capacity(NodeResources(stated=stated), FACTS) == {**MACHINE, **stated}


def test_a_node_that_is_no_machine_has_no_limit_of_what_is_not_stated() -> None:
    told = NodeResources(is_machine=False, max_pods=None)
    assert capacity(told, FACTS) == allocatable(told, FACTS) == {}
    stated = replace(told, stated={"memory": GIB}, max_pods=7)
    assert capacity(stated, FACTS) == {"memory": GIB, "pods": 7}
    assert allocatable(stated, FACTS) == {"memory": GIB - 100 * 2**20, "pods": 7}


@pytest.mark.parametrize(
    ("told", "pods"),
    [
        (NodeResources(pods_per_core=10), 40),
        (NodeResources(pods_per_core=50), 110),
        (NodeResources(pods_per_core=10, max_pods=None), 40),
        (NodeResources(pods_per_core=10, stated={"cpu": 2500}), 20),
        (NodeResources(pods_per_core=10, is_machine=False, max_pods=None), 40),
    ],
)
def test_pods_may_be_limited_by_cores(told: NodeResources, pods: int) -> None:
    assert capacity(told, FACTS)["pods"] == pods


def test_amounts_are_written_as_quantities() -> None:
    assert written({"cpu": 1500, "memory": 1025, "example.com/gpu": 2048, "hugepages-2Mi": 0}) == {
        "cpu": "1500m",
        "memory": "1025",
        "example.com/gpu": "2048",
        "hugepages-2Mi": "0",
    }


@pytest.mark.parametrize("text", ["", "%", "-1%", "101%", "-5", "1 %", "a", "1e", "1000%"])
def test_what_is_neither_amount_nor_share_is_no_threshold(text: str) -> None:
    with pytest.raises(ValueError, match="an amount such as"):
        parse_threshold(text)


def test_a_share_of_what_is_unknown_is_nothing() -> None:
    assert parse_threshold("10%").of(None) == 0
    assert parse_threshold("5").of(None) == 5
    assert parse_threshold("100%").of(7) == 7
