"""The peer of an agent with real containers: the calls that a pod takes, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import time

from benchmarks.agent import wait_until
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.containers.containerd import Containerd
from tests.support.containers.cri_client import CriClient
from tests.support.containers.images import BUSYBOX

AT_ONCE = 2 * (os.cpu_count() or 1)
"""Pods that are started at the same time. With four on two cores the last one of 40 is there soonest."""


class BarePods:
    """Pods that are made by their calls. Each touches a file of its name, as its first instruction."""

    def __init__(self, runtime: Containerd, marks: Path) -> None:
        self._runtime = runtime
        self._marks = marks

    def start(self, names: Iterable[str]) -> list[float]:
        """Start pods, ``AT_ONCE`` at a time. Return when their first instructions were, from the start."""
        wanted = list(names)
        began = time()
        with ThreadPoolExecutor(AT_ONCE) as hands:
            list(hands.map(self._start_one, wanted))
        for name in wanted:
            wait_until((self._marks / name).exists, poll_every=0.002)
        return [first_instruction(self._marks, name) - began for name in wanted]

    def _start_one(self, name: str) -> None:
        sandbox = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=name, uid=name, namespace="bare"),
            log_directory=str(self._marks.parent / "bare-logs" / name),
            linux=cri.LinuxPodSandboxConfig(
                security_context=cri.LinuxSandboxSecurityContext(
                    namespace_options=cri.NamespaceOption(network=cri.NODE)
                )
            ),
        )
        with CriClient(self._runtime.socket) as client:
            made = client.call(cri.RunPodSandboxRequest(config=sandbox), cri.RunPodSandboxResponse)
            container = cri.ContainerConfig(
                metadata=cri.ContainerMetadata(name="main"),
                image=cri.ImageSpec(image=BUSYBOX),
                command=command_of(name),
                mounts=[cri.Mount(container_path="/marks", host_path=str(self._marks))],
                log_path="main.log",
            )
            request = cri.CreateContainerRequest(
                pod_sandbox_id=made.pod_sandbox_id, config=container, sandbox_config=sandbox
            )
            created = client.call(request, cri.CreateContainerResponse)
            start = cri.StartContainerRequest(container_id=created.container_id)
            client.call(start, cri.StartContainerResponse)


def command_of(name: str) -> list[str]:
    """Return what a container does: it touches its file, and sleeps until it is told to end."""
    return [
        "sh",
        "-c",
        f"touch /marks/{name}; trap 'exit 0' TERM; while :; do sleep 1000 & wait; done",
    ]


def first_instruction(marks: Path, name: str) -> float:
    """Return when the file was touched, in seconds since 1970."""
    return (marks / name).stat().st_mtime
