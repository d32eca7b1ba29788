"""Probes of real containers, as people read them at a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from messages.pods import JsonObject
from tests.support.agent.joined_agent import JoinedAgent, Onlooker
from tests.support.agent.joined_pods import status
from tests.support.agent.process import eventually
from tests.support.agent.real_node import RealNode
from tests.support.apiserver.subjects import pod
from tests.support.cluster.cluster import Cluster
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX

pytestmark = pytest.mark.cluster


@pytest.fixture
def node(
    tmp_path: Path, cluster: Cluster, onlooker: Onlooker, containerd: Containerd
) -> Iterator[RealNode]:
    with JoinedAgent(tmp_path, cluster.kubeconfig()) as agent:
        yield RealNode(agent, containerd, tmp_path)
    onlooker.wipe()


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Return the folder in which the test tells a container how it is."""
    folder = tmp_path / "told"
    folder.mkdir()
    return folder


def add(onlooker: Onlooker, told: Path, **probes: Any) -> None:
    """Have a pod with probes created that is bound to the node."""
    main = {
        "name": "main",
        "image": BUSYBOX,
        "command": ["sh", "-c", "trap 'exit 3' TERM; while true; do sleep 0.05; done"],
        "volumeMounts": [{"name": "told", "mountPath": "/told"}],
        **probes,
    }
    volumes = [{"name": "told", "hostPath": {"path": str(told)}}]
    onlooker.admin.add(pod("web", hostNetwork=True, containers=[main], volumes=volumes))


def while_there(name: str, **fields: Any) -> JsonObject:
    """Return a probe that succeeds while a file is there."""
    command = f"test -e /told/{name} || {{ echo no {name}; exit 1; }}"
    # Within a second a busy machine runs no command.
    more = {"periodSeconds": 1, "timeoutSeconds": 20, **fields}
    return {"exec": {"command": ["sh", "-c", command]}, **more}


def ready(onlooker: Onlooker) -> JsonObject:
    """Return the pod's condition; empty if there is none."""
    conditions = status(onlooker, "web").get("conditions") or ()
    return next((each for each in conditions if each["type"] == "Ready"), {})


def events(onlooker: Onlooker) -> dict[tuple[str, str], int]:
    """Return how often each event of the pod happened, by reason and message."""
    return {
        (each["reason"], each["message"]): each["count"]
        for each in onlooker.admin.events()
        if each["involvedObject"]["name"] == "web" and each.get("count")
    }


def test_readiness_is_shown_at_the_api_server_with_its_reason_and_survives_a_kill(
    node: RealNode, onlooker: Onlooker, told: Path
) -> None:
    node.starts()
    add(onlooker, told, readinessProbe=while_there("ready", failureThreshold=2))
    eventually(lambda: ready(onlooker).get("reason") == "ContainersNotReady")
    assert ready(onlooker)["message"] == "containers with unready status: [main]"
    eventually(lambda: ("Unhealthy", "Readiness probe failed: no ready") in events(onlooker))
    (told / "ready").touch()
    eventually(lambda: ready(onlooker).get("status") == "True")
    since = ready(onlooker)["lastTransitionTime"]
    node.agent.dies()
    node.starts()
    eventually(lambda: bool(node.agent.json("/probez")["pods"]))
    assert ready(onlooker)["lastTransitionTime"] == since
    (told / "ready").unlink()
    eventually(lambda: ready(onlooker).get("status") == "False")
    assert status(onlooker, "web")["containerStatuses"][0]["restartCount"] == 0


def test_a_container_that_is_killed_for_its_probe_says_so_in_a_kubelets_words(
    node: RealNode, onlooker: Onlooker, told: Path
) -> None:
    (told / "alive").touch()
    node.starts()
    add(onlooker, told, livenessProbe=while_there("alive", failureThreshold=2))
    eventually(lambda: ready(onlooker).get("status") == "True")
    (told / "alive").unlink()
    killing = ("Killing", "Container main failed liveness probe, will be restarted")
    eventually(lambda: killing in events(onlooker))
    (told / "alive").touch()

    def main() -> JsonObject:
        found: JsonObject = status(onlooker, "web")["containerStatuses"][0]
        return found

    # Whoever hears late of it may have seen it killed twice.
    eventually(lambda: main()["restartCount"] >= 1 and main()["ready"])
    assert main()["lastState"]["terminated"]["exitCode"] == 3
    unhealthy = ("Unhealthy", "Liveness probe failed: no alive")
    eventually(lambda: unhealthy in events(onlooker))
