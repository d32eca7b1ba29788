"""The lock that keeps a second agent off a container runtime."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agent.locks import runtime_lock
from settings.errors import StartError


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    return tmp_path / "locks"


def test_a_second_agent_is_refused_by_the_process_that_the_first_one_is(
    tmp_path: Path, locks: Path
) -> None:
    socket = tmp_path / "runtime.sock"
    said = (
        rf"^another agent \(process {os.getpid()}\) uses the container runtime at {socket}: "
        "stop it, or name another socket$"
    )
    with runtime_lock(socket, locks):
        for _ in range(2):  # the refusal takes nothing from the first one
            with pytest.raises(StartError, match=said) as caught, runtime_lock(socket, locks):
                pass
            assert caught.value.exit_code == 1
    with runtime_lock(socket, locks):
        pass


def test_a_socket_by_another_path_is_the_same_one(tmp_path: Path, locks: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "var-run").symlink_to(tmp_path / "run")
    (tmp_path / "link.sock").symlink_to(tmp_path / "run" / "runtime.sock")
    with runtime_lock(tmp_path / "run" / "runtime.sock", locks):
        for other in (tmp_path / "var-run" / "runtime.sock", tmp_path / "link.sock"):
            with pytest.raises(StartError, match=str(other)), runtime_lock(other, locks):
                pass


def test_agents_on_two_runtimes_do_not_concern_each_other(tmp_path: Path, locks: Path) -> None:
    with runtime_lock(tmp_path / "one.sock", locks), runtime_lock(tmp_path / "two.sock", locks):
        pass


def test_its_file_is_for_nobody_else_and_goes_with_it(tmp_path: Path, locks: Path) -> None:
    with runtime_lock(tmp_path / "runtime.sock", locks):
        (file,) = locks.iterdir()
        assert file.read_text() == f"{os.getpid()}\n"
        assert (locks.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    assert list(locks.iterdir()) == []


def test_the_file_of_an_agent_that_was_killed_is_in_nobodys_way(
    tmp_path: Path, locks: Path
) -> None:
    with runtime_lock(tmp_path / "runtime.sock", locks):
        (file,) = locks.iterdir()
    file.write_text("1234567890\n")
    with runtime_lock(tmp_path / "runtime.sock", locks):
        assert file.read_text() == f"{os.getpid()}\n"


def test_a_file_that_its_owner_removes_meanwhile_is_made_anew(
    tmp_path: Path, locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def removed_first(descriptor: int, operation: int) -> None:
        monkeypatch.undo()
        next(locks.iterdir()).unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", removed_first)
    with runtime_lock(tmp_path / "runtime.sock", locks):
        assert [file.read_text() for file in locks.iterdir()] == [f"{os.getpid()}\n"]


def test_where_no_lock_can_be_made_a_warning_says_so_and_the_agent_goes_on(
    tmp_path: Path,
) -> None:
    with capture_logs() as logs, runtime_lock(tmp_path / "runtime.sock", Path("/proc/actorlet")):
        pass
    (line,) = logs
    assert "another agent on it would not be noticed" in line["event"]
    assert (line["log_level"], line["reason"]) == ("warning", "No such file or directory")
