"""Hooks of real containers, in the whole agent: when they are called, and what becomes of the container."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.process import AgentProcess, eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX
from tests.support.wire.http1_server import Http1Server, http1_server

PATIENT = 60.0
SERVES = "trap 'echo term; exit 3' TERM; echo begins; while true; do sleep 0.1; done"


class Hooked:
    """An agent on a containerd of the tests' own, and a pod on the network of the node."""

    def __init__(self, folder: Path, containerd: Containerd) -> None:
        self.logs = folder / "logs"
        self.agent = AgentProcess(folder)
        configuration = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "podLogsDir": str(self.logs),
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "containerRuntimeEndpoint": f"unix://{containerd.socket}",
        }
        self.configuration = folder / "configuration.json"
        self.configuration.write_text(json.dumps(configuration))

    def start(self) -> None:
        self.agent.start_on_manifests("--runtime=cri", f"--config={self.configuration}")

    def write(self, lifecycle: dict[str, Any], grace: int = 10) -> None:
        container = {
            "name": "main",
            "image": BUSYBOX,
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", SERVES],
            "lifecycle": lifecycle,
        }
        spec = {
            "hostNetwork": True,
            "terminationGracePeriodSeconds": grace,
            "containers": [container],
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}
        self.agent.write("web.yaml", json.dumps(pod))

    def remove(self) -> None:
        (self.agent.manifests / "web.yaml").unlink()

    def said(self) -> list[str]:
        """Return what the container and its hooks have said, in order."""
        files = sorted(self.logs.glob("*web*/main/*.log"))
        return [line.split(" ", 3)[3] for file in files for line in file.read_text().splitlines()]

    def state(self) -> dict[str, Any]:
        """Return the state of the container as ``/pods`` shows it."""
        for pod in self.agent.json("/pods")["items"]:
            for status in pod["status"].get("containerStatuses") or ():
                state: dict[str, Any] = status["state"]
                return state
        return {}


def says(text: str) -> dict[str, Any]:
    """Return a hook that says something in the log of its container."""
    return {"exec": {"command": ["sh", "-c", f"{{ {text}; }} > /proc/1/fd/1"]}}


@pytest.fixture
def hooked(tmp_path: Path, containerd: Containerd) -> Iterator[Hooked]:
    made = Hooked(tmp_path, containerd)
    with made.agent:
        yield made


@pytest.fixture
def server() -> Iterator[Http1Server]:
    with http1_server() as server:
        yield server


def test_hooks_are_called_after_the_start_and_before_the_end(
    hooked: Hooked, containerd: Containerd
) -> None:
    hooked.start()
    hooked.write({"postStart": says("echo started"), "preStop": says("sleep 1; echo stops")})
    eventually(lambda: "running" in hooked.state(), PATIENT)
    lines = hooked.said()
    assert lines == ["begins", "started"]
    hooked.remove()
    seen: list[list[str]] = []  # the log goes with the pod

    def is_gone() -> bool:
        seen.append(hooked.said())
        return not containerd.tasks()

    eventually(is_gone, PATIENT)
    assert max(seen, key=len) == ["begins", "started", "stops", "term"]


def test_a_page_is_asked_for_on_loopback_where_the_pod_has_the_network_of_the_node(
    hooked: Hooked, server: Http1Server
) -> None:
    hooked.start()
    hooked.write({"postStart": {"httpGet": {"path": "/started?web", "port": server.port}}})
    eventually(lambda: "running" in hooked.state(), PATIENT)
    (seen,) = server.seen
    assert seen.target == "/started?web"
    assert seen.values("user-agent") == ["kube-lifecycle/1.34"]


def test_a_container_whose_first_hook_fails_is_killed_and_started_again(hooked: Hooked) -> None:
    hooked.start()
    hooked.write({"postStart": {"exec": {"command": ["sh", "-c", "echo s3cr3t; exit 7"]}}})
    eventually(
        lambda: hooked.state().get("waiting", {}).get("reason") == "CrashLoopBackOff", PATIENT
    )
    log = hooked.agent.log_file.read_text()
    assert "PostStartHook failed: the command exited with code 7" in log
    assert "s3cr3t" not in log
    assert hooked.said() == ["begins", "term", "begins", "term"]


def test_a_command_that_is_not_there_fails_its_hook_and_holds_no_stop_up(
    hooked: Hooked, containerd: Containerd
) -> None:
    hooked.start()
    hooked.write({"preStop": {"exec": {"command": ["no-such-command"]}}})
    eventually(lambda: "running" in hooked.state(), PATIENT)
    hooked.remove()
    eventually(lambda: not containerd.tasks(), PATIENT)
    assert "PreStopHook failed: " in hooked.agent.log_file.read_text()


def test_a_hook_that_takes_too_long_is_given_up_when_the_grace_is_over(
    hooked: Hooked, containerd: Containerd
) -> None:
    hooked.start()
    hooked.write({"preStop": {"exec": {"command": ["sleep", "600"]}}}, grace=2)
    eventually(lambda: "running" in hooked.state(), PATIENT)
    hooked.remove()
    eventually(lambda: not containerd.tasks(), PATIENT)
    assert "PreStopHook failed: given up after 2s" in hooked.agent.log_file.read_text()


def test_an_agent_that_is_killed_in_a_hook_leaves_the_stop_to_the_next_one(
    hooked: Hooked, containerd: Containerd
) -> None:
    hooked.start()
    hooked.write({"preStop": says("echo stops; sleep 2")})
    eventually(lambda: "running" in hooked.state(), PATIENT)
    hooked.remove()
    eventually(lambda: "stops" in hooked.said(), PATIENT)
    hooked.agent.process.kill()
    hooked.agent.process.wait()
    hooked.start()
    eventually(lambda: not containerd.tasks(), PATIENT)
