"""Logs of containers, and commands in them, by the socket of a whole agent and by the command."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command.control_api import UnixConnection
from tests.support.agent.process import ROOT, AgentProcess, eventually, manifest
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

TWO = """\
apiVersion: v1
kind: Pod
metadata: {name: two}
spec:
  containers:
  - {name: one, image: busybox, command: ["sh", "-c", "echo from one; sleep 1000"]}
  - {name: other, image: busybox, command: ["sh", "-c", "exit 3"]}
"""


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """Return an agent whose ports are off but for the one that tests look at."""
    with AgentProcess(tmp_path_factory.mktemp("control")) as agent:
        agent.write("web.yaml", manifest("web"))
        agent.write("two.yaml", TWO)
        agent.start_on_manifests("--enable-chaos")
        eventually(lambda: agent.get("/pods")[1].count('"running"') >= 2)
        eventually(lambda: "CrashLoopBackOff" in agent.get("/pods")[1])
        yield agent
        assert agent.stops() == 0


def run(agent: AgentProcess, *arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run the command until it ends."""
    line = [sys.executable, "-P", str(ROOT / "command" / "__main__.py"), *map(str, arguments)]
    environment = {**os.environ, "ACTORLET_ROOT_DIR": str(agent.root_dir)}
    return subprocess.run(
        line, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment, **more
    )


def asked(
    agent: AgentProcess, path: str, method: str = "GET", body: bytes | None = None
) -> tuple[int, str]:
    """Return status and body of what the socket answers."""
    connection = UnixConnection(agent.root_dir, 15.0)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def error(answer: tuple[int, str]) -> tuple[int, str]:
    return answer[0], json.loads(answer[1])["error"]


# The command.


@pytest.mark.parametrize(
    ("line", "code", "out", "err"),
    [
        ("logs two -c one", 0, "hollow: attempt 0 of one starts\nfrom one\n", ""),
        ("logs two -c one --tail 1", 0, "from one\n", ""),
        ("logs two -c one --tail 0", 0, "", ""),
        ("logs two -c one --since 2099-01-01T00:00:00Z", 0, "", ""),
        ("exec web -- echo hello", 0, "hello\n", ""),
        ("exec web -- sh -c exit\\ 7", 7, "", ""),
        ("exec web -- nginx -t", 0, "", "hollow: nothing was run\n"),
        (
            "logs two",
            1,
            "",
            "actorlet: this pod has several containers, name one of them: one, other\n",
        ),
        (
            "logs web -c no",
            1,
            "",
            "actorlet: there is no container no in this pod; there is main\n",
        ),
        ("logs web -p", 1, "", "actorlet: container main has no instance before this one\n"),
        ("exec two -c other -- true", 1, "", "actorlet: container other does not run\n"),
        ("logs nobody", 3, "", "actorlet: there is no pod nobody: actorlet pods lists them\n"),
    ],
)
def test_logs_and_commands_are_for_those_who_may_use_the_socket(
    agent: AgentProcess, line: str, code: int, out: str, err: str
) -> None:
    words = [each.replace("\0", " ") for each in line.replace("\\ ", "\0").split()]
    ended = run(agent, *words)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, out, err)


@pytest.mark.parametrize(
    "words",
    [
        ["--server", "{server}", "logs", "web", "--tail", "1"],
        ["logs", "web", "--tail=1", "--server={server}"],
        ["exec", "--server", "{server}", "web", "--", "true"],
    ],
)
def test_an_agent_at_a_port_of_this_machine_tells_where_its_socket_is(
    agent: AgentProcess, words: list[str]
) -> None:
    server = f"localhost:{agent.port}"
    line = [sys.executable, "-P", str(ROOT / "command" / "__main__.py")]
    line += [each.format(server=server) for each in words]
    plain = {name: each for name, each in os.environ.items() if not name.startswith("ACTORLET_")}
    ended = subprocess.run(
        line, capture_output=True, timeout=PATIENCE, check=False, cwd="/", env=plain
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_the_instance_before_has_its_own_log(agent: AgentProcess) -> None:
    ended = run(agent, "logs", "two", "-c", "other", "-p", "--timestamps")
    assert ended.returncode == 0
    time, _, first = ended.stdout.splitlines()[0].partition(" ")
    assert time.endswith("Z")
    assert first.startswith("hollow: attempt ")


def test_a_log_is_followed_until_its_container_ends(agent: AgentProcess) -> None:
    agent.write("short.yaml", manifest("short"))
    eventually(lambda: "short-node1" in agent.pods())
    line = [sys.executable, "-P", str(ROOT / "command" / "__main__.py"), "logs", "-f", "short"]
    environment = {**os.environ, "ACTORLET_ROOT_DIR": str(agent.root_dir)}
    eventually(lambda: run(agent, "logs", "short").stdout != "")
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment) as following:
        try:
            assert following.stdout is not None
            assert following.stdout.readline() == "hollow: attempt 0 of main starts\n"
            (agent.manifests / "short.yaml").unlink()
            rest = following.stdout.read()
            assert following.wait(PATIENCE) == 0
        finally:
            following.kill()
    assert "short" not in rest


