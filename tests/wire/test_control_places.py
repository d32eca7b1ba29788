"""Whose socket ``actorlet logs`` and ``actorlet exec`` use."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from command.agent_api import AgentApi
from command.control_api import SOCKET, ControlPlace
from command.options import control_place
from command.server_names import DEFAULT_SERVER, ROOT_DIR, server_name
from tests.support.command.agents import answering, says
from tests.support.wire.ports import free_ports

LISTENS = """
import os, socket, sys
os.setuid(65534)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listens", flush=True)
listener.accept()
sys.stdin.read()
"""


@contextmanager
def listening(folder: Path) -> Iterator[Path]:
    """Yield a root directory in which somebody listens."""
    with socket.socket(socket.AF_UNIX) as listener:
        folder.mkdir(exist_ok=True)
        listener.bind(str(folder / SOCKET))
        listener.listen()
        yield folder


def api(said: str) -> AgentApi:
    return AgentApi(server_name(said), 0.5)


def test_what_was_typed_is_asked_of_nobody(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    assert control_place(tmp_path, api(f"localhost:{port}")) == ControlPlace(tmp_path)


def test_an_agent_of_this_machine_tells_its_root_directory(tmp_path: Path) -> None:
    with answering(says({"/configz": {"rootDir": str(tmp_path)}})) as server:
        assert control_place(None, api(server)) == ControlPlace(tmp_path, is_told=True)


@pytest.mark.parametrize("configz", [{}, {"rootDir": 1}, None])
def test_an_agent_that_does_not_tell_it_is_at_the_usual_place(configz: object) -> None:
    with answering(says({} if configz is None else {"/configz": configz})) as server:
        assert control_place(None, api(server)) == ControlPlace(Path(ROOT_DIR))


def test_an_agent_that_is_away_or_on_another_machine_is_at_the_usual_place() -> None:
    (port,) = free_ports(1)
    usual = ControlPlace(Path(ROOT_DIR))
    assert control_place(None, api(f"127.0.0.1:{port}")) == usual
    assert control_place(None, api(f"nowhere.invalid:{port}")) == usual


def test_who_listens_at_the_usual_place_is_meant_unless_a_server_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("command.options.ROOT_DIR", str(tmp_path / "usual"))
    with ExitStack() as held:
        held.enter_context(listening(tmp_path / "usual"))
        server = held.enter_context(answering(says({"/configz": {"rootDir": "/elsewhere"}})))
        assert control_place(None, api(DEFAULT_SERVER)) == ControlPlace(tmp_path / "usual")
        assert control_place(None, api(server)).root_dir == Path("/elsewhere")


def test_a_place_that_was_told_and_is_this_user_s_is_connected_to(tmp_path: Path) -> None:
    with listening(tmp_path):
        connection = ControlPlace(tmp_path, is_told=True).connection(1.0)
        connection.connect()
        connection.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_place_that_was_told_and_is_another_user_s_is_refused() -> None:
    with TemporaryDirectory() as named:
        folder = Path(named)
        folder.chmod(0o777)
        line = [sys.executable, "-c", LISTENS, str(folder / SOCKET)]
        theirs = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with theirs:
            try:
                assert theirs.stdout is not None
                assert theirs.stdout.readline() == "listens\n"
                with pytest.raises(PermissionError, match="it is another user's: --root-dir"):
                    ControlPlace(folder, is_told=True).connection(5.0).connect()
            finally:
                theirs.kill()
