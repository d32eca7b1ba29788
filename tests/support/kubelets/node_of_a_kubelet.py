"""A node that a real kubelet runs with a CSI driver, and that the agent takes over with all that is there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from actors.volumes.mounts.mount_table import mounts_below
from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from tests.support.agent.joined_agent import NODE_NAME, JoinedAgent, Onlooker
from tests.support.agent.process import ROOT, eventually
from tests.support.apiserver.subjects import PODS, pod
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.processes import Program
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX
from tests.support.kubelets.csi_driver import CALLS
from tests.support.kubelets.kubelet import ROOT_DIR, TUNABLES, RealKubelet
from tests.support.kubelets.mount_namespace import MountNamespace

DRIVER: Final = "disk.example.org"
STORAGE: Final = "/apis/storage.k8s.io/v1"
VOLUMES: Final = "/api/v1/persistentvolumes"
CLAIMS: Final = "/api/v1/namespaces/default/persistentvolumeclaims"


class NodeOfAKubelet:
    """A kubelet, a driver, their container runtime and the agent, in a mount namespace of their own.

    Only one of kubelet and agent runs at a time.
    """

    def __init__(
        self,
        folder: Path,
        cluster: Cluster,
        onlooker: Onlooker,
        agent: JoinedAgent,
        stack: ExitStack,
    ) -> None:
        self.onlooker = onlooker
        self.agent = agent
        self._folder = folder
        own = {"/var/lib": folder / "var-lib", "/var/log": folder / "var-log"}
        for each in (*own.values(), folder / "var-lib/kubelet", folder / "var-log/pods"):
            each.mkdir()
        for number, (path, value) in enumerate(TUNABLES.items()):
            own[path] = folder / f"tunable-{number}"
            own[path].write_text(value)
        self.namespace = MountNamespace(own)
        stack.callback(self.namespace.end)
        self.containerd = Containerd(self.namespace.launcher)
        stack.callback(self.containerd.end)
        self.kubelet = RealKubelet(
            folder,
            self.namespace.launcher,
            cluster=cluster,
            socket=self.containerd.socket,
            cgroup=self.containerd.cgroup,
            node_name=NODE_NAME,
        )
        stack.callback(self.kubelet.kill)
        self._driver = self._driver_program()
        stack.callback(self._driver.kill)

    def _driver_program(self) -> Program:
        environment = ("env", f"PYTHONPATH={ROOT}")
        words = (sys.executable, "-m", "tests.support.kubelets.csi_driver", DRIVER, ROOT_DIR)
        command = [*self.namespace.launcher, *environment, *words, str(self._folder)]
        return Program(command, self._folder / "driver.log")

    # --- the kubelet's part ----------------------------------------------------------------------------

    def runs_a_kubelet(self) -> None:
        """Start kubelet and driver, and return once the kubelet has the driver."""
        self.kubelet.start()
        self._driver.start(lambda: "NotifyRegistrationStatus True " in self.calls())

    def has_a_volume(self, name: str) -> None:
        """Make a volume of the driver, and a claim of this name that is bound to it."""
        make = self.onlooker.create
        spec = {"attachRequired": False, "podInfoOnMount": False}
        kind = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver"}
        make(f"{STORAGE}/csidrivers", {**kind, "metadata": {"name": DRIVER}, "spec": spec})
        shape = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
        wanted = {
            **shape,
            "volumeName": f"pv-{name}",
            "resources": {"requests": {"storage": "1Mi"}},
        }
        claim = make(CLAIMS, _core("PersistentVolumeClaim", name, wanted))
        place = {"namespace": "default", "name": name, "uid": claim["metadata"]["uid"]}
        offered = {
            **shape,
            "capacity": {"storage": "1Mi"},
            "claimRef": {**place, "kind": "PersistentVolumeClaim", "apiVersion": "v1"},
            "csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"},
            "persistentVolumeReclaimPolicy": "Retain",
        }
        make(VOLUMES, _core("PersistentVolume", f"pv-{name}", offered))
        for path in (f"{VOLUMES}/pv-{name}", f"{CLAIMS}/{name}"):
            status = {**shape, "phase": "Bound", "capacity": {"storage": "1Mi"}}
            body = {"status": status if path.startswith(CLAIMS) else {"phase": "Bound"}}
            request = ApiRequest(verb=Verb.PATCH, path=f"{path}/status", body=body)
            self.onlooker.admin.handle(request)

    def runs(self, name: str, claim: str) -> str:
        """Have a pod run that writes into the volume of a claim; return its UID."""
        script = "echo precious > /data/file; while true; do sleep 0.1; done"
        main = {
            "name": "main",
            "image": BUSYBOX,
            "command": ["sh", "-c", script],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
        made = pod(
            name,
            hostNetwork=True,
            terminationGracePeriodSeconds=1,
            containers=[main],
            volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        )
        uid = str(self.onlooker.create(PODS, made)["metadata"]["uid"])
        eventually(lambda: self.is_running(name))
        return uid

    # --- the agent's part ------------------------------------------------------------------------------

    def runs_the_agent(self) -> None:
        """Have the agent take the node over, and return once it has listed the pods."""
        self.agent.start_on_manifests(*self.flags(), launcher=self.namespace.launcher)
        eventually(self.agent.has_joined)

    def flags(self) -> tuple[str, ...]:
        """Return those with which the agent takes the node over."""
        endpoint = f"--container-runtime-endpoint=unix://{self.containerd.socket}"
        return ("--runtime=cri", endpoint, f"--root-dir={ROOT_DIR}")

    # --- what is seen ----------------------------------------------------------------------------------

    def is_running(self, name: str) -> bool:
        """Whether the API server shows that the pod's container runs."""
        shown = (self.onlooker.pod(name) or {}).get("status", {}).get("containerStatuses", ())
        return any("running" in each.get("state", {}) for each in shown)

    def condition(self, name: str, kind: str) -> JsonObject:
        """Return one condition of a pod as the API server shows it; empty if it has none of that type."""
        conditions = (self.onlooker.pod(name) or {}).get("status", {}).get("conditions", ())
        return next((each for each in conditions if each["type"] == kind), {})

    def calls(self) -> list[str]:
        """Return the calls that the driver has answered."""
        file = self._folder / CALLS
        return file.read_text().splitlines() if file.exists() else []

    def called(self, call: str) -> bool:
        """Whether the driver has answered such a call."""
        return any(each.startswith(f"{call} ") for each in self.calls())

    def mounted(self) -> list[str]:
        """Return where something is mounted below the kubelet's root directory, itself not counted."""
        below = mounts_below(self.namespace.mounts(), ROOT_DIR)
        return sorted(each.path for each in below if each.path != ROOT_DIR)

    def seen(self, *parts: str) -> Path:
        """Return where something below the root directory is for the test."""
        return self.namespace.seen(os.path.join(ROOT_DIR, *parts))  # noqa: PTH118


