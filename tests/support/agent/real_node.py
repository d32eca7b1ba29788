"""A joined agent that runs pods in real containers, and pods that write their variables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from messages.pods import JsonObject
from tests.support.agent.joined_agent import JoinedAgent
from tests.support.apiserver.subjects import pod
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX


class RealNode:
    """A joined agent that runs pods in real containers, and what these write."""

    def __init__(self, agent: JoinedAgent, containerd: Containerd, folder: Path) -> None:
        self.agent = agent
        self._containerd = containerd
        self._logs = folder / "logs"
        agent.configure(
            cgroupRoot=containerd.cgroup, cgroupsPerQOS="false", enforceNodeAllocatable="[]"
        )
        agent.configure(podLogsDir=str(self._logs))

    def starts(self, *flags: str) -> None:
        """Start the agent."""
        endpoint = f"--container-runtime-endpoint=unix://{self._containerd.socket}"
        self.agent.start_on_manifests("--runtime=cri", endpoint, *flags)

    def variables(self, name: str) -> dict[str, str]:
        """Return what ``env`` wrote in the last container of a pod; empty until it has ended."""
        files = sorted(self._logs.glob(f"default_{name}_*/main/*.log"))
        text = files[-1].read_text() if files else ""
        # What is written at this moment is no line yet.
        whole = text[: text.rfind("\n") + 1].splitlines()
        lines = [line.split(" ", 3)[3] for line in whole]
        return dict(line.split("=", 1) for line in lines[:-1]) if lines[-1:] == ["end"] else {}


def telling(
    name: str,
    env: Iterable[JsonObject] = (),
    env_from: Iterable[JsonObject] = (),
    **spec: Any,
) -> JsonObject:
    """Return a pod that writes its variables."""
    main = {
        "name": "main",
        "image": BUSYBOX,
        "command": ["sh", "-c", "env; echo end; exec sleep 1000"],
        "env": [*env],
        "envFrom": [*env_from],
    }
    more = {"hostNetwork": True, "terminationGracePeriodSeconds": 0}
    return pod(name, **{**more, "containers": [main], **spec})
