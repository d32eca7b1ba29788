"""What a kubelet leaves on a node: sandboxes and containers with its labels, annotations, names and logs.

Nothing of the agent's own code takes part, so what the agent reads here is what kubelets write.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

import grpc

from messages.pods import JsonObject
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.containers.containerd import Containerd
from tests.support.containers.cri_client import CriClient

SEEN: Final = "2026-01-02T03:04:05.678901234Z"
OLD_HASH: Final = "5ca1ab1e"
"""As kubelets before 1.31 have it: of the whole container, so nobody else can compute it."""


def kubelet_hash(name: str, image: str) -> str:
    """Return the hash of a container as kubelets have it since 1.31."""
    document = json.dumps({"image": image, "name": name}, separators=(",", ":")).encode()
    value = 0x811C9DC5
    for byte in f"([]uint8)[{' '.join(map(str, document))}]".encode():
        value = ((value ^ byte) * 0x01000193) % 2**32
    return format(value, "x")


def static_uid(text: str) -> str:
    """Return a UID as a kubelet gives it to a static pod: an MD5, of things that only it knows."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


class AsAKubelet:
    """Runs pods on a containerd as a kubelet does, and leaves them."""

    def __init__(self, containerd: Containerd, folder: Path) -> None:
        self._containerd = containerd
        self._logs = folder / "logs"
        self._root = folder / "kubelet"

    def runs(
        self,
        pod: JsonObject,
        *,
        source: str = "api",
        is_old: bool = False,
        attempt: int = 0,
    ) -> dict[str, str]:
        """Run a pod; return the ids of its containers by name. ``is_old``: a kubelet before 1.31."""
        config = self._sandbox(pod, source)
        with self._containerd.client() as client:
            request = cri.RunPodSandboxRequest(config=config)
            sandbox = client.call(request, cri.RunPodSandboxResponse).pod_sandbox_id
            ids: dict[str, str] = {}
            for container in pod["spec"]["containers"]:
                name = container["name"]
                for number in range(attempt + 1):
                    if number:
                        stop = cri.StopContainerRequest(container_id=ids[name])
                        client.call(stop, cri.StopContainerResponse)
                    made = cri.CreateContainerRequest(
                        pod_sandbox_id=sandbox,
                        sandbox_config=config,
                        config=self._container(client, pod, container, number, is_old=is_old),
                    )
                    ids[name] = self._start(client, made)
            return ids

    @staticmethod
    def _start(client: CriClient, made: cri.CreateContainerRequest) -> str:
        """Create a container and start it; on a busy machine runc fails now and then."""
        for tries_left in reversed(range(3)):
            created = client.call(made, cri.CreateContainerResponse).container_id
            start = cri.StartContainerRequest(container_id=created)
            try:
                client.call(start, cri.StartContainerResponse)
            except grpc.RpcError:
                remove = cri.RemoveContainerRequest(container_id=created)
                client.call(remove, cri.RemoveContainerResponse)
                if not tries_left:
                    raise
            else:
                return created
        raise AssertionError("it was tried three times")

    def expected(
        self, client: CriClient, pod: JsonObject, source: str
    ) -> tuple[cri.PodSandboxConfig, cri.ContainerConfig]:
        """Return what a kubelet would ask for, for a pod and its first container."""
        container = pod["spec"]["containers"][0]
        made = self._container(client, pod, container, 0, is_old=False)
        return self._sandbox(pod, source), made

    def messages(self) -> list[Path]:
        """Return the files that containers wrote their last words to."""
        return sorted(self._root.glob("pods/*/containers/*/*"))

    def _sandbox(self, pod: JsonObject, source: str) -> cri.PodSandboxConfig:
        metadata = pod["metadata"]
        name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
        annotations = {
            **metadata.get("annotations", {}),
            "kubernetes.io/config.seen": SEEN,
            "kubernetes.io/config.source": source,
        }
        if source != "api":
            annotations["kubernetes.io/config.hash"] = uid
        config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=name, namespace=namespace, uid=uid, attempt=0),
            labels={**metadata.get("labels", {}), **self._owner(pod)},
            annotations=annotations,
            log_directory=str(self._logs / f"{namespace}_{name}_{uid}"),
        )
        config.linux.cgroup_parent = self._containerd.cgroup
        config.linux.security_context.namespace_options.network = cri.NODE
        return config

    def _container(
        self,
        client: CriClient,
        pod: JsonObject,
        container: JsonObject,
        attempt: int,
        *,
        is_old: bool,
    ) -> cri.ContainerConfig:
        name, image = container["name"], container["image"]
        wanted = cri.ImageStatusRequest(image=cri.ImageSpec(image=image))
        found = client.call(wanted, cri.ImageStatusResponse).image
        grace = pod["spec"].get("terminationGracePeriodSeconds", 30)
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=name, attempt=attempt),
            image=cri.ImageSpec(image=found.id),
            command=container.get("command", ()),
            labels={**self._owner(pod), "io.kubernetes.container.name": name},
            annotations={
                "io.kubernetes.container.hash": OLD_HASH if is_old else kubelet_hash(name, image),
                "io.kubernetes.container.restartCount": str(attempt),
                "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
                "io.kubernetes.container.terminationMessagePolicy": "File",
                "io.kubernetes.pod.terminationGracePeriod": str(grace),
            },
            log_path=f"{name}/{attempt}.log",
        )
        if "lifecycle" in container:
            hook = json.dumps(container["lifecycle"]["preStop"], separators=(",", ":"))
            config.annotations["io.kubernetes.container.preStopHandler"] = hook
        folder = self._root / "pods" / pod["metadata"]["uid"] / "containers" / name
        folder.mkdir(parents=True, exist_ok=True)
        message = folder / f"{attempt:08x}"
        message.touch()
        config.mounts.add(container_path="/dev/termination-log", host_path=str(message))
        return config

    @staticmethod
    def _owner(pod: JsonObject) -> dict[str, str]:
        metadata = pod["metadata"]
        return {
            "io.kubernetes.pod.name": metadata["name"],
            "io.kubernetes.pod.namespace": metadata["namespace"],
            "io.kubernetes.pod.uid": metadata["uid"],
        }
