"""A pod of somebody's class that has ended is never run again, whenever the whole agent is killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.process import ROOT, AgentProcess, eventually
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

ROW_NODE = '''
"""Keeps to the page, and remembers no more than it has to: what is stopped has no row any more."""
import os, signal
from pathlib import Path
from actorlet import ContainerReport, PodReport

PLACE = Path(os.environ["ROWS"])

def dies_at(step):
    if os.environ.get("DIES_AT") == step:
        with open(PLACE / "diary", "a") as diary:
            diary.write("killed\\n")
        os.kill(os.getpid(), signal.SIGKILL)

class RowNode:
    def run(self, pod):
        with open(PLACE / "diary", "a") as diary:
            diary.write("run\\n")
        (PLACE / f"{pod.uid}.row").touch()  # it ends at once

    def stop(self, pod, grace):
        dies_at("asked to stop it")
        (PLACE / f"{pod.uid}.row").unlink(missing_ok=True)
        with open(PLACE / "diary", "a") as diary:
            diary.write("stop\\n")
        dies_at("having stopped it")

    def observe(self):
        rows = [row.stem for row in PLACE.glob("*.row")]
        if rows:
            dies_at("asked for a look at it")
        elif "stop" in (PLACE / "diary").read_text():
            dies_at("asked for a look without it")
        ended = ContainerReport(exit_code=EXIT_CODE, message="no such table")
        return {uid: PodReport(containers={"main": ended}) for uid in rows}
'''


class ClassRun:
    """An agent that runs a class, and what the class did over all lives of the agent."""

    def __init__(self, agent: AgentProcess, folder: Path) -> None:
        self.agent = agent
        self.rows = folder / "rows"
        self.rows.mkdir()
        self._diary = self.rows / "diary"
        self._diary.touch()
        self._file = folder / "row_node.py"

    def start(self, exit_code: int, dies_at: str = "") -> None:
        """Start the agent, with a class whose pods end so, and that kills the agent at a step."""
        self._file.write_text(f"EXIT_CODE = {exit_code}\n{ROW_NODE}")
        variables = {"ROWS": str(self.rows), "DIES_AT": dies_at, "PYTHONPATH": str(ROOT)}
        self.agent.start(
            f"--runtime={self._file}:RowNode",
            f"--pod-manifest-path={self.agent.manifests}",
            environment=variables,
        )

    def diary(self) -> list[str]:
        """Return what the class was called for, and when the agent was killed."""
        return self._diary.read_text().splitlines()

    def status(self) -> dict[str, Any]:
        """Return the status of the one pod; empty while there is none."""
        code, text = self.agent.get("/pods")
        items = json.loads(text)["items"] if code == 200 else []
        return dict(items[0].get("status") or {}) if items else {}

    def has_ended(self) -> dict[str, Any]:
        """Return the status of the pod once it has ended and the agent is ready; empty before."""
        found = self.status() if self.agent.is_ready() else {}
        return found if found.get("phase") in {"Succeeded", "Failed"} else {}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[ClassRun]:
    with AgentProcess(tmp_path) as agent:
        yield ClassRun(agent, tmp_path)


def manifest(policy: str) -> str:
    """Return a pod that ends."""
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: job}\n"
        f"spec:\n  restartPolicy: {policy}\n  containers:\n  - {{name: main, image: none}}\n"
    )


@pytest.mark.parametrize(
    ("policy", "exit_code", "phase"), [("Never", 7, "Failed"), ("OnFailure", 0, "Succeeded")]
)
def test_a_static_pod_that_ended_is_shown_as_it_was_and_not_run_again(
    run: ClassRun, policy: str, exit_code: int, phase: str
) -> None:
    run.agent.write("job.yaml", manifest(policy))
    run.start(exit_code)
    eventually(lambda: "stop" in run.diary())
    before = run.status()
    assert before["phase"] == phase
    for _ in range(2):
        run.agent.process.kill()
        run.agent.process.wait()
        run.start(exit_code)
        after = eventually(run.has_ended)
        assert after["containerStatuses"] == before["containerStatuses"]
        assert after["startTime"] == before["startTime"]
    (ended,) = before["containerStatuses"]
    assert ended["state"]["terminated"]["message"] == "no such table"
    assert run.diary().count("run") == 1


@pytest.mark.parametrize(
    "step",
    [
        "asked for a look at it",
        "asked to stop it",
        "having stopped it",
        "asked for a look without it",
    ],
)
def test_a_pod_that_ended_is_run_once_though_the_agent_is_killed_around_its_end(
    run: ClassRun, step: str
) -> None:
    run.agent.write("job.yaml", manifest("Never"))
    run.start(7, dies_at=step)
    run.agent.process.wait(PATIENCE)
    assert "killed" in run.diary()
    run.start(7)
    ended = eventually(run.has_ended)
    assert ended["phase"] == "Failed"
    assert ended["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
    eventually(lambda: not list(run.rows.glob("*.row")))
    assert run.diary().count("run") == 1
