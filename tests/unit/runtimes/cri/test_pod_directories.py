"""The directories of pods: which there are, and that those go of which somebody says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from typing_extensions import override

from messages.pods import PodUid
from runtimes.cri.operations.flow import Disk, DiskFailure, DiskJob, DiskLane
from runtimes.cri.pod_directories import PodDirectoriesOnDisk


class DiskAtOnce(Disk):
    """Does each job when it is told, unless it is broken."""

    def __init__(self) -> None:
        self.lanes: list[DiskLane] = []
        self.is_broken = False

    @override
    def start(self, job: DiskJob[object], done: Callable[[object], None]) -> None:
        self.lanes.append(job.lane)
        done(DiskFailure("it is broken") if self.is_broken else job.work())


def test_directories_are_pods_and_files_links_and_what_is_being_removed_are_not(
    tmp_path: Path,
) -> None:
    directories = PodDirectoriesOnDisk(str(tmp_path), DiskAtOnce())
    assert directories.pods() == []
    pods = tmp_path / "pods"
    for name in ("b", "a", ".removing-c"):
        (pods / name).mkdir(parents=True)
    (pods / "file").touch()
    (pods / "link").symlink_to(tmp_path)
    assert directories.pods() == ["a", "b"]


def test_a_directory_is_removed_with_all_that_is_in_it(tmp_path: Path) -> None:
    disk = DiskAtOnce()
    (tmp_path / "pods/a/volumes/x").mkdir(parents=True)
    (tmp_path / "pods/b").mkdir()
    directories = PodDirectoriesOnDisk(str(tmp_path), disk)
    directories.remove(PodUid("a"))
    directories.remove(PodUid("a"))
    directories.remove(PodUid(".."))
    assert directories.pods() == ["b"]
    assert disk.lanes == [DiskLane.REMOVALS, DiskLane.REMOVALS]


def test_a_directory_that_cannot_be_removed_stays_until_it_can(tmp_path: Path) -> None:
    disk = DiskAtOnce()
    (tmp_path / "pods/a").mkdir(parents=True)
    directories = PodDirectoriesOnDisk(str(tmp_path), disk)
    disk.is_broken = True
    directories.remove(PodUid("a"))
    assert directories.pods() == ["a"]
    disk.is_broken = False
    directories.remove(PodUid("a"))
    assert directories.pods() == []
