"""What pods of a cluster ask of the runtime of containers, beyond what their own document can say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from messages.pods import JsonObject
from tests.support.agent.joined_agent import JoinedAgent, Onlooker, condition
from tests.support.agent.joined_objects import wipe_objects
from tests.support.agent.joined_pods import status, waiting
from tests.support.agent.process import eventually
from tests.support.agent.real_node import RealNode, telling
from tests.support.cluster.cluster import Cluster
from tests.support.containers.containerd import Containerd

pytestmark = pytest.mark.cluster

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"


@pytest.fixture
def node(
    tmp_path: Path, cluster: Cluster, onlooker: Onlooker, containerd: Containerd
) -> Iterator[RealNode]:
    with JoinedAgent(tmp_path, cluster.kubeconfig()) as agent:
        yield RealNode(agent, containerd, tmp_path)
    onlooker.wipe()
    wipe_objects(onlooker)


@pytest.fixture
def classes(onlooker: Onlooker) -> Iterator[None]:
    handlers = {"plain": "runc", "strange": "none-such"}
    for name, handler in handlers.items():
        document = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": handler}
        onlooker.create(CLASSES, {**document, "metadata": {"name": name}})
    yield
    for name in handlers:
        onlooker.delete(f"{CLASSES}/{name}")


def messages(onlooker: Onlooker, reason: str) -> list[str]:
    return [each["message"] for each in onlooker.warnings() if each["reason"] == reason]


def supported(onlooker: Onlooker, name: str) -> tuple[str, str]:
    """Return what a pod's condition of the agent's own says: its status and its message."""
    found = condition({"status": status(onlooker, name)}, "actorlet/Supported")
    return found.get("status", ""), found.get("message", "")


@pytest.mark.usefixtures("classes")
def test_the_class_of_a_pod_says_by_which_handler_it_runs(
    node: RealNode, onlooker: Onlooker
) -> None:
    onlooker.admin.add(telling("good", runtimeClassName="plain"))
    onlooker.admin.add(telling("bad", runtimeClassName="strange"))
    node.starts()
    assert eventually(lambda: node.variables("good"))["PATH"]
    (message, *_) = eventually(lambda: messages(onlooker, "FailedCreatePodSandBox"))
    assert "none-such" in message


def test_a_volume_that_there_cannot_be_is_named_and_its_neighbour_runs(
    node: RealNode, onlooker: Onlooker
) -> None:
    nfs = {"server": "files.example", "path": "/data"}
    pod: JsonObject = telling("bad", volumes=[{"name": "data", "nfs": nfs}])
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    onlooker.admin.add(pod)
    onlooker.admin.add(telling("good"))
    node.starts()
    assert eventually(lambda: node.variables("good"))
    (message, *_) = eventually(lambda: messages(onlooker, "FailedMount"))
    assert 'MountVolume.SetUp failed for volume "data"' in message
    assert "nfs" in message
    eventually(lambda: waiting(onlooker, "bad").get("reason") == "ContainerCreating")
    eventually(lambda: supported(onlooker, "bad") == ("False", message))


def test_the_files_of_a_pod_go_with_it(node: RealNode, onlooker: Onlooker) -> None:
    pod: JsonObject = telling("short", volumes=[{"name": "data", "emptyDir": {}}])
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    onlooker.admin.add(pod)
    node.starts()
    assert eventually(lambda: node.variables("short"))
    (files,) = (node.agent.root_dir / "pods").iterdir()
    assert files.joinpath("volumes", "kubernetes.io~empty-dir", "data").is_dir()
    onlooker.admin.remove("pods", "default", "short")
    eventually(lambda: not files.exists())