def test_an_agent_that_is_away_is_a_sentence(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        for root_dir, said in (
            (tmp_path / "nowhere", "no agent answers at"),
            (tmp_path, "it does not run, or its root directory is another one"),
        ):
            agent.root_dir = root_dir
            ended = run(agent, "logs", "web")
            assert ended.returncode == 4
            assert said in ended.stderr


def test_a_killed_agent_leaves_a_socket_that_nobody_answers_and_the_next_one_replaces(
    tmp_path: Path,
) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.write("web.yaml", manifest("web"))
        agent.start_on_manifests()
        agent.send(signal.SIGKILL)
        agent.ends()
        ended = run(agent, "logs", "web")
        assert (ended.returncode, ended.stderr.startswith("actorlet: no agent answers")) == (
            4,
            True,
        )
        agent.start_on_manifests()
        eventually(lambda: run(agent, "logs", "web").returncode == 0)


# The socket.


def test_the_socket_answers_what_the_port_answers_and_the_port_no_logs(agent: AgentProcess) -> None:
    assert json.loads(asked(agent, "/pods")[1])["kind"] == "PodList"
    assert asked(agent, "/readyz") == (200, "ok")
    uid = agent.pods()["web-node1"]
    assert agent.get(f"/control/pods/{uid}/log")[0] == 404
    assert agent.get(f"/control/pods/{uid}/exec", method="POST")[0] == 404
    assert asked(agent, f"/control/pods/{uid}/log")[0] == 200
    assert asked(agent, "/debug/actors/source/file/crash", "POST")[0] == 202


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_gets_nothing_even_if_the_file_s_mode_were_another(
    agent: AgentProcess,
) -> None:
    path = agent.root_dir / "actorlet.sock"
    modes = {each: each.stat().st_mode for each in (path, *path.parents) if each != Path("/")}
    reader = (
        "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        "s.sendall(b'GET /pods HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n');"
        "print(s.makefile().read())"
    )
    line = ["/usr/bin/python3", "-c", reader, str(path)]
    if not Path(line[0]).exists():
        pytest.skip("needs a Python that everybody may run")
    try:
        for each, mode in modes.items():
            each.chmod(mode | 0o077 if each.is_socket() else mode | 0o055)
        # As nobody.
        refused = subprocess.run(
            line, capture_output=True, text=True, timeout=PATIENCE, check=False, user=65534, cwd="/"
        )
    finally:
        for each, mode in modes.items():
            each.chmod(mode)
    assert "403 Forbidden" in refused.stdout, refused.stderr
    assert "this socket is for root and the agent's own user" in refused.stdout
    assert "PodList" not in refused.stdout


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/log?tail=-1", "tail has to be a whole number"),
        ("/log?tail=x", "tail has to be a whole number"),
        ("/log?since=yesterday", "since has to be seconds since 1970"),
        ("/log?since=nan", "since has to be seconds since 1970"),
    ],
)
def test_a_log_is_not_asked_for_wrongly(agent: AgentProcess, path: str, said: str) -> None:
    uid = agent.pods()["web-node1"]
    assert error(asked(agent, f"/control/pods/{uid}{path}")) == (400, said)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"command": "ls"}', b'{"command": []}', b'{"command": [1]}',
     b'{"command": ["a\\u0000"]}',
     b'{"command": ["true"], "timeoutSeconds": 0}', b'{"command": ["true"], "timeoutSeconds": "x"}',
     b'{"command": ["true"], "timeoutSeconds": true}', b"[" * 100_000],
)  # fmt: skip
def test_a_command_is_not_asked_for_wrongly(agent: AgentProcess, body: bytes) -> None:
    uid = agent.pods()["web-node1"]
    assert asked(agent, f"/control/pods/{uid}/exec", "POST", body)[0] == 400


def test_nobody_s_log_is_404(agent: AgentProcess) -> None:
    assert error(asked(agent, "/control/pods/nobody/log")) == (404, "there is no such pod")


def test_a_crash_of_the_server_loses_no_socket(agent: AgentProcess) -> None:
    assert asked(agent, "/debug/actors/http-server/crash", "POST")[0] == 202

    def answers() -> bool:
        try:
            return asked(agent, "/readyz") == (200, "ok")
        except (http.client.HTTPException, TimeoutError):
            return False

    eventually(answers)
