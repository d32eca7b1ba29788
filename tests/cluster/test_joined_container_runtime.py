"""How a container runtime is, as a real cluster sees it on the Node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from messages.pods import JsonObject
from tests.support.agent.joined_agent import JoinedAgent, Onlooker, condition
from tests.support.agent.process import eventually
from tests.support.agent.real_node import RealNode
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.fixtures import STOPS_IT
from tests.support.containers.containerd import Containerd

# Of the kind of story that takes half a minute of waiting, as those have that stop the API server.
pytestmark = [pytest.mark.cluster, STOPS_IT]


@pytest.fixture
def node(
    tmp_path: Path, cluster: Cluster, onlooker: Onlooker, containerd: Containerd
) -> Iterator[RealNode]:
    with JoinedAgent(tmp_path, cluster.kubeconfig()) as agent:
        # What is shown sooner than that was told at once, however busy the machine is.
        agent.configure(nodeStatusUpdateFrequency="10m")
        yield RealNode(agent, containerd, tmp_path)
    onlooker.wipe()


def ready(onlooker: Onlooker) -> JsonObject:
    return condition(onlooker.node() or {}, "Ready")


def is_ready(onlooker: Onlooker) -> bool:
    return ready(onlooker).get("status") == "True"


def is_down(onlooker: Onlooker, said: str) -> bool:
    found = ready(onlooker)
    is_so = found.get("status") == "False" and found.get("reason") == "KubeletNotReady"
    return is_so and said in found["message"]


def version(onlooker: Onlooker) -> str:
    return str((onlooker.node() or {})["status"]["nodeInfo"]["containerRuntimeVersion"])


def test_the_node_is_ready_as_long_as_its_container_runtime_and_the_network_are(
    node: RealNode, onlooker: Onlooker, containerd: Containerd
) -> None:
    node.starts()
    network = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady"
    eventually(lambda: is_down(onlooker, network))
    containerd.add_network()
    eventually(lambda: is_ready(onlooker))
    eventually(lambda: version(onlooker).startswith("containerd://1."))
    known = version(onlooker)

    containerd.kill()
    eventually(lambda: is_down(onlooker, "container runtime is down: "))
    containerd.start()
    eventually(lambda: is_ready(onlooker))
    eventually(lambda: version(onlooker) == known)
