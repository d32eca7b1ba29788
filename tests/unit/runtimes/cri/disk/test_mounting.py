"""Parts of volumes that are bound before a container is created, and mounts that propagate."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from actors.volumes.mounts.places import VolumePlace
from actors.volumes.mounts.sub_paths import SubPath
from actors.volumes.mounts.system_calls import KernelMounts, MountFlag
from runtimes.cri.disk.pod_files import (
    BindSubPath,
    CheckPropagation,
    bind_part,
    carry_out,
    check_propagation,
)
from tests.support.volumes.mounting import RefusingMounts


@pytest.fixture
def root(mounting: Path) -> Path:
    """Return a directory with a volume and a file in it."""
    mounting.joinpath("volume").mkdir()
    mounting.joinpath("volume", "file").write_text("content")
    return mounting


def task(root: Path, path: str, *, may_make: bool = True) -> BindSubPath:
    names = ("pods", "u1", "volume-subpaths", "data", "main", "0")
    part = SubPath(
        volume=str(root / "volume"),
        path=path,
        place=VolumePlace(root=str(root), names=names),
        may_make=may_make,
    )
    return BindSubPath(volume="data", container="main", shown="$(NAME)", part=part)


def test_a_part_is_there_when_the_task_is_done_and_again(root: Path) -> None:
    for _ in range(2):
        assert carry_out((task(root, "file"),)) == ""
    assert Path(task(root, "file").path).read_text() == "content"


@pytest.mark.parametrize(
    ("path", "why"), [("none/such", "No such file or directory"), ("file/x", "Not a directory")]
)
def test_a_part_that_is_not_there_is_told_as_it_was_written(
    root: Path, path: str, why: str
) -> None:
    assert carry_out((task(root, path, may_make=False),)) == (
        f'failed to prepare subPath for volumeMount "data" of container "main": `$(NAME)`: {why}'
    )


def test_where_nothing_can_be_mounted_people_are_told_so(root: Path) -> None:
    said = bind_part(task(root, "file"), RefusingMounts(errno.EPERM))
    assert said.endswith("nothing can be mounted on this node, and a part of a volume has to be")


def test_propagation_is_refused_where_the_node_keeps_mounts_to_itself(root: Path) -> None:
    volume = str(root / "volume")
    KernelMounts().mount("none", volume, "tmpfs", MountFlag.NONE, "")
    KernelMounts().mount("", volume, "", MountFlag.PRIVATE, "")
    root.joinpath("link").symlink_to("volume")
    wanted = CheckPropagation(volume="data", path=str(root / "link"), propagation="Bidirectional")
    said = carry_out((wanted,))
    assert said.startswith('volume "data": path ')
    assert said.endswith("but it is not a shared mount")


def test_without_propagation_there_is_nothing_to_refuse(root: Path) -> None:
    wanted = CheckPropagation(volume="data", path=str(root), propagation="None")
    assert check_propagation(wanted) == ""
