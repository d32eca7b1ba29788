"""The lives of hollow pods when the agent is killed, or the API server is away.

An agent of its own for each story: two would stand for one node.
"""

from __future__ import annotations

import random
import threading

import pytest

from messages.pods import TERMINAL_PHASES, JsonObject, PodPhase
from tests.support.agent.joined_agent import JoinedAgent, Onlooker
from tests.support.agent.joined_pods import (
    EXITS,
    RUN_FOR,
    PodHistory,
    annotated,
    is_gone,
    runs,
    status,
)
from tests.support.agent.process import eventually
from tests.support.apiserver.subjects import pod
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.fixtures import STOPS_IT

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

RECORDS = "--hollow-records"
JOBS = tuple(f"job-{number}" for number in range(5))


@STOPS_IT
def test_statuses_wait_for_an_api_server_that_is_away(
    agent: JoinedAgent, onlooker: Onlooker, cluster: Cluster
) -> None:
    agent.joins()
    onlooker.admin.add(annotated("job", {RUN_FOR: "4s", EXITS: "3"}, restartPolicy="Never"))
    eventually(lambda: status(onlooker, "job").get("phase") == "Running")
    cluster.stop_api_server()
    try:
        eventually(lambda: _phase_served(agent, "job") == "Failed")
    finally:
        cluster.bring_back()
    eventually(lambda: status(onlooker, "job").get("phase") == "Failed")


def _phase_served(agent: JoinedAgent, name: str) -> str:
    found = (each for each in agent.documents() if each["metadata"]["name"] == name)
    document: JsonObject = next(found, {"status": {}})
    return str(document["status"].get("phase", ""))


@pytest.mark.parametrize("seed", range(3))
def test_an_agent_that_is_killed_at_any_moment_brings_every_pod_to_its_end(
    agent: JoinedAgent, onlooker: Onlooker, history: PodHistory, seed: int
) -> None:
    killed_again_and_again(agent, onlooker, seed, RECORDS)
    for name in JOBS:
        eventually(lambda name=name: status(onlooker, name).get("phase") == "Succeeded")  # type: ignore[misc]
    eventually(lambda: runs(onlooker, "stays"))
    eventually(lambda: runs(onlooker, "static-n1"))
    eventually(lambda: runs(onlooker, "fails"))
    eventually(lambda: is_gone(onlooker, "goes"))
    for name in (*JOBS, "stays", "fails", "static-n1"):
        goes_only_forward(history, name)
        assert PodPhase.FAILED not in history.phases(name)


@pytest.mark.parametrize("seed", range(3))
def test_hollow_containers_that_die_with_the_agent_are_run_again_and_no_pod_is_stuck(
    agent: JoinedAgent, onlooker: Onlooker, history: PodHistory, seed: int
) -> None:
    killed_again_and_again(agent, onlooker, seed)
    for name in JOBS:
        eventually(lambda name=name: status(onlooker, name).get("phase") == "Succeeded")  # type: ignore[misc]
    eventually(lambda: runs(onlooker, "stays"))
    eventually(lambda: runs(onlooker, "static-n1"))
    eventually(lambda: runs(onlooker, "fails"))
    eventually(lambda: is_gone(onlooker, "goes"))
    for name in (*JOBS, "stays", "fails", "static-n1"):
        goes_only_forward(history, name)
        assert PodPhase.FAILED not in history.phases(name)


def killed_again_and_again(agent: JoinedAgent, onlooker: Onlooker, seed: int, *flags: str) -> None:
    """Have pods come and go while the agent is killed four times, and start it again."""
    chance = random.Random(seed)
    agent.joins(*flags)
    for name in JOBS:
        onlooker.admin.add(annotated(name, {RUN_FOR: "500ms"}, restartPolicy="Never"))
    onlooker.admin.add(pod("stays"))
    onlooker.admin.add(pod("goes"))
    # Its second instance runs for good.
    onlooker.admin.add(annotated("fails", {RUN_FOR: "300ms", EXITS: "1,run"}))
    agent.serve("static")
    pause = threading.Event()
    for step in range(4):
        pause.wait(chance.uniform(0.0, 1.5))
        agent.dies()
        if step == 1:
            onlooker.admin.remove("pods", "default", "goes", grace=None)
        agent.start_on_manifests(*flags)


def goes_only_forward(history: PodHistory, name: str) -> None:
    """Fail unless the pod never ran again after its end, and its restart counts never fell."""
    phases = history.phases(name)
    ended = [phase for phase in phases if phase in TERMINAL_PHASES]
    assert phases[len(phases) - len(ended) :] == ended
    assert len(ended) <= 1
    assert "Pending" not in phases[1:]
    counts = history.restarts(name)
    assert counts == sorted(counts)
