"""A whole agent pulls the images of its pods through a real runtime, with their own credentials."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.process import AgentProcess, eventually
from tests.support.containers import needs
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import LocalImage
from tests.support.containers.registry import Registry, registry_of

NAME = "registry.example"
APP = LocalImage(name=f"{NAME}/team/app:1", config={"Cmd": ["sleep", "infinity"]})


@pytest.fixture
def registry(containerd: Containerd) -> Iterator[Registry]:
    busybox = needs.busybox()
    assert busybox is not None
    with registry_of(NAME, [APP], busybox, ("me", "canary-me")) as registry:
        containerd.add_registry(NAME, registry.port)
        yield registry


@pytest.fixture
def agent(tmp_path: Path, containerd: Containerd) -> Iterator[AgentProcess]:
    """Start an agent with the local Secret ``mine``."""
    objects = tmp_path / "objects"
    objects.mkdir()
    auths = {"auths": {NAME: {"username": "me", "password": "canary-me"}}}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "mine"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(json.dumps(auths).encode()).decode()},
    }
    objects.joinpath("mine.json").touch(mode=0o600)
    objects.joinpath("mine.json").write_text(json.dumps(secret))
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{containerd.socket}",
        "podLogsDir": str(tmp_path / "logs"),
        "cgroupRoot": f"/{containerd.cgroup.strip('/')}",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
    }
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    with AgentProcess(tmp_path) as agent:
        agent.manifests.mkdir()
        agent.start_on_manifests(
            "--runtime=cri", f"--config={file}", f"--local-objects-dir={objects}"
        )
        yield agent


def write_pod(agent: AgentProcess, name: str, *secrets: str, policy: str = "IfNotPresent") -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "hostNetwork": True,
            "terminationGracePeriodSeconds": 0,
            "imagePullSecrets": [{"name": each} for each in secrets],
            "containers": [{"name": "main", "image": APP.name, "imagePullPolicy": policy}],
        },
    }
    agent.write(f"{name}.json", json.dumps(pod))


def container(agent: AgentProcess, name: str) -> Any:
    """Return the state of a pod's container, by its word."""
    for pod in agent.json("/pods")["items"]:
        if pod["metadata"]["name"] == f"{name}-node1":
            for status in pod["status"].get("containerStatuses", ()):
                return status["state"]
    return {}


def test_a_pod_with_the_credentials_runs_and_one_without_them_waits(
    agent: AgentProcess, registry: Registry
) -> None:
    write_pod(agent, "mine", "mine")
    eventually(lambda: "running" in container(agent, "mine"))
    write_pod(agent, "thief")
    eventually(
        lambda: (
            "401 Unauthorized" in container(agent, "thief").get("waiting", {}).get("message", "")
        ),
    )
    write_pod(agent, "never", policy="Never")
    withheld = "but nothing shows that the pod may have it"
    eventually(
        lambda: container(agent, "never").get("waiting", {}).get("message", "").endswith(withheld),
    )
    write_pod(agent, "again", "mine")
    eventually(lambda: "running" in container(agent, "again"))
    assert registry.pulls == ["team/app:1"]
    counted = 'kubelet_image_pull_duration_seconds_count{image_size_in_bytes="0-10MB"} 1.0'
    eventually(lambda: counted in agent.get("/metrics")[1])
    eventually(lambda: "actorlet_image_pull_errors_total" in agent.get("/metrics")[1])
    records = (agent.root_dir / "image-pulls.json").read_text()
    assert "canary" not in records + agent.log()
    agent.stops()
