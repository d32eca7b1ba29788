"""The first page's pods in real containers, as it has them typed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.agent.process import ROOT, eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import PATIENT, WholeAgent
from tests.support.project.consoles import Terminal, commands

pytestmark = [pytest.mark.containers, pytest.mark.timeout(240)]


def test_start_here_in_real_containers(tmp_path: Path, containerd: Containerd) -> None:
    containerd.add_network()
    shutil.copytree(ROOT / "examples/containers", tmp_path / "examples/containers")
    with WholeAgent(tmp_path, containerd) as agent:
        manifests = tmp_path / "examples/containers"
        agent.begins("--hostname-override=edge-1", f"--pod-manifest-path={manifests}")

        def address() -> str:
            pods = {
                each["metadata"]["name"]: each["status"] for each in agent.json("/pods")["items"]
            }
            return str(pods.get("web-edge-1", {}).get("podIP", ""))

        terminal = Terminal(tmp_path, agent, {"10.99.0.3": eventually(address, PATIENT)})
        typed = [
            each
            for each in commands(ROOT / "docs/start-here.md")
            if each.section.startswith("5.") and each.is_carried_out
        ]
        assert len(typed) == 4
        for each in typed:
            terminal.carry_out(each)
