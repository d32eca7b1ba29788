"""A virtual node of a real cluster: pods that are bound to it run as processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.joined_agent import JoinedAgent, Onlooker, condition
from tests.support.agent.joined_objects import secret, value
from tests.support.agent.process import ROOT, eventually
from tests.support.apiserver.subjects import pod

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120), pytest.mark.usefixtures("tidy")]

MY_NODE = """
import os
from examples.virtual_node import ProcessNode
from actorlet import NodeReport

class MyNode(ProcessNode):
    def node(self):
        troubles = {"DiskPressure": "the shelf is full"} if os.path.exists(__file__ + ".full") else {}
        return NodeReport(
            capacity={"cpu": "640", "example.com/gpu": "16"},
            labels={"topology.kubernetes.io/zone": "b"},
            conditions=troubles,
        )
"""


def starts(agent: JoinedAgent, folder: Path) -> None:
    """Start the agent with the node of processes that is in ``folder``."""
    agent.start_on_manifests(
        f"--runtime={folder / 'my_node.py'}:MyNode",
        environment={"PROCESS_NODE_DIR": str(folder / "state"), "PYTHONPATH": str(ROOT)},
    )
    eventually(agent.has_joined)


@pytest.fixture
def node(agent: JoinedAgent, tmp_path: Path) -> Iterator[JoinedAgent]:
    """Return an agent that has joined with a node of processes."""
    (tmp_path / "my_node.py").write_text(MY_NODE)
    agent.configure(nodeStatusUpdateFrequency="1s")
    starts(agent, tmp_path)
    yield agent
    for path in (tmp_path / "state").glob("*/*/group"):
        with suppress(ProcessLookupError):
            os.killpg(int(path.read_text()), signal.SIGKILL)


def bound(name: str, script: str, **fields: Any) -> dict[str, Any]:
    """Return a pod that is bound to the node and runs a script of the shell."""
    container = {"name": "main", "image": "none", "command": ["sh", "-c", script], **fields}
    return {
        **pod(
            name,
            containers=[container],
            restartPolicy="Never",
            tolerations=[{"operator": "Exists"}],
            terminationGracePeriodSeconds=5,
        )
    }


def status(onlooker: Onlooker, name: str) -> dict[str, Any]:
    """Return the status of a pod at the API server."""
    found = onlooker.pod(name)
    return dict((found or {}).get("status") or {})


@pytest.mark.usefixtures("node")
def test_a_bound_pod_runs_and_succeeds_and_one_that_is_deleted_goes_by_itself(
    onlooker: Onlooker,
) -> None:
    onlooker.admin.add(bound("sum", "exit 0"))
    onlooker.admin.add(bound("clock", "sleep 600"))
    eventually(lambda: status(onlooker, "sum").get("phase") == "Succeeded")
    eventually(lambda: status(onlooker, "clock").get("phase") == "Running")
    (container,) = status(onlooker, "sum")["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 0
    onlooker.delete("/api/v1/namespaces/default/pods/clock")
    eventually(lambda: onlooker.pod("clock") is None)


def test_a_pod_waits_for_its_secret_and_gets_the_value_as_a_variable(
    node: JoinedAgent, onlooker: Onlooker
) -> None:
    reference = {"secretKeyRef": {"name": "db", "key": "password"}}
    variable = {"name": "PASSWORD", "valueFrom": reference}
    script = f'test "$PASSWORD" = "{value("db")}" || exit 3'
    onlooker.admin.add(bound("user", script, env=[variable]))
    eventually(lambda: status(onlooker, "user").get("phase") == "Pending")
    onlooker.create("/api/v1/namespaces/default/secrets", secret("db"))
    eventually(lambda: status(onlooker, "user").get("phase") == "Succeeded")
    assert value("db") not in node.log()


def test_a_pod_that_cannot_be_run_has_an_event_that_says_why(
    node: JoinedAgent, onlooker: Onlooker
) -> None:
    onlooker.admin.add(pod("imaged", tolerations=[{"operator": "Exists"}]))
    message = "each container needs a command"

    def is_told() -> bool:
        events = [each for each in onlooker.warnings() if each["reason"] == "FailedSync"]
        return any(message in each["message"] for each in events)

    eventually(is_told)
    eventually(lambda: status(onlooker, "imaged").get("phase") == "Pending")
    assert "Traceback" not in node.log()


def test_a_restart_of_the_agent_changes_nothing_that_is_shown_of_a_container(
    node: JoinedAgent, onlooker: Onlooker, tmp_path: Path
) -> None:
    onlooker.admin.add(bound("clock", "sleep 600"))
    eventually(lambda: status(onlooker, "clock").get("phase") == "Running")
    before = status(onlooker, "clock")["containerStatuses"]
    node.dies()
    starts(node, tmp_path)
    onlooker.admin.add(bound("later", "exit 0"))  # what comes after the restart was heard then
    eventually(lambda: status(onlooker, "later").get("phase") == "Succeeded")
    assert status(onlooker, "clock")["containerStatuses"] == before


def test_a_volume_that_is_not_made_is_said_of_its_pod(
    node: JoinedAgent, onlooker: Onlooker
) -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    told = bound("storing", "sleep 600", volumeMounts=mounts)
    told["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    onlooker.admin.add(told)

    def supported() -> dict[str, Any]:
        shown = onlooker.pod("storing") or {}
        found = (shown.get("status") or {}).get("conditions") or ()
        return next((each for each in found if each["type"] == "actorlet/Supported"), {})

    eventually(lambda: supported().get("status") == "False")
    assert supported()["message"].endswith("the pod runs without them: data")
    assert "Traceback" not in node.log()


def is_ready(onlooker: Onlooker) -> dict[str, Any]:
    """Return the Node once it is ready; empty before."""
    node = dict(onlooker.node() or {})
    return node if condition(node, "Ready").get("status") == "True" else {}


@pytest.mark.usefixtures("node")
def test_the_node_is_as_the_class_says(onlooker: Onlooker, tmp_path: Path) -> None:
    shown = eventually(lambda: is_ready(onlooker))
    assert shown["metadata"]["labels"]["topology.kubernetes.io/zone"] == "b"
    assert shown["status"]["capacity"]["cpu"] == "640"
    assert shown["status"]["allocatable"]["example.com/gpu"] == "16"
    assert set(shown["status"]["capacity"]) == {"cpu", "memory", "pods", "example.com/gpu"}
    assert shown["metadata"]["labels"]["actorlet/runtime"] == "virtual"
    assert {"key": "actorlet/virtual", "effect": "NoSchedule"} in shown["spec"]["taints"]
    (tmp_path / "my_node.py.full").touch()
    eventually(
        lambda: (
            condition(onlooker.node() or {}, "DiskPressure").get("message") == "the shelf is full"
        ),
    )
