"""The directories of pods: which there are, and that those go of which somebody says so."""

from __future__ import annotations

from pathlib import Path

from messages.pods import PodUid
from runtimes.cri.operations.flow import DiskLane
from runtimes.cri.pod_directories import PodDirectoriesOnDisk
from tests.support.kernel.hand_lanes import HandLanes


def test_directories_are_pods_and_files_links_and_what_is_being_removed_are_not(
    tmp_path: Path,
) -> None:
    directories = PodDirectoriesOnDisk(str(tmp_path), HandLanes())
    assert directories.pods() == []
    pods = tmp_path / "pods"
    for name in ("b", "a", ".removing-c"):
        (pods / name).mkdir(parents=True)
    (pods / "file").touch()
    (pods / "link").symlink_to(tmp_path)
    assert directories.pods() == ["a", "b"]


def test_a_directory_is_removed_with_all_that_is_in_it(tmp_path: Path) -> None:
    disk = HandLanes()
    (tmp_path / "pods/a/volumes/x").mkdir(parents=True)
    (tmp_path / "pods/b").mkdir()
    directories = PodDirectoriesOnDisk(str(tmp_path), disk)
    directories.remove(PodUid("a"))
    directories.remove(PodUid("a"))
    directories.remove(PodUid(".."))
    assert directories.pods() == ["b"]
    assert disk.lanes == [DiskLane.REMOVALS, DiskLane.REMOVALS]


def test_a_directory_that_cannot_be_removed_stays_until_it_can(tmp_path: Path) -> None:
    disk = HandLanes()
    (tmp_path / "pods/a").mkdir(parents=True)
    directories = PodDirectoriesOnDisk(str(tmp_path), disk)
    disk.trouble = "it is broken"
    directories.remove(PodUid("a"))
    assert directories.pods() == ["a"]
    disk.trouble = ""
    directories.remove(PodUid("a"))
    assert directories.pods() == []
