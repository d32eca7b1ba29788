"""Removing the files of a pod, on a real disk."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from actors.volumes.mounts.removal import remove_pod_files
from runtimes.cri.disk.pod_files import forget_pod_files


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    """Return the directory of a pod with a volume in it."""
    directory = tmp_path / "pods" / "u1"
    directory.joinpath("volumes", "data").mkdir(parents=True)
    directory.joinpath("volumes", "data", "file").write_text("x")
    return directory


def test_everything_of_a_pod_goes_and_nothing_of_others(pod: Path) -> None:
    other = pod.with_name("u2")
    other.mkdir()
    assert remove_pod_files(str(pod)) == ""
    assert list(pod.parent.iterdir()) == [other]
    assert remove_pod_files(str(pod)) == ""


def test_a_pod_without_files_has_nothing_to_remove(tmp_path: Path) -> None:
    assert remove_pod_files(str(tmp_path / "pods" / "u1")) == ""


def test_what_a_link_leads_to_stays(pod: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    precious.joinpath("file").touch()
    pod.joinpath("volumes", "link").symlink_to(precious)
    assert remove_pod_files(str(pod)) == ""
    assert precious.joinpath("file").exists()
    pod.symlink_to(precious)
    assert remove_pod_files(str(pod)) == ""
    assert precious.joinpath("file").exists()


def test_what_a_process_that_was_killed_had_begun_is_finished_later(pod: Path) -> None:
    left = pod.with_name(".removing-u0")
    left.joinpath("deep").mkdir(parents=True)
    assert remove_pod_files(str(pod)) == ""
    assert not left.exists()


@pytest.fixture
def mounted(pod: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a directory that is mounted into a volume, as a container can have it mounted."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    precious = tmp_path / "precious"
    precious.mkdir()
    precious.joinpath("file").touch()
    place = pod / "volumes" / "data" / "with space"
    place.mkdir()
    done = subprocess.run(["mount", "--bind", precious, place], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    yield precious
    subprocess.run(["umount", place], check=True)


def test_nothing_is_removed_while_something_is_mounted(pod: Path, mounted: Path) -> None:
    found = remove_pod_files(str(pod))
    assert found == f"{pod} stays: something is mounted at {pod}/volumes/data/with space"
    assert mounted.joinpath("file").exists()
    assert pod.joinpath("volumes", "data", "file").exists()


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    tmp_path.joinpath("pods").touch()
    assert remove_pod_files(str(tmp_path / "pods" / "u1")).endswith("Not a directory")


def test_what_stays_is_said_in_the_log(tmp_path: Path) -> None:
    tmp_path.joinpath("pods").touch()
    with capture_logs() as logs:
        forget_pod_files(str(tmp_path / "pods" / "u1"))
        forget_pod_files(str(tmp_path / "elsewhere"))
    assert [(each["event"], each["log_level"]) for each in logs] == [
        ("the files of a pod are not removed", "warning")
    ]
