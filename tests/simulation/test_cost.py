"""What a node costs at rest is compared exactly, but for what is drawn by chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.environment.node import Node, Sources
from tests.environment.oracle.cost import (
    BETWEEN,
    MORE_OR_LESS,
    Cost,
    CostOfChange,
    cost_of,
    cost_of_change,
    dearer,
    unlike_fresh,
)
from tests.support.builders import make_pod

JOINED = Sources(url=False, directory=True, cluster=True)


def cost(**counts: dict[str, int]) -> Cost:
    none: dict[str, Any] = {"calls": {}, "asked": {}, "handled": {}, "timers": {}}
    return Cost(**(none | counts))


def test_a_joined_node_at_rest_costs_as_much_again_and_its_requests_two_messages_each(
    tmp_path: Path,
) -> None:
    node = Node(1, tmp_path, sources=JOINED)
    node.advance(700.0 + BETWEEN)
    first, then = cost_of(node, 600.0), cost_of(node, 600.0)
    assert then.asked["UPDATE leases"] > 50
    assert list(dearer(first, then)) == []


@pytest.mark.parametrize("then", [0, 2])
@pytest.mark.parametrize(
    ("part", "what", "said"),
    [
        ("calls", "Status", "of Status"),
        ("asked", "PATCH events", "requests to PATCH events"),
        ("handled", "runtime", "runtime"),
        ("timers", "pod-keeper ListDue", "timers of pod-keeper ListDue"),
    ],
)
def test_one_more_or_less_of_anything_is_said(part: str, what: str, said: str, then: int) -> None:
    found = list(dearer(cost(**{part: {what: 1}}), cost(**{part: {what: then}})))
    assert any(said in each for each in found)


def test_of_what_is_drawn_by_chance_a_few_more_or_less_are_not_said() -> None:
    def of(leases: int, timers: int) -> Cost:
        return cost(
            asked={"UPDATE leases": leases},
            handled={"api-calls": 2 * leases, "node/lease": 3 * leases},
            timers={"node/lease LeaseDue": timers},
        )

    before = of(59, 1)
    assert list(dearer(before, of(59 + MORE_OR_LESS, 0))) == []
    assert list(dearer(before, of(59 - MORE_OR_LESS - 1, 1))) == [
        "a while at rest has 56 requests to UPDATE leases, the one before 59"
    ]
    assert list(dearer(before, of(59, 3))) == [
        "after a while at rest there are 3 timers of node/lease LeaseDue, before it 1"
    ]


def test_a_request_that_costs_a_message_too_many_is_said() -> None:
    asked = {"UPDATE leases": 59, "PATCH events": 1, "URL": 7}
    assert list(dearer(cost(), cost(asked={"URL": 7}, handled={}))) == [
        "a while at rest has 7 requests to URL, the one before 0"
    ]
    same = cost(asked=asked, handled={"api-calls": 121})  # one is under way
    assert list(dearer(same, same)) == []
    dear = cost(asked=asked, handled={"api-calls": 180})
    assert list(dearer(dear, dear)) == ["60 requests cost who sends them 180 messages"]


def test_a_new_pod_may_need_fewer_looks_than_in_a_fresh_node_and_nothing_else_may_differ() -> None:
    fresh = CostOfChange({"ListContainers": 4, "RunPodSandbox": 1, "job of the disk": 3}, {})
    fewer = CostOfChange({**fresh.calls, "ListContainers": 2}, {})
    assert list(unlike_fresh(fewer, fresh)) == []
    more = CostOfChange(
        {**fresh.calls, "ListContainers": 5, "job of the disk": 2},
        {"a b": 1},
        frozenset({"c-1.json"}),
    )
    assert list(unlike_fresh(more, fresh)) == [
        "a new pod costs 5 of ListContainers, in a fresh node 4",
        "a new pod costs 2 of job of the disk, in a fresh node 3",
        "for a new pod c-1.json is written, too",
        "a new pod costs 1 timers of a b, in a fresh node 0",
    ]


def test_for_a_new_pod_no_record_of_another_one_is_written(tmp_path: Path) -> None:
    node = Node(1, tmp_path)
    pods = [make_pod(name, uid=f"{name}-1", source="http") for name in ("a", "b", "c")]
    node.lists(pods[:2])
    node.advance(60.0)
    before = cost_of(node, 60.0)
    cost_of_new = cost_of_change(node, lambda: node.lists(pods), before, 60.0)
    assert (tmp_path / "root/pod-records/c-1.json").exists()
    assert cost_of_new.rewritten == frozenset()
