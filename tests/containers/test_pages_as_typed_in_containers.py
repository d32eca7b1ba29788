"""Pages that run pods in real containers, as they have it typed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.agent.process import ROOT, eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import WholeAgent
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

        terminal = Terminal(tmp_path, agent, {"10.99.0.3": eventually(address)})
        typed = [
            each
            for each in commands(ROOT / "docs/start-here.md")
            if each.section.startswith("5.") and each.is_carried_out
        ]
        assert len(typed) == 4
        for each in typed:
            terminal.carry_out(each)


def test_an_edge_node_with_a_change_and_a_kill(tmp_path: Path, containerd: Containerd) -> None:
    containerd.add_network()
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for name in ("manifests", "objects"):
        (tmp_path / "etc" / name).mkdir(parents=True)
    with WholeAgent(tmp_path, containerd) as agent:

        def begins() -> None:
            agent.begins(
                "--hostname-override=edge-1",
                f"--pod-manifest-path={tmp_path}/etc/manifests",
                f"--local-objects-dir={tmp_path}/etc/objects",
            )
            eventually(agent.is_ready)

        begins()
        terminal = Terminal(tmp_path, agent, {"/etc/actorlet": f"{tmp_path}/etc"})
        for each in commands(ROOT / "docs/edge-node.md"):
            if "SIGKILL" in each.text:
                agent.dies()
                begins()
            else:
                terminal.carry_out(each)
