"""How a whole agent says how its container runtime is: in health, in metrics, and to pods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.process import AgentProcess, eventually
from tests.support.containers.cgroups import make_cgroup
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX


class Watched:
    """An agent on a containerd of the tests' own."""

    def __init__(self, folder: Path, containerd: Containerd) -> None:
        self.containerd = containerd
        self.agent = AgentProcess(folder)
        self.agent.manifests.mkdir()
        self.cgroup = f"/{containerd.cgroup.strip('/')}"
        self._file = folder / "config.json"
        self._logs = folder / "logs"

    def begins(self, **fields: Any) -> None:
        """Start the agent, whether its runtime is there or not."""
        configuration = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{self.containerd.socket}",
            "podLogsDir": str(self._logs),
            "cgroupRoot": self.cgroup,
            **fields,
        }
        self._file.write_text(json.dumps(configuration))
        path = f"--pod-manifest-path={self.agent.manifests}"
        self.agent.start("--runtime=cri", path, f"--config={self._file}")

    def serves(self, name: str, request: str = "0", **spec: Any) -> None:
        """Put the manifest of a pod in place."""
        container = {
            "name": "main",
            "image": BUSYBOX,
            "command": ["sleep", "1000"],
            "resources": {"requests": {"cpu": request}},
        }
        more = {"terminationGracePeriodSeconds": 0, "containers": [container], **spec}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": more}
        self.agent.write(f"{name}.json", json.dumps(pod))

    def health(self, path: str) -> tuple[int, dict[str, str]]:
        """Return the verdict of a path, and its checks by their names."""
        status, text = self.agent.get(f"{path}?verbose")
        lines = (line[3:].partition(" ") for line in text.splitlines() if line.startswith("["))
        return status, {name: said for name, _, said in lines}

    def is_ready_again(self) -> bool:
        status, checks = self.health("/readyz")
        return status == 200 and checks["container-runtime"].startswith("ok: containerd ")

    def is_unready_for(self, said: str) -> bool:
        status, checks = self.health("/readyz")
        return status == 500 and said in checks["container-runtime"]

    def runs(self, name: str) -> bool:
        """Return whether a pod is shown as running."""
        return self._phase(name) == "Running"

    def _phase(self, name: str) -> str:
        for pod in self.agent.json("/pods")["items"]:
            if pod["metadata"]["name"] == f"{name}-node1":
                return str(pod["status"].get("phase", ""))
        return ""


@pytest.fixture
def node(tmp_path: Path, containerd: Containerd) -> Iterator[Watched]:
    make_cgroup(containerd.cgroup)
    watched = Watched(tmp_path, containerd)
    with watched.agent:
        yield watched


def test_a_runtime_that_dies_and_comes_back_is_shown_at_once_each_time(node: Watched) -> None:
    node.begins()
    eventually(node.is_ready_again)
    assert node.health("/healthz")[1]["pleg"].startswith("ok: last seen active ")
    node.containerd.kill()
    eventually(lambda: node.is_unready_for("failed: nobody listens at "))
    assert node.health("/healthz")[0] == 200
    node.containerd.start()
    eventually(node.is_ready_again)


def test_a_socket_that_is_missing_at_the_start_is_waited_for(node: Watched) -> None:
    node.containerd.kill()
    node.containerd.socket.unlink(missing_ok=True)
    node.begins()
    eventually(lambda: node.is_unready_for("failed: there is no socket at "))
    node.agent.logs("the container runtime cannot be used")
    assert node.agent.log().count("the container runtime cannot be used") == 1
    node.containerd.start()
    eventually(node.is_ready_again)


def test_pods_wait_for_a_network_and_those_of_the_host_run(node: Watched) -> None:
    node.begins()
    node.serves("inside")
    node.serves("host", hostNetwork=True)
    eventually(lambda: node.runs("host"))
    assert not node.runs("inside")
    status, checks = node.health("/readyz")
    assert status == 200
    assert "NetworkReady=false" in checks["container-runtime-network"]
    node.agent.logs("network is not ready: container runtime network not ready")
    node.containerd.add_network()
    eventually(lambda: node.runs("inside"))
    eventually(lambda: "container-runtime-network" not in node.health("/readyz")[1])


def test_calls_and_looks_are_counted_by_a_kubelets_names(node: Watched) -> None:
    node.begins()
    node.serves("host", hostNetwork=True)
    eventually(lambda: node.runs("host"))
    calls = ("version", "status", "run_podsandbox", "create_container", "start_container")
    wanted = {
        *(f'kubelet_runtime_operations_total{{operation_type="{each}"}}' for each in calls),
        "kubelet_pleg_relist_duration_seconds_count",
        "kubelet_pleg_last_seen_seconds",
        "kubelet_evented_pleg_connection_success_count",
        "kubelet_evented_pleg_connection_latency_seconds_count",
        *(
            f'kubelet_cgroup_manager_duration_seconds_count{{operation_type="{each}"}}'
            for each in ("create", "update")
        ),
    }
    eventually(lambda: counted(node) >= wanted)


def counted(node: Watched) -> set[str]:
    """Return the metrics that are more than nothing."""
    lines = node.agent.get("/metrics")[1].splitlines()
    values = (line.rsplit(" ", 1) for line in lines if line and line[0] != "#")
    return {name for name, value in values if float(value) > 0}


def shares(node: Watched) -> str:
    """Return the shares of burstable pods."""
    for hierarchy in ("cpu,cpuacct", "cpu", ""):
        for name in ("cpu.shares", "cpu.weight"):
            file = Path(f"/sys/fs/cgroup/{hierarchy}{node.cgroup}/kubepods/burstable/{name}")
            if file.is_file():
                return file.read_text().strip()
    return ""


def test_burstable_pods_have_together_what_they_request(node: Watched) -> None:
    node.begins()
    node.serves("one", "500m", hostNetwork=True)
    eventually(lambda: shares(node) in {"512", "20"})
    node.serves("two", "1500m", hostNetwork=True)
    eventually(lambda: shares(node) in {"2048", "79"})
    (node.agent.manifests / "two.json").unlink()
    eventually(lambda: shares(node) in {"512", "20"})