def _core(kind: str, name: str, spec: dict[str, Any]) -> JsonObject:
    metadata = (
        {"name": name} if kind == "PersistentVolume" else {"name": name, "namespace": "default"}
    )
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}


@contextmanager
def node_of_a_kubelet(
    folder: Path, cluster: Cluster, onlooker: Onlooker
) -> Iterator[NodeOfAKubelet]:
    """Return a node on which nothing runs yet. Nothing of it is left in the cluster."""
    with ExitStack() as stack, JoinedAgent(folder, cluster.kubeconfig()) as agent:
        node = NodeOfAKubelet(folder, cluster, onlooker, agent, stack)
        agent.configure(
            cgroupRoot=node.containerd.cgroup, cgroupsPerQOS="false", enforceNodeAllocatable="[]"
        )
        stack.callback(_wipe, onlooker)
        yield node
        # Shown with a test that fails.
        print(*node.calls(), node.kubelet.log()[-8000:], sep="\n")  # noqa: T201  # for who reads it


def _wipe(onlooker: Onlooker) -> None:
    onlooker.wipe()
    for path in (CLAIMS, VOLUMES, f"{STORAGE}/csidrivers", f"{STORAGE}/csinodes"):
        found = onlooker.admin.handle(ApiRequest(verb=Verb.GET, path=path))
        for name in (each["metadata"]["name"] for each in found["items"]):
            free = {"metadata": {"finalizers": None}}
            onlooker.admin.handle(ApiRequest(verb=Verb.PATCH, path=f"{path}/{name}", body=free))
            onlooker.delete(f"{path}/{name}")
