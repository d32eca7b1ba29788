"""A whole agent, as a process, that runs pods of manifests in real containers; and what these write.

Containers write what they do into a folder of the node: so nothing of it is lost with a pod's logs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from messages.pods import JsonObject
from tests.support.agent.process import AgentProcess, eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX

SERVES: Final = (
    "trap 'say term; exit 3' TERM; say begins; while [ ! -e /told/$NAME.ends ]; do sleep 0.05; done;"
    " say ends; code=$(cat /told/$NAME.ends); rm /told/$NAME.ends; exit $code"
)
"""Runs until it is stopped, or told with which code to end. The next instance is told nothing yet."""


class WholeAgent(AgentProcess):
    """``run.py`` on a containerd of the tests' own. Its static pods are told by their names."""

    def __init__(self, folder: Path, containerd: Containerd) -> None:
        super().__init__(folder)
        self.containerd = containerd
        self.socket = containerd.socket
        self.told = folder / "told"
        self.told.mkdir()
        self.manifests.mkdir()
        self.configuration: JsonObject = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "podLogsDir": str(folder / "logs"),
            "cgroupRoot": f"/{containerd.cgroup.strip('/')}",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
        }
        self._file = folder / "configuration.json"

    def begins(self, *flags: str) -> None:
        """Start the process, and wait for nothing."""
        self._file.write_text(json.dumps(self.configuration))
        self.start(
            f"--config={self._file}",
            f"--pod-manifest-path={self.manifests}",
            "--runtime=cri",
            f"--container-runtime-endpoint=unix://{self.socket}",
            *flags,
        )

    def dies(self) -> None:
        """End it by SIGKILL."""
        self.process.kill()
        self.process.wait()

    # --- its pods --------------------------------------------------------------------------------------

    def serve(self, name: str, script: str = SERVES, **spec: Any) -> None:
        """Put a manifest in place. ``main`` in ``spec`` is what its container has more."""
        self.write(f"{name}.json", json.dumps(self.pod(name, script, **spec)))

    def withdraw(self, name: str) -> None:
        """Remove a manifest."""
        (self.manifests / f"{name}.json").unlink()

    def pod(self, name: str, script: str = SERVES, **spec: Any) -> JsonObject:
        """Return a pod whose container runs a script, in which ``say`` notes something."""
        main = {**self.container(name, script), **spec.pop("main", {})}
        volumes = [{"name": "told", "hostPath": {"path": str(self.told)}}]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "hostNetwork": True,
                "terminationGracePeriodSeconds": 20,
                "containers": [main],
                "volumes": volumes,
                **spec,
            },
        }

    @staticmethod
    def container(name: str, script: str = SERVES) -> JsonObject:
        """Return a container ``main`` that says what it does under ``name``."""
        return {
            "name": "main",
            "image": BUSYBOX,
            "imagePullPolicy": "IfNotPresent",
            "env": [{"name": "NAME", "value": name}],
            "command": ["sh", "-c", f"{saying()} {script}"],
            "volumeMounts": [{"name": "told", "mountPath": "/told"}],
        }

    def end(self, name: str, code: int) -> None:
        """Tell the container of a pod to end with a code."""
        beside = self.told / f".{name}.ends"
        beside.write_text(str(code))
        beside.replace(self.told / f"{name}.ends")

    # --- what is seen ----------------------------------------------------------------------------------

    def said(self, name: str) -> list[str]:
        """Return what the containers of a pod have said so far."""
        file = self.told / name
        return file.read_text().splitlines() if file.exists() else []

    def document(self, name: str) -> JsonObject:
        """Return a pod as ``/pods`` shows it; empty if it does not."""
        pods = self.json("/pods")["items"]
        found = (each for each in pods if each["metadata"]["name"] == f"{name}-node1")
        return next(found, {})

    def status(self, name: str, container: str = "main") -> JsonObject:
        """Return the status of a container; empty if there is none."""
        status = self.document(name).get("status") or {}
        all_ = [
            each
            for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
            for each in status.get(kind) or ()
        ]
        return next((each for each in all_ if each["name"] == container), {})

    def runs(self, name: str, restarts: int | None = None) -> bool:
        """Whether the container of a pod runs, for the so-manieth time after the first."""
        status = self.status(name)
        is_so = restarts is None or status.get("restartCount") == restarts
        return is_so and "running" in (status.get("state") or {})

    def await_running(self, *names: str, restarts: int | None = None) -> None:
        """Return once the containers of all these pods run."""
        for name in names:
            eventually(lambda name=name: self.runs(name, restarts))  # type: ignore[misc]

    def await_serving(self, *names: str, times: int = 1) -> None:
        """Return once these pods run, and have said so many times that their scripts begin.

        A container that runs may not have come to its ``trap`` yet: then SIGTERM is nothing to it.
        """
        self.await_running(*names)
        for name in names:
            eventually(lambda name=name: self.said(name).count("begins") >= times)  # type: ignore[misc]

    def instances(self, name: str) -> list[tuple[int, str]]:
        """Return each container of a pod that the runtime has: its attempt, and its state."""
        with self.containerd.client() as client:
            return sorted(
                (each.metadata.attempt, client.state_of(each))
                for each in client.containers()
                if each.labels["io.kubernetes.pod.name"] == f"{name}-node1"
            )

    def await_nothing(self) -> None:
        """Return once the runtime has nothing left at all. A failure says what is left, and what was said."""
        try:
            eventually(lambda: not self.containerd.ids())
        except AssertionError as error:
            left = [self.containerd.ctr(kind, "ls") for kind in ("containers", "tasks")]
            error.add_note("\n".join((*left, *self.log().splitlines()[-100:])))
            raise


def saying() -> str:
    """Return the shell function by which a container says something."""
    return 'say() { echo "$1" >> /told/$NAME; };'


def in_container(*commands: str) -> Sequence[str]:
    """Return a command for a hook that says something too."""
    return ["sh", "-c", " ".join((saying(), *commands))]
