"""What people see of pods in containers: the whole agent, a machine in memory, and what happens on it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from messages.pods import Pod
from tests.environment.machine import Instance, Witness
from tests.environment.node import Node
from tests.environment.runtimes.containers import IMAGES
from tests.simulation.workload import pod_of
from tests.support.builders import make_pod
from tests.support.cri.fake_cri import CONTAINERD_EVENTS, CRI_EVENTS
from tests.support.cri.fake_machine import Behaviour


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(1, tmp_path)
    made.advance(5.0)
    yield made
    assert made.stop() == 0


def pod(kind: str) -> Pod:
    return pod_of("web", "uid-1", kind, random.Random(1))  # not for secrets


def shown(node: Node, group: str, name: str) -> dict[str, Any]:
    """Return the status of one container as the API has it."""
    (status,) = node.statuses().values()
    return next(one for one in status[group] if one["name"] == name)


def test_an_init_container_is_shown_as_it_runs_again_in_a_sandbox_that_was_seen_before_it_did(
    node: Node,
) -> None:
    node.machine.behaviours = {name: Behaviour(run_for=1.0) for name in ("first", "second")}
    node.lists([pod("prepared")])
    node.advance(5.0)
    (sandbox,) = node.machine.sandboxes
    assert shown(node, "containerStatuses", "main")["ready"]
    node.machine.kill_pause(sandbox)
    node.advance(0.5)
    again = shown(node, "initContainerStatuses", "first")
    assert (again["restartCount"], set(again["state"])) == (1, {"running"})
    node.advance(5.0)
    assert shown(node, "initContainerStatuses", "first")["restartCount"] == 1
    assert shown(node, "containerStatuses", "main")["ready"]


class Starts(Witness):
    """Notes what starts, by name."""

    def __init__(self) -> None:
        self.names: list[str] = []

    @override
    def starts(self, one: Instance) -> None:
        self.names.append(one.name)


@pytest.mark.parametrize("events", [CONTAINERD_EVENTS, CRI_EVENTS])
@pytest.mark.parametrize("says_running_for", [0.06, 1.4])
def test_a_sandbox_that_somebody_stops_for_seconds_has_its_init_container_first_in_the_next_one(
    node: Node, events: str, says_running_for: float
) -> None:
    names = [f"c{number}" for number in range(6)]
    slow = Behaviour(says_running_for=says_running_for)
    node.machine.behaviours = {"first": Behaviour(run_for=0.1), **dict.fromkeys(names, slow)}
    node.containers.service.events = (events,)
    node.containers.service.end_streams()
    node.advance(5.0)
    one, *others = ({"name": name, "image": IMAGES[0]} for name in ("first", *names))
    node.lists([make_pod("web", spec={"initContainers": [one], "containers": others})])
    node.advance(5.0)
    starts = node.machine.witness = Starts()
    (sandbox,) = node.machine.sandboxes
    node.machine.stop_sandbox_in_turn(sandbox, takes=says_running_for / 2)
    node.advance(30.0)
    assert starts.names[0] == "first"
    assert sorted(starts.names) == sorted(["first", *names])


def test_a_pod_goes_and_comes_again_though_the_runtime_has_lost_that_its_container_has_ended(
    node: Node,
) -> None:
    web = make_pod(
        "web",
        spec={
            "terminationGracePeriodSeconds": 2,
            "containers": [{"name": "main", "image": IMAGES[0]}],
        },
    )
    node.lists([web])
    node.advance(5.0)
    (first,) = node.machine.containers
    node.machine.lose_exit(first, 0)
    node.lists([])
    node.advance(20.0)
    assert node.statuses() == {}
    node.lists([web])
    node.advance(20.0)
    assert shown(node, "containerStatuses", "main")["ready"]
    (runs,) = node.machine.running()
    assert runs.id != first
    # containerd is started anew, knows what it had lost, and removes it.
    node.wire.go_away()
    node.advance(2.0)
    node.machine.find_exits()
    node.wire.come_back()
    node.lists([])
    node.advance(60.0)
    assert not node.machine.sandboxes


def test_a_pod_that_a_new_agent_hears_of_after_the_runtime_went_is_shown_as_the_runtime_had_it(
    node: Node,
) -> None:
    node.lists([pod("plain")])
    node.machine.end(next(node.machine.running()).id, 1)
    node.advance(5.0)
    before = shown(node, "containerStatuses", "main")
    node.url.trouble = "no answer within 10 s"
    node.is_killed()
    node.advance(1.0)
    node.wire.go_away()
    node.url.trouble = ""
    node.looks_again()
    node.advance(1.0)
    assert before["restartCount"] == 1
    assert shown(node, "containerStatuses", "main") == before
    node.wire.come_back()
