"""A real kubelet, beside the real API server of the tests: where there is one, how it starts and ends."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.support.cluster.cluster import Cluster
from tests.support.cluster.processes import Program
from tests.support.wire.client import fetch
from tests.support.wire.ports import free_ports

ROOT_DIR: Final = "/var/lib/kubelet"
WHY_SKIPPED: Final = "runs when KUBEBUILDER_ASSETS names a folder with a kubelet, too"
TUNABLES: Final = {
    "/proc/sys/kernel/keys/root_maxbytes": "25000000",
    "/proc/sys/kernel/keys/root_maxkeys": "1000000",
    "/proc/sys/kernel/panic": "10",
    "/proc/sys/kernel/panic_on_oops": "1",
    "/proc/sys/vm/overcommit_memory": "1",
    "/proc/sys/vm/panic_on_oom": "0",
}
"""What a kubelet makes of the kernel's settings. It shall find them so, and leave this machine's alone."""
_PRESSURE: Final = {
    "memory.available": "1Mi",
    "nodefs.available": "1Mi",
    "nodefs.inodesFree": "1",
    "imagefs.available": "1Mi",
}
"""Little enough for any machine: the node never has too little of anything."""


def require_kubelet() -> Path:
    """Return the program. Skip the test where there is none; in CI it fails instead."""
    program = Path(os.environ.get("KUBEBUILDER_ASSETS", "/nowhere")) / "kubelet"
    if not os.access(program, os.X_OK):
        if os.environ.get("CI") == "true":
            pytest.fail(WHY_SKIPPED)
        pytest.skip(WHY_SKIPPED)
    return program


class RealKubelet:
    """The kubelet of one node. It takes every sandbox of its container runtime for its own.

    It also removes what it does not know in ``/var/log/pods`` and ``/var/lib/kubelet``, and writes
    ``TUNABLES``: it has to run in a mount namespace with others there.
    """

    def __init__(
        self,
        folder: Path,
        launcher: Sequence[str],
        *,
        cluster: Cluster,
        socket: Path,
        cgroup: str,
        node_name: str,
    ) -> None:
        program = require_kubelet()
        self._health_port, self.port = free_ports(2)  # the second one is that of TLS
        config = folder / "kubelet.json"
        config.write_text(json.dumps(self._config(cluster.ca_file, cgroup)))
        command = [
            *launcher,
            str(program),
            f"--config={config}",
            "--container-runtime=remote",
            f"--container-runtime-endpoint=unix://{socket}",
            f"--root-dir={ROOT_DIR}",
            f"--cert-dir={folder / 'certificates'}",
            f"--kubeconfig={cluster.kubeconfig()}",
            f"--hostname-override={node_name}",
        ]
        self._log = folder / "kubelet.log"
        self._program = Program(command, self._log)

    def start(self) -> None:
        """Start it, and return once it is healthy."""
        self._program.start(self._is_healthy)

    def kill(self) -> None:
        """End it. Everything that it runs, and has drivers mount, stays."""
        self._program.kill()

    def log(self) -> str:
        """Return what it has logged."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def _is_healthy(self) -> bool:
        try:
            return fetch(self._health_port, "/healthz").status == 200
        except OSError:
            return False

    def _config(self, ca_file: Path, cgroup: str) -> dict[str, object]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "port": self.port,
            "healthzPort": self._health_port,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(ca_file)},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": cgroup,
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "evictionHard": _PRESSURE,
            "failSwapOn": False,
            "makeIPTablesUtilChains": False,
            "resolvConf": "",
        }
