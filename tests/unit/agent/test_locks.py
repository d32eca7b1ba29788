"""Locks of the agent's directory and of a container runtime, and kubelets that run beside the agent."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agent.locks import LOCK_FILE, kubelets, root_dir, runtime_lock, warn_of_kubelets
from settings.errors import StartError


def test_it_is_made_for_its_owner_and_group(tmp_path: Path) -> None:
    with root_dir(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o750
        assert [file.name for file in (tmp_path / "a" / "b").iterdir()] == [LOCK_FILE]


def test_one_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with root_dir(tmp_path):
        assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StartError, match="file is not a directory") as caught,
        root_dir(tmp_path / "file"),
    ):
        pass
    assert caught.value.exit_code == 1


# Not even root can write there.
@pytest.mark.parametrize("path", ["/proc/self", "/proc/self/actorlet"])
def test_one_that_cannot_be_written_is_named(path: str) -> None:
    with (
        pytest.raises(StartError, match=f"cannot write to --root-dir {path}: "),
        root_dir(Path(path)),
    ):
        pass


def test_a_second_agent_is_refused_by_the_process_that_the_first_one_is(tmp_path: Path) -> None:
    with root_dir(tmp_path):
        said = (
            rf"another agent \(process {os.getpid()}\) uses --root-dir {tmp_path}: "
            "stop it, or choose another directory"
        )
        with pytest.raises(StartError, match=said) as caught, root_dir(tmp_path):
            pass
        assert caught.value.exit_code == 1

        # The refusal took nothing from the first one.
        with pytest.raises(StartError, match="another agent"), root_dir(tmp_path):
            pass


def test_whoever_locks_it_without_a_name_is_only_called_another_agent(tmp_path: Path) -> None:
    with (tmp_path / LOCK_FILE).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StartError, match="another agent uses"), root_dir(tmp_path):
            pass


def test_it_is_free_again_once_its_agent_has_gone(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text("1234567890\n")
    with root_dir(tmp_path):
        assert (tmp_path / LOCK_FILE).read_text() == f"{os.getpid()}\n"
    with root_dir(tmp_path):
        pass


@contextmanager
def no_room() -> Iterator[None]:
    """Have every write to a file be refused, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_only_costs_the_name_of_who_has_it(tmp_path: Path) -> None:
    with (
        no_room(),
        root_dir(tmp_path / "new"),
        pytest.raises(StartError, match="another agent uses"),
        root_dir(tmp_path / "new"),
    ):
        pass
    assert (tmp_path / "new" / LOCK_FILE).read_text() == ""


def test_a_lock_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).mkdir()
    said = f"cannot open {tmp_path / LOCK_FILE}: Is a directory"
    with pytest.raises(StartError, match=said), root_dir(tmp_path):
        pass


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    return tmp_path / "locks"


def test_a_second_agent_on_a_runtime_is_refused_by_the_process_that_the_first_one_is(
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


HERE, ELSEWHERE = "mnt:[4026531841]", "mnt:[4026532999]"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Return a table of processes with some that are no kubelet."""
    (tmp_path / "meminfo").touch()
    process(tmp_path, "self", "python")
    process(tmp_path, "7", "kubectl")
    (tmp_path / "8").mkdir()  # has just ended
    return tmp_path


def process(proc: Path, number: str, name: str, files: str = HERE) -> None:
    (proc / number / "ns").mkdir(parents=True)
    (proc / number / "comm").write_text(f"{name}\n")
    (proc / number / "ns" / "mnt").symlink_to(files)


def test_kubelets_of_this_machine_are_found(proc: Path) -> None:
    process(proc, "300", "kubelite")
    process(proc, "20", "kubelet")
    assert kubelets(proc) == [20, 300]


def test_one_in_a_container_is_not_meant(proc: Path) -> None:
    process(proc, "20", "kubelet", ELSEWHERE)
    assert kubelets(proc) == []


def test_one_whose_namespace_may_not_be_seen_is_meant(proc: Path) -> None:
    process(proc, "20", "kubelet")
    (proc / "20" / "ns" / "mnt").unlink()
    assert kubelets(proc) == [20]


def test_each_is_a_warning(proc: Path) -> None:
    process(proc, "20", "kubelet")
    with capture_logs() as logs:
        warn_of_kubelets(proc)
    (line,) = logs
    assert line["event"].endswith("each of the two stops the pods of the other")
    assert (line["log_level"], line["process"]) == ("warning", 20)


def test_the_table_of_this_machine_can_be_read() -> None:
    assert all(number > 0 for number in kubelets())
