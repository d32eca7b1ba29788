"""The examples of probes do in real containers what their comments say."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import WholeAgent
from tests.support.project.examples import EXAMPLES


@pytest.fixture
def agent(tmp_path: Path, containerd: Containerd) -> Iterator[WholeAgent]:
    containerd.add_network()
    with WholeAgent(tmp_path, containerd) as agent:
        agent.begins()
        yield agent


def apply(agent: WholeAgent, name: str) -> None:
    """Put an example in place, as a user does."""
    agent.write(f"{name}.yaml", (EXAMPLES / "manifests" / f"{name}.yaml").read_text())


def is_ready(agent: WholeAgent, name: str) -> bool:
    return agent.status(name, "server").get("ready") is True


def ready_since(agent: WholeAgent, name: str) -> datetime:
    """Return when a pod became ready, as its status says, in whole seconds."""
    conditions = agent.document(name)["status"]["conditions"]
    (found,) = (each for each in conditions if each["type"] == "Ready")
    return datetime.fromisoformat(found["lastTransitionTime"])


def restarts(agent: WholeAgent, name: str) -> int:
    count: int = agent.status(name, "server").get("restartCount", 0)
    return count


def test_a_slow_start_is_no_reason_for_a_restart(agent: WholeAgent) -> None:
    apply(agent, "slow-start")
    eventually(lambda: is_ready(agent, "slow-start"))
    began = agent.status("slow-start", "server")["state"]["running"]["startedAt"]
    assert ready_since(agent, "slow-start") - datetime.fromisoformat(began) > timedelta(seconds=8)
    assert agent.status("slow-start", "server")["started"]
    assert restarts(agent, "slow-start") == 0


def test_readiness_comes_and_goes_without_a_restart(agent: WholeAgent) -> None:
    apply(agent, "comes-and-goes")
    for expected in (True, False, True):
        eventually(lambda e=expected: is_ready(agent, "comes-and-goes") is e)  # type: ignore[misc]
    assert restarts(agent, "comes-and-goes") == 0


def test_a_server_that_gets_stuck_starts_again_long_before_its_pods_grace_is_over(
    agent: WholeAgent,
) -> None:
    apply(agent, "gets-stuck")
    eventually(lambda: is_ready(agent, "gets-stuck"))
    began = time.monotonic()
    eventually(lambda: restarts(agent, "gets-stuck") >= 1)
    assert time.monotonic() - began < 55.0
    assert agent.status("gets-stuck", "server")["lastState"]["terminated"]["exitCode"] == 137
