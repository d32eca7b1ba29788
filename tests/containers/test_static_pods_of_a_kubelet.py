"""A kubelet has left static pods on a node, and an agent takes the node over."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from messages.pods import JsonObject
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.agent.process import ROOT, AgentProcess, eventually
from tests.support.containers.as_a_kubelet import AsAKubelet, static_uid
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX, SERVER
from tests.support.patience import PATIENCE


class NodeOfAKubelet:
    """A node on which a kubelet ran static pods, and the agent that comes after it."""

    def __init__(self, folder: Path, containerd: Containerd) -> None:
        self.containerd = containerd
        self.kubelet = AsAKubelet(containerd, folder)
        self.agent = AgentProcess(folder)
        self.agent.manifests.mkdir()
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{containerd.socket}",
            "podLogsDir": str(folder / "logs"),
            "cgroupRoot": f"/{containerd.cgroup.strip('/')}",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
        }
        self._config = folder / "config.json"
        self._config.write_text(json.dumps(config))

    def serve(self, manifest: JsonObject) -> None:
        """Put a manifest in place."""
        self.agent.write(f"{manifest['metadata']['name']}.json", json.dumps(manifest))

    def starts(self, *flags: str) -> None:
        """Start the agent."""
        self.agent.start_on_manifests("--runtime=cri", f"--config={self._config}", *flags)

    def launches(self, *flags: str) -> None:
        """Start the agent without waiting for it."""
        flags = (f"--pod-manifest-path={self.agent.manifests}", *flags)
        self.agent.start("--runtime=cri", f"--config={self._config}", *flags)

    def explained(self, *flags: str) -> tuple[int, dict[str, Any]]:
        """Return the exit code and the answer of a dry run."""
        command = [sys.executable, str(ROOT / "run.py"), "--explain-takeover", "--output=json"]
        command += ["--hostname-override=node1", f"--root-dir={self.agent.root_dir}"]
        command += [f"--config={self._config}", f"--pod-manifest-path={self.agent.manifests}"]
        ended = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
        return ended.returncode, json.loads(
            ended.stdout or f'{{"said": {json.dumps(ended.stderr)}}}'
        )

    def dies(self) -> None:
        """End the agent with no chance to say good-bye."""
        self.agent.send(signal.SIGKILL)
        self.agent.ends()

    def status(self, name: str) -> Any:
        """Return the status of a pod's first container."""
        for pod in self.agent.json("/pods")["items"]:
            if pod["metadata"]["name"] == f"{name}-node1":
                for status in pod["status"].get("containerStatuses", ()):
                    return status
        return {}

    def is_running(self, name: str) -> bool:
        """Return whether a pod's container runs."""
        return "running" in self.status(name).get("state", {})

    def runs(self, name: str) -> None:
        """Return once a pod's container runs."""
        eventually(lambda: self.is_running(name))

    def has_on_record(self, uid: str) -> bool:
        """Whether the agent has kept what the container of a pod was when it first saw it."""
        page = self.agent.root_dir / "pod-records" / f"{uid}.json"
        return page.exists() and '"digests": {"main": ' in page.read_text()

    def started_at(self, container: str) -> int:
        """Return when a container was started, in nanoseconds."""
        with self.containerd.client() as client:
            return client.container(container).started_at

    def live(self, name: str) -> list[cri.Container]:
        """Return the containers of a static pod that run."""
        with self.containerd.client() as client:
            return [
                each
                for each in client.containers()
                if each.state == cri.CONTAINER_RUNNING
                and each.labels["io.kubernetes.pod.name"] == f"{name}-node1"
            ]


