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

from kernel import ChildSpec, SupervisorSpec
from messages.pod_runtime import ForgetPod, Mark, PodObserved, RunPod, StopPod
from messages.pods import Pod, PodPhase
from messages.units import Seconds
from runtimes.virtual.actor import VIRTUAL_RUNTIME, VirtualPorts, VirtualRuntime
from runtimes.virtual.calls import ThreadedCalls
from runtimes.virtual.memory import RuntimeContext, VirtualMemory, VirtualRules
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, live_stage
from tests.support.virtual.virtual_stage import loaded_of

pytestmark = pytest.mark.process

POLL = VirtualRules(poll=Seconds(0.05))


def sh(name: str, script: str, **env: str) -> Pod:
    """Return a pod whose container runs a script of the shell."""
    variables = [{"name": key, "value": value} for key, value in env.items()]
    container = {"name": "main", "image": "none", "command": ["sh", "-c", script], "env": variables}
    return make_pod(name, spec={"containers": [container], "restartPolicy": "Never"})


class NodeOfProcesses:
    """An agent's runtime with the example's class in it, and the directory of its state."""

    def __init__(self, play: Stage, state: Path) -> None:
        self.play = play
        self.state = state
        self.worker: Probe[PodObserved] = Probe()
        self._number = 0

    def runs(self, pod: Pod) -> None:
        """Have ``pod`` run."""
        self.play.port(VIRTUAL_RUNTIME).tell(
            RunPod(pod=pod, mark=self._mark(), reply_to=self.worker)
        )

    def stops(self, pod: Pod, grace: float) -> Mark:
        """Have it stopped."""
        mark = self._mark()
        self.play.port(VIRTUAL_RUNTIME).tell(
            StopPod(uid=pod.uid, mark=mark, reply_to=self.worker, grace=Seconds(grace))
        )
        return mark

    def forgets(self, pod: Pod) -> Mark:
        """Have it forgotten."""
        mark = self._mark()
        self.play.port(VIRTUAL_RUNTIME).tell(
            ForgetPod(uid=pod.uid, mark=mark, reply_to=self.worker)
        )
        return mark

    def hears(self, wanted: Callable[[PodObserved], bool]) -> PodObserved:
        """Return the first observation that is as wanted."""
        while not wanted(told := self.worker.next()):
            pass
        return told

    def log(self, pod: Pod) -> str:
        """Return what its container printed."""
        return (self.state / pod.uid / "main" / "log").read_text()

    def _mark(self) -> Mark:
        self._number += 1
        return Mark(1, self._number)


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
def node(make_node: Callable[[], Any], state: Path) -> Iterator[NodeOfProcesses]:
    with live_stage(_tree(make_node(), lambda: play)) as play:
        yield NodeOfProcesses(play, state)


def _tree(provider: Any, play: Callable[[], Stage]) -> SupervisorSpec:
    memory, calls = VirtualMemory(), ThreadedCalls()
    loaded = loaded_of(provider)

    def make() -> VirtualRuntime:
        port = play().port(VIRTUAL_RUNTIME)
        provider.attach(RuntimeContext(memory, lambda: port))
        return VirtualRuntime(loaded, calls, VirtualPorts(events=None, me=port), memory, POLL)

    return SupervisorSpec(name="root", children=(ChildSpec(key=VIRTUAL_RUNTIME, factory=make),))


def exit_code(told: PodObserved) -> int | None:
    current = told.containers["main"].current
    return current.exit_code if current is not None else None


def test_a_command_runs_with_its_variables_and_ends_with_its_exit_code(
    node: NodeOfProcesses,
) -> None:
    good = sh("good", "echo $GREETING $((40 + 2)); exit 0", GREETING="hello")
    node.runs(good)
    assert exit_code(node.hears(lambda told: told.phase is PodPhase.SUCCEEDED)) == 0
    assert node.log(good) == "hello 42\n"
    node.runs(sh("bad", "exit 3"))
    assert exit_code(node.hears(lambda told: told.phase is PodPhase.FAILED)) == 3


def test_a_process_is_asked_to_end_and_ends(node: NodeOfProcesses) -> None:
    polite = sh("polite", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    node.runs(polite)
    node.hears(lambda told: told.phase is PodPhase.RUNNING)
    while not node.log(polite):
        node.play.ended.drain()
    mark = node.stops(polite, grace=30.0)
    told = node.hears(lambda told: told.mark == mark)
    assert exit_code(told) == 0
    assert node.log(polite).endswith("bye\n")


def test_a_process_that_does_not_end_is_killed_with_all_its_children(
    node: NodeOfProcesses,
) -> None:
    stubborn = sh("stubborn", "trap '' TERM; sleep 600 & sleep 600")
    node.runs(stubborn)
    node.hears(lambda told: told.phase is PodPhase.RUNNING)
    mark = node.stops(stubborn, grace=1.0)
    told = node.hears(lambda told: told.mark == mark)
    assert exit_code(told) == 137
    group = int((node.state / stubborn.uid / "main" / "group").read_text())
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)


def test_of_a_forgotten_pod_nothing_is_left_and_its_uid_runs_anew(node: NodeOfProcesses) -> None:
    once = sh("once", "exit 0")
    node.runs(once)
    node.hears(lambda told: told.phase is PodPhase.SUCCEEDED)
    mark = node.forgets(once)
    node.hears(lambda told: told.mark == mark)
    assert list(node.state.iterdir()) == []
    node.runs(once)
    assert node.hears(lambda told: told.phase is PodPhase.SUCCEEDED).mark > mark


def test_a_container_without_a_command_is_said_to_be_impossible(node: NodeOfProcesses) -> None:
    node.runs(make_pod("web"))
    told = node.hears(lambda told: bool(told.troubles))
    assert "each container needs a command" in told.troubles[0].message
    assert list(node.state.iterdir()) == []


def test_processes_outlive_the_agent_and_are_found_again(
    make_node: Callable[[], Any], state: Path
) -> None:
    pod = sh("lasting", "echo begun; sleep 600")
    with live_stage(_tree(make_node(), lambda: play)) as play:
        first = NodeOfProcesses(play, state)
        first.runs(pod)
        first.hears(lambda told: told.phase is PodPhase.RUNNING)
    group = (state / pod.uid / "main" / "group").read_text()
    assert json.loads((state / pod.uid / "whose").read_text())["name"] == "lasting"
    with live_stage(_tree(make_node(), lambda: again)) as again:
        second = NodeOfProcesses(again, state)
        second.runs(pod)
        second.hears(lambda told: told.phase is PodPhase.RUNNING)
        assert (state / pod.uid / "main" / "group").read_text() == group
        assert second.log(pod) == "begun\n"
