"""The agent's own directory: made, tried and locked."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.locks import LOCK_FILE, root_dir
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
