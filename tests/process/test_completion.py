"""What a shell completes, beside an agent, without one, and beside one that is too slow."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.process import ROOT, AgentProcess, eventually, manifest
from tests.support.patience import PATIENCE
from tools.installing.companions import TEMPLATES, completion
from tools.installing.templates import wrapper

pytestmark = [pytest.mark.process, pytest.mark.timeout(60)]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    with AgentProcess(tmp_path_factory.mktemp("completing")) as agent:
        for name in ("web", "weather", "clock"):
            agent.write(f"{name}.yaml", manifest(name))
        agent.start_on_manifests()
        eventually(lambda: len(agent.pods()) == 3)
        yield agent
        assert agent.stops() == 0


def completed(*words: object, **environment: str) -> list[str]:
    """Return what stands for the last of ``words``."""
    line = " ".join(map(str, ("actorlet", *words)))
    done = subprocess.run(
        [sys.executable, "-P", str(ROOT / "command/__main__.py")],
        env={
            **os.environ,
            "ACTORLET_COMPLETE_WITHIN": "20",
            **environment,
            "_ACTORLET_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert done.stderr == ""
    return [each.removeprefix("plain,") for each in done.stdout.splitlines() if each]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pod we", ["weather-node1", "web-node1"]),
        ("pod default/c", ["default/clock-node1"]),
        ("pod -n default c", ["clock-node1"]),
        ("pod -n kube-system c", []),
        ("pod eb", []),
    ],
)
def test_names_of_pods_are_those_that_the_agent_has(
    agent: AgentProcess, words: str, expected: list[str]
) -> None:
    server = f"127.0.0.1:{agent.port}"
    subcommand, *rest = words.split(" ")
    assert completed(*words.split(" "), ACTORLET_SERVER=server) == expected
    assert completed("--server", server, *words.split(" ")) == expected
    assert completed(subcommand, "--server", server, *rest) == expected


@pytest.mark.parametrize("subcommand", ["logs", "exec"])
def test_what_uses_the_socket_is_completed_by_it(agent: AgentProcess, subcommand: str) -> None:
    nobody = "127.0.0.1:1"
    words = (subcommand, "--root-dir", agent.root_dir, "c")
    assert completed(*words, ACTORLET_SERVER=nobody) == ["clock-node1"]
    elsewhere = (subcommand, "--root-dir", "/nowhere", "c")
    assert completed(*elsewhere, ACTORLET_SERVER=f"127.0.0.1:{agent.port}") == ["clock-node1"]


def test_without_an_agent_there_are_subcommands_and_options_but_no_pods() -> None:
    server = {"ACTORLET_SERVER": "127.0.0.1:1"}
    assert completed("pod", "w", **server) == []
    assert completed("p", **server) == ["pods", "pod"]
    assert completed("pods", "--out", **server) == ["--output"]
    assert completed("pods", "-o", "j", **server) == ["json"]
    assert completed("--server", "what is this", "pod", "w") == []


def test_an_agent_that_does_not_answer_soon_keeps_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        assert completed("pod", "w", ACTORLET_SERVER=server, ACTORLET_COMPLETE_WITHIN="0.2") == []


IN_BASH = """\
source "$0"; COMP_WORDS=(actorlet pod we); COMP_CWORD=2
_actorlet_completion actorlet; printf '%s\\n' "${COMPREPLY[@]}"
"""
# Without a terminal there is no completion to be had: its two functions are replaced by what prints.
IN_ZSH = """\
compdef() { :; }; compadd() { printf '%s\\n' ${(P)argv[-1]}; }
source "$0"; words=(actorlet pod we); CURRENT=3; _actorlet_completion
"""
IN_FISH = "source $argv[1]; complete --do-complete 'actorlet pod we'"


@pytest.mark.parametrize(
    ("shell", "script"), [("bash", IN_BASH), ("zsh", IN_ZSH), ("fish", IN_FISH)]
)
def test_each_shell_understands_its_script(
    agent: AgentProcess, tmp_path: Path, shell: str, script: str
) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"needs {shell}")
    program = tmp_path / "actorlet"
    program.write_text(wrapper((TEMPLATES / "actorlet.sh").read_text(), ROOT, ".venv/bin/python"))
    program.chmod(0o755)
    said = completion([str(program)], shell)
    (tmp_path / "script").write_bytes(said)
    done = subprocess.run(
        [found, "-c", script, str(tmp_path / "script")],
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "ACTORLET_SERVER": f"127.0.0.1:{agent.port}",
            "ACTORLET_COMPLETE_WITHIN": "20",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.stdout.split() == ["weather-node1", "web-node1"], done.stderr
