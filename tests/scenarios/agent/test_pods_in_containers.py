"""What people see of pods in containers: the whole agent, a machine in memory, and what happens on it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from messages.pods import Pod
from tests.environment.node import Node
from tests.simulation.workload import pod_of
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
