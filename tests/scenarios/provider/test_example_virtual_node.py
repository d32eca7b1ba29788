"""The example's class, on real threads: real processes are run, end, are stopped, and outlive the agent."""

from __future__ import annotations

import importlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from messages.pod_runtime import PodObserved
from messages.pods import Pod, PodPhase
from tests.support.agent.process import eventually
from tests.support.builders import make_pod
from tests.support.provider.live_runtime import LiveRuntime, live_runtime
from tests.support.provider.provider_stage import loaded_of

pytestmark = pytest.mark.process


def sh(name: str, script: str, **env: str) -> Pod:
    """Return a pod whose container runs a script of the shell."""
    variables = [{"name": key, "value": value} for key, value in env.items()]
    container = {"name": "main", "image": "none", "command": ["sh", "-c", script], "env": variables}
    return make_pod(name, spec={"containers": [container], "restartPolicy": "Never"})


def log(state: Path, pod: Pod) -> str:
    """Return what its container printed."""
    path = state / pod.uid / "main" / "log"
    return path.read_text() if path.exists() else ""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Return the directory of the example's state."""
    return tmp_path / "state"


@pytest.fixture
def make_node(state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """Return what makes an object of the example's class. What its processes do in the end is die."""
    example = importlib.import_module("examples.virtual_node")
    monkeypatch.setattr(example, "STATE", state)
    made: list[Any] = []

    def make() -> Any:
        made.append(example.ProcessNode())
        return made[-1]

    yield make
    for group in state.glob("*/*/group"):
        with suppress(ProcessLookupError):
            os.killpg(int(group.read_text()), signal.SIGKILL)
    for node in made:
        for child in node._children.values():
            child.wait()


@pytest.fixture
def node(make_node: Callable[[], Any]) -> Iterator[LiveRuntime]:
    with live_runtime(loaded_of(make_node())) as node:
        yield node


def exit_code(told: PodObserved) -> int | None:
    current = told.containers["main"].current
    return current.exit_code if current is not None else None


def test_a_command_runs_with_its_variables_and_ends_with_its_exit_code(
    node: LiveRuntime,
    state: Path,
) -> None:
    good = sh("good", "echo $GREETING $((40 + 2)); exit 0", GREETING="hello")
    node.runs(good)
    assert exit_code(node.hears(lambda told: told.phase is PodPhase.SUCCEEDED)) == 0
    assert log(state, good) == "hello 42\n"
    node.runs(sh("bad", "exit 3"))
    assert exit_code(node.hears(lambda told: told.phase is PodPhase.FAILED)) == 3


def test_a_process_is_asked_to_end_and_ends(node: LiveRuntime, state: Path) -> None:
    polite = sh("polite", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    node.runs(polite)
    node.hears(lambda told: told.phase is PodPhase.RUNNING)
    eventually(lambda: log(state, polite))
    mark = node.stops(polite, grace=30.0)
    told = node.hears(lambda told: told.mark == mark)
    assert exit_code(told) == 0
    assert log(state, polite).endswith("bye\n")


def test_a_process_that_does_not_end_is_killed_with_all_its_children(
    node: LiveRuntime,
    state: Path,
) -> None:
    stubborn = sh("stubborn", "trap '' TERM; sleep 600 & sleep 600")
    node.runs(stubborn)
    node.hears(lambda told: told.phase is PodPhase.RUNNING)
    mark = node.stops(stubborn, grace=1.0)
    told = node.hears(lambda told: told.mark == mark)
    assert exit_code(told) == 137
    group = int((state / stubborn.uid / "main" / "group").read_text())
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)


def test_of_a_forgotten_pod_nothing_is_left_and_its_uid_runs_anew(
    node: LiveRuntime, state: Path
) -> None:
    once = sh("once", "exit 0")
    node.runs(once)
    node.hears(lambda told: told.phase is PodPhase.SUCCEEDED)
    mark = node.forgets(once)
    node.hears(lambda told: told.mark == mark)
    assert list(state.iterdir()) == []
    node.runs(once)
    assert node.hears(lambda told: told.phase is PodPhase.SUCCEEDED).mark > mark


def test_a_container_without_a_command_is_said_to_be_impossible(
    node: LiveRuntime, state: Path
) -> None:
    node.runs(make_pod("web"))
    told = node.hears(lambda told: bool(told.troubles))
    assert "each container needs a command" in told.troubles[0].message
    assert list(state.iterdir()) == []


def test_processes_outlive_the_agent_and_are_found_again(
    make_node: Callable[[], Any], state: Path
) -> None:
    pod = sh("lasting", "echo begun; sleep 600")
    with live_runtime(loaded_of(make_node())) as first:
        first.runs(pod)
        first.hears(lambda told: told.phase is PodPhase.RUNNING)
    group = (state / pod.uid / "main" / "group").read_text()
    assert json.loads((state / pod.uid / "whose").read_text())["name"] == "lasting"
    with live_runtime(loaded_of(make_node())) as second:
        second.runs(pod)
        second.hears(lambda told: told.phase is PodPhase.RUNNING)
        assert (state / pod.uid / "main" / "group").read_text() == group
        assert log(state, pod) == "begun\n"