def manifest(name: str, /, **container: Any) -> dict[str, Any]:
    script = "trap 'echo bye >/dev/termination-log; exit 0' TERM; while true; do sleep 0.1; done"
    command = ["sh", "-c", script]
    main = {"name": "main", "image": BUSYBOX, "command": command, **container}
    spec = {"hostNetwork": True, "terminationGracePeriodSeconds": 5, "containers": [main]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def as_static(document: JsonObject) -> dict[str, Any]:
    """Return the pod that a kubelet makes of a manifest."""
    pod = deepcopy({**document})
    name = pod["metadata"]["name"]
    pod["metadata"] = {
        "name": f"{name}-node1",
        "namespace": "default",
        "uid": static_uid(json.dumps(document)),
    }
    return pod


@pytest.fixture
def node(tmp_path: Path, containerd: Containerd) -> Iterator[NodeOfAKubelet]:
    node = NodeOfAKubelet(tmp_path, containerd)
    with node.agent:
        yield node


@pytest.mark.parametrize("is_old", [False, True], ids=["since 1.31", "before 1.31"])
def test_with_the_flag_static_pods_go_on_under_their_uids_and_without_it_from_then_on(
    node: NodeOfAKubelet,
    is_old: bool,  # noqa: FBT001
) -> None:
    web = manifest("web")
    ids = node.kubelet.runs(as_static(web), source="file", is_old=is_old, attempt=2)
    node.serve(web)
    node.starts("--adopt-static-pods")
    node.runs("web")
    status = node.status("web")
    assert status["containerID"] == f"containerd://{ids['main']}"
    assert (status["restartCount"], "terminated" in status["lastState"]) == (2, True)
    assert node.agent.pods() == {"web-node1": as_static(web)["metadata"]["uid"]}
    node.agent.stops()

    node.starts()
    node.runs("web")
    assert [each.id for each in node.live("web")] == [ids["main"]]
    assert node.agent.pods() == {"web-node1": as_static(web)["metadata"]["uid"]}

    node.containerd.kill_task(ids["main"])
    (next_one,) = eventually(lambda: [x for x in node.live("web") if x.id != ids["main"]])
    assert next_one.metadata.attempt == 3
    assert next_one.annotations["io.kubernetes.container.restartCount"] == "3"
    assert next_one.labels["io.kubernetes.pod.uid"] == as_static(web)["metadata"]["uid"]
    assert (node.agent.root_dir / "kept-static-uids-file.json").exists()


def test_a_manifest_that_changes_after_that_is_replaced_old_pod_first(node: NodeOfAKubelet) -> None:
    web = manifest("web")
    old = node.kubelet.runs(as_static(web), source="file")
    node.serve(web)
    node.starts("--adopt-static-pods")
    node.runs("web")
    node.dies()
    node.serve(manifest("web", env=[{"name": "NEW", "value": "yes"}]))
    node.starts("--adopt-static-pods")
    (new,) = eventually(lambda: [x for x in node.live("web") if x.id != old["main"]])
    assert [each.id for each in node.live("web")] == [new.id]
    assert new.labels["io.kubernetes.pod.uid"] != as_static(web)["metadata"]["uid"]
    node.serve(web)
    eventually(
        lambda: {as_static(web)["metadata"]["uid"]} == set(node.agent.pods().values()), PATIENCE
    )


def test_without_the_flag_each_is_stopped_in_its_grace_and_started_one_after_the_other(
    node: NodeOfAKubelet,
) -> None:
    names = [f"web{number}" for number in range(4)]
    old = {}
    for name in names:
        old[name] = node.kubelet.runs(as_static(manifest(name)), source="file")["main"]
        node.serve(manifest(name))
    node.starts()
    fewest = len(names)
    most = dict.fromkeys(names, 0)

    def are_all_new() -> bool:
        nonlocal fewest
        live = {name: [each.id for each in node.live(name)] for name in names}
        fewest = min(fewest, sum(bool(ids) for ids in live.values()))
        for name, ids in live.items():
            most[name] = max(most[name], len(ids))
        return all(ids and ids != [old[name]] for name, ids in live.items())

    eventually(are_all_new)
    assert fewest >= len(names) - 1
    assert set(most.values()) == {1}
    said = [file.read_text() for file in node.kubelet.messages()]
    assert said == ["bye\n"] * len(names)
    log = node.agent.log()
    announced = log.index("static pods that a kubelet started are stopped and started once")
    assert announced < log.index("stopping a pod")


def test_a_pod_that_is_replaced_has_its_hook_called_before_it_is_stopped(
    node: NodeOfAKubelet,
) -> None:
    hook = {"exec": {"command": ["sh", "-c", "echo hook >>/dev/termination-log"]}}
    script = "trap 'echo bye >>/dev/termination-log; exit 0' TERM; while true; do sleep 0.1; done"
    web = manifest("web", command=["sh", "-c", script], lifecycle={"preStop": hook})
    old = node.kubelet.runs(as_static(web), source="file")["main"]
    node.serve(web)
    node.starts()
    eventually(lambda: [each.id for each in node.live("web")] not in ([old], []), PATIENCE)
    assert [file.read_text() for file in node.kubelet.messages()] == ["hook\nbye\n"]


def test_pods_of_other_images_and_other_containers_are_not_adopted(node: NodeOfAKubelet) -> None:
    node.kubelet.runs(as_static(manifest("image", image=SERVER)), source="file")
    node.kubelet.runs(as_static(manifest("names", name="other")), source="file")
    node.kubelet.runs(as_static(manifest("source")), source="http")
    for name in ("image", "names", "source"):
        node.serve(manifest(name))
    node.starts("--adopt-static-pods")
    kubelet_s = {
        as_static(manifest(name))["metadata"]["uid"] for name in ("image", "names", "source")
    }
    for name in ("image", "names"):
        node.runs(name)
    assert kubelet_s.isdisjoint(node.agent.pods().values())


@pytest.mark.parametrize("flags", [("--adopt-static-pods",), ()], ids=["adopting", "replacing"])
def test_an_agent_that_is_killed_again_and_again_meanwhile_ends_the_same_way(
    node: NodeOfAKubelet, flags: tuple[str, ...]
) -> None:
    names = ["web0", "web1"]
    old = {}
    for name in names:
        old[name] = node.kubelet.runs(as_static(manifest(name)), source="file")["main"]
        node.serve(manifest(name))
    once = "keeps the UID" if flags else "stopping a pod"
    said = ""
    for mark in ("starting", "the container runtime is there", once, "started"):
        node.agent.log_file.unlink(missing_ok=True)
        node.launches(*flags)
        # The life before was killed after its mark, and may have done by then what is done once.
        node.agent.logs("started" if mark == once and once in said else mark, PATIENCE)
        node.dies()
        said += node.agent.log()
        assert all(len(node.live(name)) <= 1 for name in names)
    node.starts(*flags)
    for name in names:
        node.runs(name)
    live = {name: [each.id for each in node.live(name)] for name in names}
    if flags:
        assert live == {name: [old[name]] for name in names}
    else:
        assert all(len(ids) == 1 and ids != [old[name]] for name, ids in live.items())


def test_a_record_that_is_lost_or_torn_costs_nothing(node: NodeOfAKubelet) -> None:
    web = manifest("web")
    ids = node.kubelet.runs(as_static(web), source="file")
    node.serve(web)
    record = node.agent.root_dir / "kept-static-uids-file.json"
    for spoil in (record.unlink, lambda: record.write_text("torn")):
        node.starts("--adopt-static-pods")
        node.runs("web")
        node.agent.stops()
        spoil()
    node.starts("--adopt-static-pods")
    node.runs("web")
    assert [each.id for each in node.live("web")] == [ids["main"]]
    assert record.with_suffix(".unusable").exists()


def fates(answer: dict[str, Any]) -> dict[str, str]:
    return {each["name"].removesuffix("-node1"): each["fate"] for each in answer["pods"]}


def test_a_dry_run_tells_what_becomes_of_each_pod_and_touches_nothing(node: NodeOfAKubelet) -> None:
    node.kubelet.runs(as_static(manifest("same")), source="file", is_old=True)
    node.kubelet.runs(as_static(manifest("image", image=SERVER)), source="file")
    node.kubelet.runs(as_static(manifest("gone")), source="file")
    node.kubelet.runs(as_static(manifest("bound")), source="api")
    for name in ("same", "image", "new"):
        node.serve(manifest(name))
    with node.containerd.client() as client:
        before = {(each.id, each.state) for each in client.containers()}
    code, answer = node.explained("--adopt-static-pods")
    assert (code, answer["undisturbed"]) == (1, False)
    expected = {
        "same": "adopt",
        "image": "replace",
        "gone": "stop",
        "bound": "stop",
        "new": "start",
    }
    assert fates(answer) == expected
    whys = {each["name"]: each["why"] for each in answer["pods"]}
    assert (
        whys["image-node1"] == f"container main has image {SERVER}, and {BUSYBOX} in the manifest"
    )
    assert fates(node.explained()[1])["same"] == "replace"
    with node.containerd.client() as client:
        assert {(each.id, each.state) for each in client.containers()} == before
    assert not node.agent.root_dir.exists()


@pytest.mark.timeout(240)
def test_an_edit_of_a_container_without_a_digest_is_told_as_what_the_agent_then_does(
    node: NodeOfAKubelet,
) -> None:
    web = manifest("web")
    web["metadata"]["uid"] = "web-of-its-user"
    made = as_static(web)
    made["metadata"]["uid"] = "web-of-its-user"
    old = node.kubelet.runs(made, source="file")["main"]
    node.serve(web)
    code, answer = node.explained()
    assert (code, fates(answer)) == (0, {"web": "adopt"})
    node.starts()
    node.runs("web")
    eventually(lambda: node.has_on_record("web-of-its-user"))
    assert [each.id for each in node.live("web")] == [old]
    node.dies()

    web["spec"]["containers"][0]["env"] = [{"name": "NEW", "value": "yes"}]
    node.serve(web)
    code, answer = node.explained()
    assert (code, fates(answer)) == (1, {"web": "restart"})
    assert answer["pods"][0]["why"] == "container main is another one in the manifest"
    node.starts()
    eventually(lambda: [each.id for each in node.live("web")] not in ([], [old]))


def test_a_dry_run_that_cannot_ask_ends_with_2(node: NodeOfAKubelet) -> None:
    node.serve(manifest("web"))
    assert node.explained()[0] == 0
    code, answer = node.explained("--container-runtime-endpoint=unix:///nowhere.sock")
    assert (code, "cannot be asked" in answer["said"]) == (2, True)
    code, answer = node.explained("--pod-manifest-path=/nowhere")
    assert (code, answer["said"]) == (2, "actorlet: /nowhere does not exist\n")


def test_what_the_agent_makes_is_what_a_kubelet_would_have_made(node: NodeOfAKubelet) -> None:
    web = manifest("web", ports=[{"containerPort": 8080}])
    web["metadata"]["labels"] = {"app": "web"}
    node.serve(web)
    node.starts()
    node.runs("web")
    pod = as_static(web)
    pod["metadata"] |= {"uid": node.agent.pods()["web-node1"], "labels": {"app": "web"}}
    with node.containerd.client() as client:
        sandbox, container = node.kubelet.expected(client, pod, "file")
        (made,) = node.live("web")
        (around,) = client.sandboxes()
        status = client.container(made.id)
    assert around.metadata == sandbox.metadata
    assert around.labels.items() >= sandbox.labels.items()
    assert around.annotations.keys() >= sandbox.annotations.keys()
    assert around.annotations["kubernetes.io/config.source"] == "file"
    assert made.metadata == container.metadata
    assert made.labels.items() >= container.labels.items()
    assert made.annotations.items() >= container.annotations.items()
    assert json.loads(made.annotations["io.kubernetes.container.ports"])[0]["containerPort"] == 8080
    assert status.log_path == f"{sandbox.log_directory}/{container.log_path}"


def test_the_page_s_way_there_and_back(node: NodeOfAKubelet) -> None:
    """Follow docs/moving-from-a-kubelet.md: ask, move, look, and go back."""
    web = manifest("web")
    ids = node.kubelet.runs(as_static(web), source="file", is_old=True)
    node.serve(web)
    assert node.explained("--adopt-static-pods")[0] == 0
    assert node.explained()[0] == 1
    started = node.started_at(ids["main"])
    node.starts("--adopt-static-pods")
    node.runs("web")
    assert "a static pod keeps the UID under which it runs" in node.agent.log()
    code, answer = node.explained()
    assert (code, fates(answer)) == (0, {"web": "adopt"})
    node.agent.stops()
    (left,) = node.live("web")
    assert (left.id, node.started_at(left.id)) == (ids["main"], started)
    assert left.labels["io.kubernetes.pod.uid"] == as_static(web)["metadata"]["uid"]
