"""Pods of a real API server in real containers: what becomes of them, and what people read of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from tests.support.agent.joined_agent import JoinedAgent, Onlooker
from tests.support.agent.joined_pods import (
    PodHistory,
    add_ephemeral_container,
    is_gone,
    runs,
    status,
)
from tests.support.agent.process import eventually
from tests.support.agent.real_node import RealNode
from tests.support.apiserver.subjects import PODS, pod
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.fixtures import STOPS_IT
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX

pytestmark = pytest.mark.cluster

SERVES = "trap 'echo term > /told/{0}; exit 3' TERM; while true; do sleep 0.05; done"


class Pods:
    """Pods at the API server, whose containers write into a folder of the node."""

    def __init__(self, onlooker: Onlooker, folder: Path) -> None:
        self.onlooker, self.told = onlooker, folder / "told"
        self.told.mkdir()

    def add(self, name: str, script: str = SERVES, **spec: Any) -> None:
        main = {
            "name": "main",
            "image": BUSYBOX,
            "command": ["sh", "-c", script.format(name)],
            "volumeMounts": [{"name": "told", "mountPath": "/told"}],
            **spec.pop("main", {}),
        }
        volumes = [{"name": "told", "hostPath": {"path": str(self.told)}}]
        more = {"hostNetwork": True, "containers": [main], "volumes": volumes}
        self.onlooker.admin.add(pod(name, **{**more, **spec}))

    def delete(self, name: str, grace: int | None = None) -> None:
        query = {} if grace is None else {"gracePeriodSeconds": str(grace)}
        request = ApiRequest(verb=Verb.DELETE, path=f"{PODS}/{name}", query=query)
        self.onlooker.admin.handle(request)

    def main(self, name: str, kind: str = "containerStatuses") -> JsonObject:
        """Return the status of a pod's only container of a kind."""
        found = status(self.onlooker, name).get(kind) or [{}]
        first: JsonObject = found[0]
        return first

    def events(self, name: str) -> list[tuple[str, str]]:
        """Return reason and message of the events of a pod, in their order."""
        found = [
            each
            for each in self.onlooker.admin.events()
            if each["involvedObject"]["name"] == name
            and each["source"].get("component") != "default-scheduler"
        ]
        found.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [(each["reason"], each["message"]) for each in found]


@pytest.fixture
def pods(onlooker: Onlooker, tmp_path: Path) -> Pods:
    return Pods(onlooker, tmp_path)


@pytest.fixture
def node(
    tmp_path: Path, cluster: Cluster, onlooker: Onlooker, containerd: Containerd
) -> Iterator[RealNode]:
    with JoinedAgent(tmp_path, cluster.kubeconfig()) as agent:
        yield RealNode(agent, containerd, tmp_path)
    onlooker.wipe()


def test_a_pod_that_the_runtime_refuses_for_good_looks_as_if_admission_had_refused_it(
    node: RealNode, pods: Pods, onlooker: Onlooker
) -> None:
    node.starts()
    sysctls = [{"name": "kernel.msgmax", "value": "65536"}]
    pods.add("kernel", securityContext={"sysctls": sysctls})
    eventually(lambda: status(onlooker, "kernel").get("phase") == "Failed")
    eventually(lambda: "SysctlForbidden" in dict(pods.events("kernel")))
    now = status(onlooker, "kernel")
    assert now["reason"] == "SysctlForbidden"
    assert now["message"].startswith("Pod was rejected: forbidden sysctl: ")
    assert now.keys() == {"phase", "reason", "message", "startTime", "qosClass"}

    pods.delete("kernel")
    eventually(lambda: is_gone(onlooker, "kernel"))


def test_a_pod_of_the_host_network_has_its_address_while_it_waits(
    node: RealNode, pods: Pods, onlooker: Onlooker
) -> None:
    node.starts()
    key = {"secretKeyRef": {"name": "none", "key": "a"}}
    pods.add("waits", main={"env": [{"name": "A", "valueFrom": key}]})
    eventually(lambda: "podIP" in status(onlooker, "waits"))
    now = status(onlooker, "waits")
    assert (now["phase"], now["podIP"]) == ("Pending", now["hostIP"])
    assert now["podIPs"][0] == {"ip": now["podIP"]}


