"""Pods that come to request other resources while they run: what the node has no room for (rules L9, L14)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actors.pods.keeper_parts import POD_KEEPER
from actors.pods.node_fit import NodeView
from kernel import Runtime
from messages.pod_runtime import RunPod
from messages.pods import API, Pod
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld, api_pod, lives_stage

FOUR_CPUS = NodeView(name="node", allocatable={"cpu": 4000, "pods": 10})


@pytest.fixture
def lives(runtime: Runtime) -> Iterator[LivesStage]:
    with lives_stage(runtime, LivesWorld(node=FOUR_CPUS)) as lives:
        yield lives


def asking(name: str, cpu: int) -> Pod:
    """Return a pod of the API whose container requests so many processors."""
    resources = {"requests": {"cpu": str(cpu)}}
    return api_pod(name, spec={"containers": [{"name": "main", "resources": resources}]})


def pending(lives: LivesStage, pod: Pod) -> list[tuple[str, str]]:
    """Return what the status says of a resize that has to wait."""
    conditions = lives.status(pod).conditions
    return [(each.reason, each.message) for each in conditions if each.type == "PodResizePending"]


def given(lives: LivesStage, pod: Pod) -> str:
    """Return how many processors the runtime gives a pod."""
    command = lives.machine.pods[pod.uid].command
    assert isinstance(command, RunPod)
    return str(command.pod.document["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def test_a_pod_that_is_made_larger_counts_with_what_it_requests_now(lives: LivesStage) -> None:
    lives.lists(API, asking("web", 1))
    lives.lists(API, asking("web", 3))
    assert given(lives, asking("web", 3)) == "3"
    lives.lists(API, asking("web", 3), asking("late", 2))
    assert lives.status(asking("late", 2)).reason == "OutOfcpu"


def test_a_pod_that_is_made_smaller_makes_room(lives: LivesStage) -> None:
    lives.lists(API, asking("web", 3))
    lives.lists(API, asking("web", 1))
    lives.lists(API, asking("web", 1), asking("late", 3))
    assert lives.machine.running() == ["late/main", "web/main"]


def test_a_pod_keeps_what_it_has_until_there_is_room_for_more(lives: LivesStage) -> None:
    web, larger, shop = asking("web", 1), asking("web", 3), asking("shop", 2)
    lives.lists(API, web, shop)
    lives.lists(API, larger, shop)
    assert given(lives, web) == "1"
    message = "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
    assert pending(lives, web) == [("Deferred", message)]
    assert [event.reason for event in lives.world.events.drain()] == ["ResizeDeferred"]
    lives.crashes(POD_KEEPER.path)
    assert given(lives, web) == "1"

    lives.lists(API, larger)
    assert given(lives, web) == "3"
    assert pending(lives, web) == []


def test_room_that_another_pod_gives_up_goes_to_the_pod_that_waits(lives: LivesStage) -> None:
    larger = asking("web", 3)
    lives.lists(API, asking("web", 1), asking("shop", 2))
    lives.lists(API, larger, asking("shop", 2))
    lives.lists(API, larger, asking("shop", 1))
    assert (given(lives, larger), pending(lives, larger)) == ("3", [])


def test_what_the_node_could_never_give_is_infeasible(lives: LivesStage) -> None:
    lives.lists(API, asking("web", 1))
    lives.lists(API, asking("web", 5))
    message = "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000"
    assert pending(lives, asking("web", 5)) == [("Infeasible", message)]
    lives.lists(API, asking("web", 1))
    assert pending(lives, asking("web", 1)) == []


def test_a_pod_that_is_held_back_is_deleted_like_any_other(lives: LivesStage) -> None:
    lives.lists(API, asking("web", 1))
    lives.lists(API, asking("web", 5))
    gone = api_pod("web", deleting=True)
    lives.lists(API, gone)
    assert lives.machine.running() == []
    lives.lists(API)
    assert lives.described().lives == {}
