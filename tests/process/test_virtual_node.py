"""The example's virtual node, as its page says how to try it: real pods, real processes, real signals."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.process import ROOT, AgentProcess, eventually

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

RUNTIME = "--runtime=examples.virtual_node:ProcessNode"
PODS = ROOT / "examples" / "virtual-node" / "pods"


def manifest_of(name: str, script: str, **spec: Any) -> str:
    """Return the manifest of a pod that runs a script of the shell."""
    container = {"name": "main", "image": "none", "command": ["sh", "-c", script]}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": [container], "restartPolicy": "Never", **spec},
        }
    )


class NodeProcess(AgentProcess):
    """An agent whose node runs processes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.state = folder / "state"

    def runs(self, runtime: str = RUNTIME) -> None:
        """Start it on its directory."""
        self.start_on_manifests(runtime, environment={"PROCESS_NODE_DIR": str(self.state)})

    def status(self, name: str) -> dict[str, Any]:
        """Return the status of a pod; empty while there is none."""
        items = self.json("/pods")["items"]
        found = [pod for pod in items if pod["metadata"]["name"] == f"{name}-node1"]
        return dict(found[0].get("status") or {}) if found else {}

    def phase(self, name: str) -> str:
        """Return the phase of a pod; empty while there is none."""
        return str(self.status(name).get("phase", ""))

    def exit_code(self, name: str) -> int:
        """Return the exit code of a pod's only container."""
        (container,) = self.status(name)["containerStatuses"]
        return int(container["state"]["terminated"]["exitCode"])

    def printed(self, name: str) -> str:
        """Return what a pod's container printed."""
        path = self.state / self.pods()[f"{name}-node1"] / "main" / "log"
        return path.read_text() if path.exists() else ""

    def kept(self, name: str) -> str:
        """Return what is on disk of a pod for the next process."""
        return (self.root_dir / "pod-records" / f"{self.pods()[f'{name}-node1']}.json").read_text()

    def groups(self) -> list[int]:
        """Return the process groups of all containers that there are."""
        return [int(path.read_text() or 0) for path in self.state.glob("*/*/group")]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    with NodeProcess(tmp_path) as node:
        yield node
        for group in node.groups():
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def lives(group: int) -> bool:
    """Whether there is such a process group."""
    with suppress(ProcessLookupError):
        os.killpg(group, 0)
        return True
    return False


def test_the_pods_of_the_example_run_and_end_and_a_removed_manifest_stops_its_process(
    node: NodeProcess,
) -> None:
    for path in PODS.iterdir():
        node.write(path.name, path.read_text())
    node.runs()
    eventually(lambda: (node.phase("clock"), node.phase("sum")) == ("Running", "Succeeded"))
    assert node.printed("sum") == "42\n"
    assert node.exit_code("sum") == 0
    uid = node.pods()["clock-node1"]
    group = int((node.state / uid / "main" / "group").read_text())
    eventually(lambda: node.printed("clock"))
    log = (node.state / uid / "main" / "log").open()
    (node.manifests / "clock.yaml").unlink()
    eventually(lambda: "clock-node1" not in node.pods() and not lives(group))
    with log:
        assert log.read().endswith("bye from clock-node1\n")
    assert node.stops() == 0


def test_a_command_that_fails_is_a_failed_pod_with_its_exit_code(node: NodeProcess) -> None:
    node.write("bad.json", manifest_of("bad", "exit 3"))
    node.runs()
    eventually(lambda: node.phase("bad") == "Failed")
    assert node.exit_code("bad") == 3


def test_processes_run_on_while_the_agent_is_killed_and_are_found_again(node: NodeProcess) -> None:
    node.write("lasting.json", manifest_of("lasting", "echo begun; sleep 600"))
    node.runs()
    eventually(lambda: node.phase("lasting") == "Running")
    (group,) = node.groups()
    shown = node.status("lasting")["containerStatuses"]
    eventually(lambda: '"startedAt"' in node.kept("lasting"))
    node.send(signal.SIGKILL)
    node.ends()
    assert lives(group)
    node.runs()
    eventually(lambda: node.phase("lasting") == "Running")
    assert node.groups() == [group]
    assert node.status("lasting")["containerStatuses"] == shown
    assert node.printed("lasting") == "begun\n"


def test_a_pod_that_was_removed_while_the_agent_was_away_is_stopped(node: NodeProcess) -> None:
    node.write("lasting.json", manifest_of("lasting", "sleep 600"))
    node.runs()
    eventually(lambda: node.phase("lasting") == "Running")
    (group,) = node.groups()
    node.send(signal.SIGKILL)
    node.ends()
    (node.manifests / "lasting.json").unlink()
    node.runs()
    eventually(lambda: not lives(group))


@pytest.mark.parametrize(
    ("runtime", "sentence"),
    [
        ("nowhere:MyNode", "nowhere cannot be imported: ModuleNotFoundError"),
        ("examples.virtual_node:Other", "examples.virtual_node has no class Other"),
        ("pathlib:Path", "pathlib:Path has no method run(pod)"),
    ],
)
def test_a_class_that_cannot_be_used_is_a_sentence_and_code_2(
    node: NodeProcess, runtime: str, sentence: str
) -> None:
    node.start(f"--runtime={runtime}")
    assert node.ends() == 2
    assert node.log().splitlines()[-1].startswith(f"actorlet: --runtime: {sentence}")
    assert "Traceback" not in node.log()
