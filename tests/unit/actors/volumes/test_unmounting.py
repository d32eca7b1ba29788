"""Unmounting and removing, on this machine's kernel."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from actors.volumes.mounts.mount_table import mount_at
from actors.volumes.mounts.places import VolumePlace
from actors.volumes.mounts.removal import Unmounted, remove_pod_files, remove_tree, unmount_volume
from actors.volumes.mounts.system_calls import KernelMounts, MountFlag
from tests.support.volumes.mounting import RefusingMounts


def volume(root: Path) -> VolumePlace:
    return VolumePlace(root=str(root), names=("u1", "volumes", "kubernetes.io~secret", "keys"))


@pytest.fixture
def tmpfs(mounting: Path) -> VolumePlace:
    """Return a volume in memory."""
    place = volume(mounting)
    Path(place.path).mkdir(parents=True)
    KernelMounts().mount("tmpfs", place.path, "tmpfs", MountFlag.NONE, "size=64k")
    return place


def test_a_volume_is_unmounted_with_all_that_is_on_top_of_each_other(tmpfs: VolumePlace) -> None:
    KernelMounts().mount("tmpfs", tmpfs.path, "tmpfs", MountFlag.NONE, "size=4k")
    assert unmount_volume(KernelMounts(), tmpfs) is Unmounted.DONE
    assert mount_at(KernelMounts().table(), tmpfs.path) is None
    assert unmount_volume(KernelMounts(), tmpfs) is Unmounted.NOTHING_THERE


def test_a_volume_that_never_was_is_not_there_and_is_not_made(tmp_path: Path) -> None:
    assert unmount_volume(KernelMounts(), volume(tmp_path)) is Unmounted.NOTHING_THERE
    assert list(tmp_path.iterdir()) == []


def test_an_agent_that_may_not_mount_has_nothing_to_unmount(tmp_path: Path) -> None:
    Path(volume(tmp_path).path).mkdir(parents=True)
    assert unmount_volume(RefusingMounts(errno.EPERM), volume(tmp_path)) is Unmounted.NOTHING_THERE


def test_a_volume_in_use_stays_until_the_last_resort(tmpfs: VolumePlace) -> None:
    with Path(tmpfs.path, "file").open("w") as used:
        with pytest.raises(OSError, match="busy") as found:
            unmount_volume(KernelMounts(), tmpfs)
        assert found.value.filename == tmpfs.path
        assert mount_at(KernelMounts().table(), tmpfs.path) is not None
        assert unmount_volume(KernelMounts(), tmpfs, detach=True) is Unmounted.DETACHED
        assert mount_at(KernelMounts().table(), tmpfs.path) is None
        assert used.write("still") == 5
    assert remove_pod_files(tmpfs.path) == ""


def test_a_link_in_the_place_of_a_volume_is_not_followed(
    tmpfs: VolumePlace, mounting: Path
) -> None:
    other = VolumePlace(root=str(mounting), names=("u2", "keys"))
    mounting.joinpath("u2").mkdir()
    Path(other.path).symlink_to(tmpfs.path)
    assert unmount_volume(KernelMounts(), other) is Unmounted.NOTHING_THERE
    assert mount_at(KernelMounts().table(), tmpfs.path) is not None


def look_into(path: str) -> None:
    """Wait for an answer until the file system is given up."""
    with suppress(OSError):
        list(Path(path).iterdir())


@pytest.fixture
def hanging(mounting: Path) -> Iterator[VolumePlace]:
    """Return a volume whose file system answers nothing: whoever looks into it waits."""
    place = volume(mounting)
    Path(place.path).mkdir(parents=True)
    try:
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        pytest.skip("this kernel has no FUSE")
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    KernelMounts().mount("nobody", place.path, "fuse", MountFlag.NONE, options)
    yield place
    os.close(device)


def test_a_volume_that_does_not_answer_is_unmounted_without_asking_it(hanging: VolumePlace) -> None:
    waiting = threading.Thread(target=look_into, args=(hanging.path,))
    waiting.start()
    parent = str(Path(hanging.path).parent)
    assert remove_pod_files(parent) == f"{parent} stays: something is mounted at {hanging.path}"
    assert unmount_volume(KernelMounts(), hanging, detach=True) is not Unmounted.NOTHING_THERE
    assert mount_at(KernelMounts().table(), hanging.path) is None
    assert remove_pod_files(parent) == ""


def test_a_tree_goes_however_deep_it_is(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    opened = os.open(top, os.O_PATH)
    for _ in range(3000):
        os.mkdir("a" * 100, dir_fd=opened)
        below = os.open("a" * 100, os.O_PATH, dir_fd=opened)
        os.close(opened)
        opened = below
    os.close(opened)
    remove_tree(top)
    assert not top.exists()


def test_what_was_being_removed_when_the_agent_ended_goes_with_the_next(tmp_path: Path) -> None:
    left = tmp_path / "pods" / ".removing-u0"
    left.joinpath(".moved-0123", "deep").mkdir(parents=True)
    left.joinpath(".moved-0123", "file").touch()
    assert remove_pod_files(str(tmp_path / "pods" / "u1")) == ""
    assert list(tmp_path.joinpath("pods").iterdir()) == []


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_what_is_mounted_after_the_table_was_read_is_not_entered(
    mounting: Path, depth: int
) -> None:
    top, precious = mounting / "top", mounting / "precious"
    place = top.joinpath(*["deep"] * depth)
    place.mkdir(parents=True)
    precious.mkdir()
    precious.joinpath("file").touch()
    KernelMounts().mount(str(precious), str(place), "", MountFlag.BIND, "")
    with pytest.raises(OSError, match=r"busy|cross-device"):
        remove_tree(top)
    assert precious.joinpath("file").exists()


def test_a_link_that_replaces_a_directory_is_removed_itself(tmp_path: Path) -> None:
    top, precious = tmp_path / "top", tmp_path / "precious"
    top.joinpath("deep").mkdir(parents=True)
    precious.mkdir()
    precious.joinpath("file").touch()
    top.joinpath("deep", "link").symlink_to(precious)
    top.joinpath("link").symlink_to(precious)
    remove_tree(top)
    assert precious.joinpath("file").exists()
    assert not top.exists()
