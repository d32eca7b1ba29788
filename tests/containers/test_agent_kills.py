"""The whole agent is killed at each step of a start and of a stop: the next one goes on as if nothing was."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.cri_proxy import CriProxy, Step, cri_proxy
from tests.support.containers.whole_agent import WholeAgent

STARTING = [
    Step(method, is_done)
    for method in ("RunPodSandbox", "CreateContainer", "StartContainer")
    for is_done in (False, True)
]
STOPPING = [
    Step(method, is_done)
    for method in ("StopContainer", "StopPodSandbox", "RemovePodSandbox")
    for is_done in (False, True)
]


@pytest.fixture
def agent(tmp_path: Path, containerd: Containerd) -> Iterator[WholeAgent]:
    with WholeAgent(tmp_path, containerd) as agent:
        yield agent


@pytest.fixture
def proxy(tmp_path: Path, containerd: Containerd, agent: WholeAgent) -> Iterator[CriProxy]:
    with cri_proxy(containerd.socket, tmp_path) as proxy:
        agent.socket = proxy.socket
        yield proxy


def named(step: Step) -> str:
    return str(step).lower()


def test_killed_at_each_step_of_a_start_it_starts_everything_once(
    agent: WholeAgent, proxy: CriProxy
) -> None:
    names = [named(step) for step in STARTING]
    for name, step in zip(names, STARTING, strict=True):
        proxy.hold(f"{name}-node1", step)
        agent.serve(name)
    agent.begins()
    proxy.await_all()
    agent.dies()
    proxy.open_all()
    agent.begins()
    agent.await_running(*names, restarts=0)
    once = {name: ["begins"] for name in names}
    eventually(lambda: {name: agent.said(name) for name in names} == once)
    assert {name: agent.instances(name) for name in names} == {
        name: [(0, "running")] for name in names
    }


def test_told_to_end_it_waits_for_sandboxes_that_are_being_made_but_not_for_long(
    agent: WholeAgent, proxy: CriProxy
) -> None:
    proxy.hold("web-node1", Step("RunPodSandbox", is_done=False))
    agent.serve("web")
    agent.begins()
    proxy.await_all()
    agent.send(signal.SIGTERM)
    assert agent.ends() == 0
    assert "ending while sandboxes are being made" in agent.log()
    proxy.open_all()
    agent.begins()
    agent.await_running("web", restarts=0)
    eventually(lambda: agent.said("web") == ["begins"])


def test_killed_at_each_step_of_a_stop_it_stops_everything_once(
    agent: WholeAgent, proxy: CriProxy
) -> None:
    names = [named(step) for step in STOPPING]
    for name in names:
        agent.serve(name)
    agent.begins()
    agent.await_serving(*names)
    for name, step in zip(names, STOPPING, strict=True):
        proxy.hold(f"{name}-node1", step)
        agent.withdraw(name)
    proxy.await_all()
    agent.dies()
    proxy.open_all()
    agent.begins()
    agent.await_nothing()
    assert {name: agent.said(name) for name in names} == {
        name: ["begins", "term"] for name in names
    }
    eventually(lambda: agent.json("/pods")["items"] == [])


def test_pods_run_and_end_though_runtime_and_agent_are_killed_while_they_do(
    agent: WholeAgent,
) -> None:
    names = [f"pod-{number}" for number in range(10)]
    for name in names:
        agent.serve(name)
    agent.begins()
    eventually(lambda: any(agent.said(name) for name in names))
    agent.containerd.kill()
    agent.dies()
    agent.containerd.launch()
    agent.begins()
    agent.await_running(*names)
    for name in names:
        agent.withdraw(name)
    eventually(lambda: any("term" in agent.said(name) for name in names))
    agent.containerd.restart()
    agent.await_nothing()
    assert {agent.said(name).count("term") for name in names} <= {0, 1}