def test_pods_go_from_pending_to_their_end_and_restarts_are_counted(
    node: RealNode, pods: Pods, onlooker: Onlooker
) -> None:
    history = PodHistory(onlooker.admin)
    node.starts()
    pods.add("done", "until [ -e /told/go ]; do sleep 0.05; done", restartPolicy="Never")
    pods.add("failed", "exit 7", restartPolicy="Never")
    again = "if [ -e /told/again ]; then exit 0; fi; touch /told/again; exit 4"
    pods.add("job", again, restartPolicy="OnFailure")
    eventually(lambda: status(onlooker, "done").get("phase") == "Running")
    (pods.told / "go").touch()
    eventually(lambda: status(onlooker, "done").get("phase") == "Succeeded")
    eventually(lambda: status(onlooker, "failed").get("phase") == "Failed")
    eventually(lambda: status(onlooker, "job").get("phase") == "Succeeded")
    assert history.phases("done") == ["Pending", "Running", "Succeeded"]
    assert history.phases("failed")[-1] == "Failed"
    assert pods.main("failed")["state"]["terminated"]["exitCode"] == 7
    job = pods.main("job")
    assert (job["restartCount"], job["state"]["terminated"]["reason"]) == (1, "Completed")
    assert job["lastState"]["terminated"]["exitCode"] == 4


def test_a_running_pod_is_debugged_by_a_container_that_comes_to_it(
    node: RealNode, pods: Pods, onlooker: Onlooker
) -> None:
    node.starts()
    pods.add("web")
    eventually(lambda: runs(onlooker, "web"))
    looks = {
        "name": "debugger",
        "image": BUSYBOX,
        "command": ["sh", "-c", "sleep 3600"],
        "targetContainerName": "main",
    }
    add_ephemeral_container(onlooker, "web", looks)

    def debugger() -> JsonObject:
        return pods.main("web", "ephemeralContainerStatuses")

    eventually(lambda: "running" in (debugger().get("state") or {}))
    assert pods.main("web")["restartCount"] == 0
    started = ("Started", "Started container debugger")
    eventually(lambda: started in pods.events("web"))


def test_a_deletion_runs_the_hook_and_lets_the_container_end(
    node: RealNode, pods: Pods, onlooker: Onlooker
) -> None:
    history = PodHistory(onlooker.admin)
    node.starts()
    hook = {"exec": {"command": ["sh", "-c", "echo hook > /told/hook"]}}
    pods.add("soft", main={"lifecycle": {"preStop": hook}})
    pods.add("hard", "trap '' TERM; while true; do sleep 0.05; done")
    eventually(lambda: runs(onlooker, "soft") and runs(onlooker, "hard"))
    pods.delete("soft", 20)
    pods.delete("hard", 0)
    eventually(lambda: is_gone(onlooker, "soft") and is_gone(onlooker, "hard"))
    assert (pods.told / "soft").read_text() == "term\n"
    assert (pods.told / "hook").read_text() == "hook\n"
    assert history.last_state("soft")["terminated"]["exitCode"] == 3
    expected = [
        ("Pulled", f'Container image "{BUSYBOX}" already present on machine'),
        ("Created", "Created container: main"),
        ("Started", "Started container main"),
        ("Killing", "Stopping container main"),
    ]
    eventually(lambda: pods.events("soft") == expected)


def test_pods_that_are_deleted_while_the_agent_is_away_end_as_they_should(
    node: RealNode, pods: Pods, onlooker: Onlooker, containerd: Containerd
) -> None:
    node.starts()
    names = ("soft", "hard", "stays")
    hook = {"exec": {"command": ["sh", "-c", "echo hook >> /told/hook"]}}
    for name in names:
        pods.add(name, main={"lifecycle": {"preStop": hook}})
    eventually(lambda: all(runs(onlooker, name) for name in names))
    node.agent.dies()
    pods.delete("soft", 20)
    pods.delete("hard", 0)
    eventually(lambda: is_gone(onlooker, "hard"))
    node.starts()
    eventually(lambda: is_gone(onlooker, "soft"))
    eventually(lambda: len(containerd.tasks()) == 2)
    assert sorted(each.name for each in pods.told.iterdir()) == ["hard", "hook", "soft"]
    assert (pods.told / "hook").read_text() == "hook\nhook\n"
    assert pods.main("stays")["restartCount"] == 0


@STOPS_IT
def test_what_happens_while_the_api_server_is_away_is_shown_when_it_is_back(
    node: RealNode, pods: Pods, onlooker: Onlooker, cluster: Cluster
) -> None:
    node.starts()
    pods.add("ends", "while [ ! -e /told/end ]; do sleep 0.05; done; exit 9", restartPolicy="Never")
    pods.add("runs")
    eventually(lambda: runs(onlooker, "ends") and runs(onlooker, "runs"))
    cluster.stop_api_server()
    try:
        (pods.told / "end").touch()
        node.agent.dies()
        node.starts()
    finally:
        cluster.bring_back()
    eventually(lambda: status(onlooker, "ends").get("phase") == "Failed")
    assert pods.main("ends")["state"]["terminated"]["exitCode"] == 9
    assert pods.main("runs")["restartCount"] == 0
