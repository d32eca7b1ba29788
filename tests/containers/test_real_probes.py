"""Probes of real containers, in the whole agent: what they change, and what outlives what."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from actors.pods.records import decoded_pod
from messages.pods import JsonObject
from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import WholeAgent, in_container
from tests.support.patience import PATIENCE

STUBBORN: Final = "trap 'say term' TERM; say begins; while :; do sleep 0.1; done"
"""Does not end before it is killed."""
A_LONG_GRACE = int(10 * PATIENCE)
"""Seconds. What waits as long is missed."""


@pytest.fixture
def agent(tmp_path: Path, containerd: Containerd) -> Iterator[WholeAgent]:
    with WholeAgent(tmp_path, containerd) as agent:
        yield agent


def file_probe(name: str, **fields: Any) -> JsonObject:
    """Return a probe that succeeds while a file is there, which the test makes."""
    command = {"exec": {"command": ["test", "-e", f"/told/{name}"]}}
    # Within a second a busy machine runs no command.
    return {**command, "periodSeconds": 1, "timeoutSeconds": 20, **fields}


def is_recorded_as_ready(agent: WholeAgent) -> bool:
    """Return whether the only pod's readiness is on disk: what was shown a moment ago may not be yet."""
    pages = (agent.root_dir / "pod-records").glob("*.json")
    kept = [decoded_pod(each.read_bytes()) for each in pages]
    return any(said.is_ready for pod in kept if pod is not None for said in pod.probed.values())


def condition(agent: WholeAgent, name: str, kind: str = "Ready") -> str:
    """Return the status of a condition of a pod."""
    conditions = agent.document(name).get("status", {}).get("conditions") or ()
    return next((each["status"] for each in conditions if each["type"] == kind), "")


def shows(agent: WholeAgent, name: str, field: str) -> bool:
    """Return what the container's status shows: whether it is started, or ready."""
    return agent.status(name).get(field) is True


def a_port() -> int:
    """Return a port that nobody has at present."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_readiness_follows_what_the_container_says(agent: WholeAgent) -> None:
    agent.begins()
    agent.serve("web", main={"readinessProbe": file_probe("web.ready", failureThreshold=1)})
    agent.await_serving("web")
    assert condition(agent, "web") == "False"
    (agent.told / "web.ready").touch()
    eventually(lambda: condition(agent, "web") == "True")
    assert shows(agent, "web", "ready")
    (agent.told / "web.ready").unlink()
    eventually(lambda: condition(agent, "web") == "False")
    assert agent.runs("web", restarts=0)


def test_a_page_is_asked_for_over_the_network(agent: WholeAgent) -> None:
    port = a_port()
    page = {"httpGet": {"host": "127.0.0.1", "port": port, "path": "/page"}, "periodSeconds": 1}
    script = f"say begins; mkdir /www; httpd -p 127.0.0.1:{port} -h /www; sleep 1; touch /www/page;"
    agent.begins()
    agent.serve("web", f"{script} while :; do sleep 0.1; done", main={"readinessProbe": page})
    eventually(lambda: condition(agent, "web") == "True")


def test_nothing_else_is_asked_before_a_container_has_started(agent: WholeAgent) -> None:
    agent.begins()
    agent.serve(
        "web",
        main={
            "startupProbe": file_probe("web.started", failureThreshold=60),
            "livenessProbe": {"exec": {"command": in_container("say alive")}, "periodSeconds": 1},
        },
    )
    agent.await_serving("web")
    assert not shows(agent, "web", "started")
    assert "alive" not in agent.said("web")
    (agent.told / "web.started").touch()
    eventually(lambda: "alive" in agent.said("web"))
    eventually(lambda: shows(agent, "web", "started"))


def test_a_container_that_is_not_alive_starts_again_within_the_grace_of_its_probe(
    agent: WholeAgent,
) -> None:
    agent.begins()
    (agent.told / "web.alive").touch()
    probe = file_probe("web.alive", failureThreshold=1, terminationGracePeriodSeconds=1)
    agent.serve(
        "web", STUBBORN, main={"livenessProbe": probe}, terminationGracePeriodSeconds=A_LONG_GRACE
    )
    agent.await_serving("web")
    (agent.told / "web.alive").unlink()
    eventually(lambda: "term" in agent.said("web"))
    (agent.told / "web.alive").touch()
    agent.await_running("web", restarts=1)
    assert agent.status("web")["lastState"]["terminated"]["exitCode"] == 137


def test_a_command_that_forks_and_hangs_has_failed_at_its_deadline(agent: WholeAgent) -> None:
    agent.begins()
    hangs = {"exec": {"command": ["sh", "-c", "sleep 600 & sleep 600"]}, "periodSeconds": 1}
    (agent.told / "other.ready").touch()
    agent.serve("web", main={"readinessProbe": {**hangs, "timeoutSeconds": 1}})
    agent.serve("other", main={"readinessProbe": file_probe("other.ready")})
    agent.await_serving("web", "other")
    eventually(lambda: condition(agent, "other") == "True")
    (agent.told / "other.ready").unlink()
    eventually(lambda: condition(agent, "other") == "False")
    assert condition(agent, "web") == "False"
    assert agent.runs("web", restarts=0)


def test_what_was_ready_stays_ready_when_the_agent_is_killed(agent: WholeAgent) -> None:
    agent.begins()
    (agent.told / "web.started").touch()
    (agent.told / "web.ready").touch()
    agent.serve(
        "web",
        main={
            "startupProbe": file_probe("web.started"),
            "readinessProbe": file_probe("web.ready", periodSeconds=8, failureThreshold=1),
        },
    )
    eventually(lambda: condition(agent, "web") == "True")
    before = agent.status("web")["containerID"]
    eventually(lambda: is_recorded_as_ready(agent))
    agent.dies()
    (agent.told / "web.started").unlink()  # it is not asked for again
    agent.begins()
    eventually(lambda: agent.runs("web"))
    assert agent.status("web")["containerID"] == before
    assert condition(agent, "web") == "True"
    assert shows(agent, "web", "started")
