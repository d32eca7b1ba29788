"""A service that starts before its container runtime, or together with it: it waits, and never pretends."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals

import pytest

from tests.support.agent.installed import Installed
from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.service_agent import ServiceAgent

NONE = (
    "there is no socket at /run/containerd/containerd.sock, /run/crio/crio.sock or "
    "/run/cri-dockerd.sock"
)
LATE = 3.0
"""Seconds by which a runtime is late."""
ORDERS = {
    "agent, then containerd": ("agent", "containerd"),
    "containerd, then agent": ("containerd", "agent"),
    "both at once": ("agent and containerd",),
}
SAME = [(order, how, how) for how in (SIGKILL, SIGTERM) for order in ORDERS]
MIXED = [
    (order, *how) for how in ((SIGKILL, SIGTERM), (SIGTERM, SIGKILL)) for order in [*ORDERS][:2]
]
RESTARTS = (*SAME, *MIXED)
"""In which order agent and containerd end, and by which signals."""


@pytest.fixture
def agent(tmp_path: Path, installed: Installed, containerd: Containerd) -> Iterator[ServiceAgent]:
    with ServiceAgent(tmp_path, installed, containerd) as agent:
        yield agent


def is_unready_for(agent: ServiceAgent, reason: str) -> bool:
    status, said = agent.get("/readyz")
    return status == 500 and reason in said


def code_that_runs(agent: ServiceAgent) -> str:
    """Return what the agent says of its own code in its metrics."""
    found = re.search(r'actorlet_build_info{code="(\w+)"', agent.get("/metrics")[1])
    return found[1] if found else ""


def runtime_of(agent: ServiceAgent) -> str:
    return str(agent.json("/ui/agent")["runtime"]["text"])


def test_a_runtime_that_comes_three_seconds_late_runs_the_pods(agent: ServiceAgent) -> None:
    agent.serve("web")
    agent.begins()
    eventually(lambda: is_unready_for(agent, NONE))
    late = time.monotonic() + LATE
    eventually(lambda: time.monotonic() > late)
    assert code_that_runs(agent) == agent.installed.code()
    assert agent.document("web")["status"]["phase"] == "Pending"
    assert is_unready_for(agent, NONE)
    assert runtime_of(agent) == NONE
    assert 'runtime=cri socket="there is no socket at' in agent.log().splitlines()[0]
    assert not agent.containerd.ids()

    agent.finds_containerd()
    agent.await_serving("web")
    assert agent.instances("web") == [(0, "running")]
    assert agent.is_ready()
    name = "at /run/containerd/containerd.sock"
    assert runtime_of(agent).startswith("containerd 1.")
    assert runtime_of(agent).endswith(name)
    assert agent.stops() == 0


def test_what_was_found_once_is_waited_for_and_no_other_runtime_is_taken(
    agent: ServiceAgent,
) -> None:
    agent.serve("web")
    agent.finds_containerd()
    agent.begins()
    agent.await_serving("web")
    agent.dies()
    agent.loses_containerd()
    (agent.run / "crio").mkdir()
    (agent.run / "crio/crio.sock").symlink_to(agent.socket)
    agent.begins()
    alone = "there is no socket at /run/containerd/containerd.sock"
    eventually(lambda: is_unready_for(agent, f"{alone}\n"))
    agent.finds_containerd()
    agent.await_running("web", restarts=0)
    assert agent.instances("web") == [(0, "running")]


def test_two_agents_that_wait_for_one_runtime_do_not_share_it(
    agent: ServiceAgent, tmp_path: Path
) -> None:
    other_folder = tmp_path / "other"
    with ServiceAgent(other_folder, agent.installed, agent.containerd, run=agent.run) as other:
        for each in (agent, other):
            each.begins()
            eventually(lambda each=each: is_unready_for(each, NONE))  # type: ignore[misc]
        agent.finds_containerd()
        used = "uses the container runtime at /run/containerd/containerd.sock"

        def one_of_them() -> tuple[ServiceAgent, ServiceAgent] | None:
            for first, second in ((agent, other), (other, agent)):
                if first.is_ready() and is_unready_for(second, used):
                    return first, second
            return None

        first, second = eventually(one_of_them)
        assert first.stops() == 0
        eventually(second.is_ready)


def test_nothing_is_ever_hollow_or_runs_twice_while_runtime_and_agent_restart_together(
    agent: ServiceAgent,
) -> None:
    agent.serve("web")
    agent.serve("ends")
    agent.finds_containerd()
    agent.begins()
    agent.await_serving("web", "ends")
    for number, (order, how_agent, how_containerd) in enumerate(RESTARTS, 1):
        end(agent, order, how_agent, how_containerd)
        agent.end("ends", 0)
        eventually(lambda: agent.said("ends")[-1:] == ["ends"])
        agent.begins()
        if number % 2:
            eventually(lambda: is_unready_for(agent, "container-runtime"))
        agent.containerd.launch()
        agent.finds_containerd()
        agent.await_running("web", restarts=0)
        agent.await_running("ends", restarts=number)
        agent.await_serving("ends", times=number + 1)
        assert runtime_of(agent).startswith("containerd 1.")
    assert agent.instances("web") == [(0, "running")]
    assert agent.said("web") == ["begins"]
    assert agent.said("ends") == ["begins", "ends"] * len(RESTARTS) + ["begins"]
    assert [each for each in agent.instances("ends") if each[1] == "running"] == [(10, "running")]
    assert "runtime=hollow" not in agent.log()


def end(agent: ServiceAgent, order: str, how_agent: Signals, how_containerd: Signals) -> None:
    """End both, and have no socket where an agent looks for one, as after a boot."""
    for together in ORDERS[order]:
        if "agent" in together:
            agent.send(how_agent)
        if "containerd" in together:
            agent.containerd.send(how_containerd)
        if "agent" in together:
            assert agent.ends() == (0 if how_agent is SIGTERM else -SIGKILL)
        if "containerd" in together:
            agent.containerd.ends()
    agent.loses_containerd()
