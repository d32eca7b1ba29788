"""Logs of real containers, and commands in them, by the socket of a whole agent."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.process import ROOT, eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import SERVES, WholeAgent
from tests.support.patience import PATIENCE


@pytest.fixture
def agent(tmp_path: Path, containerd: Containerd) -> Iterator[WholeAgent]:
    with WholeAgent(tmp_path, containerd) as agent:
        yield agent


def line(*arguments: str) -> list[str]:
    return [sys.executable, "-P", str(ROOT / "command" / "__main__.py"), *arguments]


def run(agent: WholeAgent, *arguments: str) -> tuple[int, str]:
    """Run the command, and return its exit code and what it wrote."""
    environment = {**os.environ, "ACTORLET_ROOT_DIR": str(agent.root_dir)}
    ended = subprocess.run(
        line(*arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment,
    )
    return ended.returncode, ended.stdout or ended.stderr


def test_logs_are_read_by_instance_and_commands_run(agent: WholeAgent) -> None:
    agent.begins()
    agent.serve("web", f"echo first; sleep 0.2; echo second >&2; sleep 0.2; echo third; {SERVES}")
    agent.await_serving("web")
    eventually(lambda: run(agent, "logs", "web") == (0, "first\nsecond\nthird\n"))
    assert run(agent, "logs", "web", "--tail", "2") == (0, "second\nthird\n")
    assert run(agent, "exec", "web", "--", "sh", "-c", "echo $NAME; exit 4") == (4, "web\n")
    no_program = 'cannot be started: "nosuch": executable file not found in $PATH\n'
    assert run(agent, "exec", "web", "--", "nosuch") == (127, no_program)
    # The instance that ends has its log still when another one runs.
    agent.end("web", 3)
    agent.await_running("web", restarts=1)
    code, said = run(agent, "logs", "web", "-p")
    assert (code, said.splitlines()[0]) == (0, "first")


def test_a_log_is_followed_line_by_line_until_its_container_ends(agent: WholeAgent) -> None:
    agent.begins()
    says = "while [ ! -e /told/$NAME.ends ]; do [ -e /told/more ] && rm /told/more && echo more;"
    script = f"say begins; echo begins; {says} sleep 0.05; done; echo ends; sleep 1000"
    agent.serve("web", script, terminationGracePeriodSeconds=1)
    agent.await_serving("web")
    environment = {**os.environ, "ACTORLET_ROOT_DIR": str(agent.root_dir)}
    with subprocess.Popen(
        line("logs", "-f", "web"), stdout=subprocess.PIPE, text=True, env=environment
    ) as following:
        try:
            assert following.stdout is not None
            assert following.stdout.readline() == "begins\n"
            for _ in range(2):
                (agent.told / "more").touch()
                assert following.stdout.readline() == "more\n"
            (agent.told / "web.ends").touch()
            assert following.stdout.readline() == "ends\n"
            agent.withdraw("web")
            assert following.stdout.read() == ""
            assert following.wait(PATIENCE) == 0
        finally:
            following.kill()


def test_what_a_pod_wrote_before_its_manifest_was_changed_is_the_log_of_the_instance_before(
    agent: WholeAgent,
) -> None:
    agent.begins()
    agent.serve("web", "echo it crashes; exit 3")
    eventually(lambda: run(agent, "logs", "web") == (0, "it crashes\n"))
    agent.serve("web", f"echo it is mended; {SERVES}")
    agent.await_serving("web")
    assert run(agent, "logs", "web", "-p") == (0, "it crashes\n")
    assert run(agent, "logs", "web") == (0, "it is mended\n")
