"""A node with pods of a cluster goes from a kubelet to the agent, and no container restarts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from messages.api import ApiRequest, Patch, Verb
from messages.pods import JsonObject
from tests.support.agent.joined_agent import NODE_NAME, JoinedAgent, Onlooker
from tests.support.agent.process import eventually
from tests.support.agent.real_node import RealNode
from tests.support.apiserver.subjects import NODES, PODS, pod
from tests.support.cluster.cluster import Cluster
from tests.support.containers.as_a_kubelet import AsAKubelet, static_uid
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX, SERVER

pytestmark = pytest.mark.cluster

MAIN = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", "while true; do sleep 0.1; done"]}


@pytest.fixture
def node(
    tmp_path: Path, cluster: Cluster, onlooker: Onlooker, containerd: Containerd
) -> Iterator[RealNode]:
    with JoinedAgent(tmp_path, cluster.kubeconfig()) as agent:
        yield RealNode(agent, containerd, tmp_path)
    onlooker.wipe()


def bound(name: str) -> JsonObject:
    more: dict[str, Any] = {"hostNetwork": True, "terminationGracePeriodSeconds": 0}
    return pod(name, **more, containers=[MAIN])


def container(onlooker: Onlooker, name: str) -> Any:
    """Return what the API server shows of a pod's container."""
    shown = onlooker.pod(name) or {}
    return next(iter(shown.get("status", {}).get("containerStatuses", ())), {})


def is_shown(onlooker: Onlooker, name: str) -> bool:
    return "running" in container(onlooker, name).get("state", {})


@pytest.mark.parametrize("is_old", [False, True], ids=["since 1.31", "before 1.31"])
def test_pods_of_the_api_server_go_on_until_their_image_changes(
    node: RealNode,
    onlooker: Onlooker,
    containerd: Containerd,
    tmp_path: Path,
    is_old: bool,  # noqa: FBT001
) -> None:
    kubelet = AsAKubelet(containerd, tmp_path)
    onlooker.admin.add(bound("web"))
    web = eventually(lambda: onlooker.pod("web"))
    ids = kubelet.runs(web, is_old=is_old, attempt=1)
    node.starts()
    eventually(lambda: is_shown(onlooker, "web"))
    shown = container(onlooker, "web")
    assert shown["containerID"] == f"containerd://{ids['main']}"
    assert (shown["restartCount"], "terminated" in shown["lastState"]) == (1, True)

    node.agent.dies()
    node.starts()
    eventually(lambda: node.agent.metric("actorlet_mirrors") is not None)
    body = {"spec": {"containers": [{"name": "main", "image": SERVER}]}}
    patch = ApiRequest(verb=Verb.PATCH, path=f"{PODS}/web", body=body, patch=Patch.STRATEGIC)
    assert container(onlooker, "web")["containerID"] == f"containerd://{ids['main']}"
    onlooker.admin.handle(patch)
    eventually(lambda: container(onlooker, "web").get("restartCount") == 2)
    with containerd.client() as client:
        made = [each for each in client.containers() if each.metadata.attempt == 2]
    assert [each.annotations["io.kubernetes.container.restartCount"] for each in made] == ["2"]


def test_the_mirror_that_a_kubelet_made_of_an_adopted_pod_stays(
    node: RealNode, onlooker: Onlooker, containerd: Containerd, tmp_path: Path
) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "etcd"},
        "spec": {"hostNetwork": True, "containers": [MAIN]},
    }
    uid = static_uid("etcd")
    static = {
        **manifest,
        "metadata": {"name": f"etcd-{NODE_NAME}", "namespace": "default", "uid": uid},
    }
    ids = AsAKubelet(containerd, tmp_path).runs(static, source="file", is_old=True)
    machine = onlooker.create(
        NODES, {"kind": "Node", "apiVersion": "v1", "metadata": {"name": NODE_NAME}}
    )
    owner = {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME, "controller": True}
    mirror = pod(f"etcd-{NODE_NAME}", hostNetwork=True, containers=[MAIN])
    mirror["metadata"]["annotations"] = {
        "kubernetes.io/config.hash": uid,
        "kubernetes.io/config.mirror": uid,
        "kubernetes.io/config.source": "file",
    }
    mirror["metadata"]["ownerReferences"] = [{**owner, "uid": machine["metadata"]["uid"]}]
    made = onlooker.create(PODS, mirror)
    node.agent.write("etcd.yaml", json.dumps(manifest))
    node.starts("--adopt-static-pods")
    eventually(lambda: is_shown(onlooker, f"etcd-{NODE_NAME}"))
    shown = onlooker.pod(f"etcd-{NODE_NAME}") or {}
    assert shown["metadata"]["uid"] == made["metadata"]["uid"]
    assert container(onlooker, f"etcd-{NODE_NAME}")["containerID"] == f"containerd://{ids['main']}"
