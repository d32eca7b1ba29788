"""File systems in memory, on this machine's kernel."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.volumes.mounts.memory import (
    PAGE,
    MemoryRoom,
    MountPowers,
    look_at_powers,
    make_in_memory,
    options_of,
    room_for_files,
)
from actors.volumes.mounts.mount_table import mount_at
from actors.volumes.mounts.places import VolumePlace
from actors.volumes.mounts.system_calls import KernelMounts, MountFlag
from tests.support.volumes.mounting import RefusingMounts

ROOM = MemoryRoom(size=1 << 20, files=64)
POWERS = MountPowers(can_mount=True, has_noswap=False)
UNABLE = MountPowers(can_mount=False, has_noswap=False, trouble="Operation not permitted")


def volume(root: Path, name: str = "keys") -> VolumePlace:
    return VolumePlace(root=str(root), names=("u1", "volumes", "kubernetes.io~secret", name))


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def stacked(place: VolumePlace) -> int:
    return [each.path for each in KernelMounts().table()].count(place.path)


def test_a_volume_is_a_file_system_of_its_own_with_its_size(mounting: Path) -> None:
    place = volume(mounting)
    made = make_in_memory(KernelMounts(), place, ROOM, POWERS)
    assert (made.path, made.is_in_memory, made.notice) == (place.path, True, "")
    found = mount_at(KernelMounts().table(), place.path)
    assert found is not None
    assert (found.kind, found.size) == ("tmpfs", 1 << 20)
    about = os.statvfs(place.path)
    assert (about.f_blocks * about.f_frsize, about.f_files) == (1 << 20, 64)
    assert mode_of(Path(place.path)) == 0o1777
    assert mode_of(Path(place.path).parent) == 0o700
    assert mode_of(mounting / "u1") == 0o750


def test_a_volume_of_a_group_is_the_groups(mounting: Path) -> None:
    made = make_in_memory(KernelMounts(), volume(mounting), ROOM, POWERS, group=4321)
    assert Path(made.path).stat().st_gid == 4321
    assert mode_of(Path(made.path)) == 0o3777


def test_what_is_mounted_already_is_kept_with_its_content(mounting: Path) -> None:
    place = volume(mounting)
    for _ in range(3):
        made = make_in_memory(KernelMounts(), place, ROOM, POWERS)
        Path(made.path, "key").write_text("value")
    assert stacked(place) == 1
    assert Path(place.path, "key").read_text() == "value"


@pytest.mark.parametrize("has_noswap", [True, False])
def test_a_volume_that_needs_another_room_gets_it_and_keeps_its_content(
    mounting: Path, *, has_noswap: bool
) -> None:
    place = volume(mounting)
    powers = look_at_powers(KernelMounts(), VolumePlace(root=str(mounting), names=("probe",)))
    first = MountPowers(can_mount=True, has_noswap=has_noswap and powers.has_noswap)
    make_in_memory(KernelMounts(), place, ROOM, first)
    Path(place.path, "key").write_text("value")
    make_in_memory(KernelMounts(), place, MemoryRoom(size=2 << 20, files=128), powers)
    about = os.statvfs(place.path)
    assert (about.f_blocks * about.f_frsize, about.f_files) == (2 << 20, 128)
    assert Path(place.path, "key").read_text() == "value"
    assert stacked(place) == 1


def test_a_room_that_is_smaller_than_what_is_in_it_is_refused_and_nothing_is_lost(
    mounting: Path,
) -> None:
    place = volume(mounting)
    make_in_memory(KernelMounts(), place, ROOM, POWERS)
    Path(place.path, "key").write_bytes(b"x" * (512 << 10))
    with pytest.raises(OSError, match="Invalid argument") as found:
        make_in_memory(KernelMounts(), place, MemoryRoom(size=4096), POWERS)
    assert found.value.filename == place.path
    assert Path(place.path, "key").stat().st_size == 512 << 10


def test_something_else_that_is_mounted_there_is_left_alone(mounting: Path) -> None:
    place = volume(mounting)
    Path(place.path).mkdir(parents=True)
    KernelMounts().mount("proc", place.path, "proc", MountFlag.NONE, "")
    with pytest.raises(OSError, match="something else is mounted there"):
        make_in_memory(KernelMounts(), place, ROOM, POWERS)


def test_a_full_volume_takes_nothing_from_its_neighbour(mounting: Path) -> None:
    first = make_in_memory(KernelMounts(), volume(mounting, "a"), ROOM, POWERS)
    second = make_in_memory(KernelMounts(), volume(mounting, "b"), ROOM, POWERS)
    with pytest.raises(OSError, match="No space left"):
        Path(first.path, "large").write_bytes(b"x" * (2 << 20))
    Path(second.path, "key").write_bytes(b"x" * (512 << 10))


def test_where_nothing_can_be_mounted_the_directory_is_behind_a_private_one(tmp_path: Path) -> None:
    place = volume(tmp_path)
    for _ in range(2):
        made = make_in_memory(RefusingMounts(errno.EPERM), place, ROOM, UNABLE)
        assert not made.is_in_memory
        assert "Operation not permitted" in made.notice
    assert mode_of(Path(place.path)) == 0o1777
    assert mode_of(Path(place.path).parent) == 0o700


def test_content_on_the_disk_is_not_hidden_by_a_mount(mounting: Path) -> None:
    place = volume(mounting)
    made = make_in_memory(KernelMounts(), place, ROOM, UNABLE)
    Path(made.path, "key").touch()
    made = make_in_memory(KernelMounts(), place, ROOM, POWERS)
    assert (made.is_in_memory, made.notice) == (False, "it stays on the disk, where it was before")
    assert stacked(place) == 0


def test_a_link_on_the_way_to_a_volume_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    tmp_path.joinpath("u1").symlink_to(outside)
    with pytest.raises(OSError, match="Not a directory") as found:
        make_in_memory(RefusingMounts(errno.EPERM), volume(tmp_path), ROOM, UNABLE)
    assert found.value.filename == volume(tmp_path).path
    assert list(outside.iterdir()) == []


def test_what_can_be_mounted_is_looked_at_once_and_leaves_nothing(mounting: Path) -> None:
    scratch = VolumePlace(root=str(mounting), names=("probe",))
    mounting.joinpath("probe").mkdir()
    KernelMounts().mount("tmpfs", str(mounting / "probe"), "tmpfs", MountFlag.NONE, "size=4k")
    assert look_at_powers(KernelMounts(), scratch).can_mount
    old = look_at_powers(RefusingMounts(errno.EINVAL, "noswap"), scratch)
    assert old == MountPowers(can_mount=True, has_noswap=False)
    assert list(mounting.iterdir()) == []


def test_an_agent_that_may_not_mount_knows_why(tmp_path: Path) -> None:
    calls = RefusingMounts(errno.EPERM)
    found = look_at_powers(calls, VolumePlace(root=str(tmp_path), names=("probe",)))
    assert found == UNABLE
    assert len(calls.asked) == 1
    assert list(tmp_path.iterdir()) == []


def test_memory_is_kept_out_of_the_swap_where_the_kernel_knows_how() -> None:
    able = MountPowers(can_mount=True, has_noswap=True)
    assert options_of(MemoryRoom(size=8), able) == "size=8,mode=1777,noswap"
    assert options_of(ROOM, POWERS, 7) == "size=1048576,mode=3777,nr_inodes=64,gid=7"


@given(st.lists(st.integers(0, 1 << 20), max_size=50), st.integers(0, 20))
def test_there_is_room_for_two_generations(sizes: list[int], directories: int) -> None:
    room = room_for_files(sizes, directories)
    pages = sum(-(-size // PAGE) for size in sizes)
    assert room.size >= 2 * pages * PAGE
    assert room.files is not None
    # Each generation has a directory; the names that people see and two links of the agent are in the root.
    assert room.files >= 1 + 2 * (1 + len(sizes) + directories) + len(sizes) + 2


def test_two_generations_of_a_volume_fit_into_the_room_for_them(mounting: Path) -> None:
    sizes = [1, PAGE, PAGE + 1, 100_000] * 25
    made = make_in_memory(KernelMounts(), volume(mounting), room_for_files(sizes), POWERS)
    for generation in ("old", "new"):
        Path(made.path, generation).mkdir()
        for number, size in enumerate(sizes):
            Path(made.path, generation, f"{number}").write_bytes(b"x" * size)
    for number in range(len(sizes)):
        Path(made.path, f"{number:0240}").symlink_to(f"..data/{number:0240}")
