"""Pods that are configured as the product does it, and run by plain calls: what does a container see?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc

from actors.volumes.mounts.empty_dirs import make_on_disk
from messages.pods import Pod
from messages.volumes import PodVolume
from runtimes.cri.configs.container import ContainerCreation, container_config
from runtimes.cri.configs.documents import security_of, spec_of, volumes_by_name
from runtimes.cri.configs.mounts import MountSituation, container_mounts
from runtimes.cri.configs.node import CriNode, NodeDns
from runtimes.cri.configs.reading import sandbox_observed
from runtimes.cri.configs.sandbox import sandbox_config
from runtimes.cri.configs.security import image_user
from runtimes.cri.disk.pod_files import carry_out
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.agent.process import eventually
from tests.support.builders import make_pod
from tests.support.containers.containerd import Containerd
from tests.support.containers.cri_client import CriClient
from tests.support.containers.images import BUSYBOX

DNS = NodeDns(cluster_servers=("10.96.0.10",), cluster_domain="cluster.local")


class ConfiguredPods:
    """Runs pods on one containerd, with their files in a folder."""

    def __init__(self, containerd: Containerd, folder: Path) -> None:
        self._client = containerd.client()
        self._cgroup = containerd.cgroup
        self.node = CriNode(
            name="node",
            root_dir=str(folder / "root"),
            pod_logs_dir=str(folder / "logs"),
            ips=("192.0.2.1",),
            dns=DNS,
        )
        self.volumes: dict[str, PodVolume] = {}
        """What containers can mount, by name."""
        self.variables: dict[str, str] = {}
        """What parts of volumes are named by."""

    @property
    def client(self) -> CriClient:
        """A connection to the runtime."""
        return self._client

    def close(self) -> None:
        self._client.close()

    def sandbox(self, pod: Pod, attempt: int = 0) -> str:
        """Run a sandbox and return its id."""
        config = self._config(pod, attempt)
        request = cri.RunPodSandboxRequest(config=config)
        return self._client.call(request, cri.RunPodSandboxResponse).pod_sandbox_id

    def ips(self, sandbox: str) -> tuple[str, ...]:
        """Return the addresses of a sandbox."""
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox)
        reply = self._client.call(request, cri.PodSandboxStatusResponse)
        return sandbox_observed(reply.status).ips

    def create(self, pod: Pod, sandbox: str, place: int = 0, target: str = "") -> str:
        """Create one of the pod's containers, and return its id."""
        container = spec_of(pod)["containers"][place]
        ips = self.ips(sandbox) or self.node.ips
        given = MountSituation(ips=ips, volumes=self._volumes(pod), variables=self.variables)
        mounts = container_mounts(pod, container, 0, self.node, given)
        trouble = carry_out(mounts.tasks)
        assert trouble == "", trouble
        found = self._client.call(
            cri.ImageStatusRequest(image=cri.ImageSpec(image=container["image"])),
            cri.ImageStatusResponse,
        ).image
        creation = ContainerCreation(
            pod=pod,
            container=container,
            attempt=0,
            spec_hash="0",
            image_ref=found.id,
            image_user=image_user(found),
            sandbox=self._config(pod, 0),
            node=self.node,
            command=tuple(container.get("command") or ()),
            mounts=mounts.mounts,
            target_id=target,
        )
        request = cri.CreateContainerRequest(
            pod_sandbox_id=sandbox,
            config=container_config(creation),
            sandbox_config=creation.sandbox,
        )
        return self._client.call(request, cri.CreateContainerResponse).container_id

    def start(self, container: str) -> None:
        """Start a container."""
        request = cri.StartContainerRequest(container_id=container)
        self._client.call(request, cri.StartContainerResponse)

    def ended(self, container: str) -> cri.ContainerStatus:
        """Return how a container is once it has ended."""
        return eventually(lambda: self._ended(container))

    def said(self, pod: Pod, sandbox: str = "") -> Sequence[str]:
        """Run the pod's first container to its end, and return the lines that it wrote."""
        container = self.create(pod, sandbox or self.sandbox(pod))
        self.start(container)
        log = Path(self.ended(container).log_path)
        return [line.split(" ", 3)[-1] for line in log.read_text().splitlines()]

    def tried(self, pod: Pod, sandbox: str) -> str:
        """Run the pod's first container to its end, and return what it wrote, or why there is none."""
        try:
            container = self.create(pod, sandbox)
        except AssertionError as refused:
            return f"refused: {refused}"
        try:
            self.start(container)
        except grpc.RpcError:
            self.remove(container)
            return "not started"
        log = Path(self.ended(container).log_path)
        said = log.read_text()
        log.unlink()
        self.remove(container)
        return said.rstrip("\n").rpartition(" ")[2]

    def remove(self, container: str) -> None:
        """Remove a container, so that another one can have its name."""
        request = cri.RemoveContainerRequest(container_id=container)
        self._client.call(request, cri.RemoveContainerResponse)

    def allow(self, **fields: Any) -> None:
        """Change what the node is."""
        self.node = replace(self.node, **fields)

    def _volumes(self, pod: Pod) -> dict[str, PodVolume]:
        """Return the volumes that are there: paths of the node are, and directories of the pod's own."""
        found = dict(self.volumes)
        for name, volume in volumes_by_name(pod).items():
            if "hostPath" in volume:
                found.setdefault(name, PodVolume(path=volume["hostPath"]["path"]))
            elif name not in found:
                made = Path(self.node.root_dir, "pods", pod.uid, "volumes", name)
                group = security_of(spec_of(pod)).get("fsGroup")
                make_on_disk(made, made.with_name(f"{name}-ready"), group)
                found[name] = PodVolume(path=str(made), is_own=True)
        return found

    def _config(self, pod: Pod, attempt: int) -> cri.PodSandboxConfig:
        return sandbox_config(pod, attempt, self.node, cgroup_parent=self._cgroup)

    def _ended(self, container: str) -> cri.ContainerStatus | None:
        status = self._client.container(container)
        return status if status.state == cri.CONTAINER_EXITED else None


def script_pod(script: str, container: dict[str, Any] | None = None, **spec: Any) -> Pod:
    """Return a pod on the node's network whose only container runs a script.

    Its errors go with its output: lines of two streams have no order in a log.
    """
    main = {
        "name": "main",
        "image": BUSYBOX,
        "command": ["sh", "-c", f"exec 2>&1; {script}"],
        **(container or {}),
    }
    return make_pod(spec={"hostNetwork": True, "containers": [main], **spec})
