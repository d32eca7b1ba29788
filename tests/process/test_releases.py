"""An upgrade beside an agent that runs: which release it says that it is, and which one is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from settings.version import RELEASE
from tests.support.agent.process import ROOT, AgentProcess, eventually, manifest
from tests.support.patience import PATIENCE
from tools.installing.release import rooms

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


def installed(home: Path, name: str, code: str) -> Path:
    """Install a release of this code below ``home``, as the current one, and return where it is."""
    release = home / "releases" / name
    release.mkdir(parents=True)
    (release / "run.py").write_text((ROOT / "run.py").read_text())
    for each in (*rooms(), "pyproject.toml"):
        (release / each).symlink_to(ROOT / each)
    (release / RELEASE).write_text(f"{name.partition('-')[0]} {code}\n")
    beside = home / ".current"
    beside.symlink_to(Path("releases", name))
    beside.replace(home / "current")
    return release


def test_an_upgrade_beside_a_running_agent_makes_a_restart_due_until_it_is_restarted(
    agent: AgentProcess, tmp_path: Path
) -> None:
    home = tmp_path / "a home"
    agent.write("web.yaml", manifest("web"))
    agent.start_on_manifests(code=installed(home, "1.0-1", "aaa"))
    assert release_of(agent) == ("1.0", "1.0", False)
    assert 'actorlet_build_info{code="aaa",version="1.0"} 1.0' in agent.get("/metrics")[1]
    assert "actorlet_restart_due 0.0" in agent.get("/metrics")[1]

    newer = installed(home, "1.1-1", "bbb")
    eventually(lambda: release_of(agent) == ("1.0", "1.1", True))
    assert "actorlet_restart_due 1.0" in agent.get("/metrics")[1]
    said = status(agent)
    assert "- actorlet 1.1 (bbb) is installed: a restart is due" in said
    assert "version    1.0 (aaa)" in said

    assert agent.stops() == 0
    agent.start_on_manifests(code=newer)
    assert release_of(agent) == ("1.1", "1.1", False)
    assert "version    1.1 (bbb)" in status(agent)


def release_of(agent: AgentProcess) -> tuple[str, str, bool]:
    version = agent.json("/ui/agent")["version"]
    return version["running"], version["installed"], version["restartDue"]


def status(agent: AgentProcess) -> list[str]:
    """Return the lines of ``actorlet status``."""
    command = [sys.executable, "-P", str(ROOT / "command" / "__main__.py")]
    ended = subprocess.run(
        [*command, "--server", f"127.0.0.1:{agent.port}", "status"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return ended.stdout.splitlines()
