"""Parts of volumes that containers mount."""

from __future__ import annotations

import errno
import multiprocessing
import stat
import time
from pathlib import Path

import pytest

from actors.volumes.mounts.mount_table import mounts_below
from actors.volumes.mounts.places import VolumePlace
from actors.volumes.mounts.sub_paths import SubPath, bind_sub_path
from actors.volumes.mounts.system_calls import KernelMounts
from tests.support.volumes.mounting import RefusingMounts

HAMMERED_FOR = 1.5
"""Seconds that names are being swapped meanwhile."""


def part(root: Path, path: str, *, read_only: bool = False, may_make: bool = True) -> SubPath:
    names = ("pods", "u1", "volume-subpaths", "data", "main", "0")
    place = VolumePlace(root=str(root), names=names)
    volume = str(root / "volume")
    return SubPath(volume=volume, path=path, place=place, read_only=read_only, may_make=may_make)


@pytest.fixture
def root(mounting: Path) -> Path:
    """Return a directory with a volume, and something precious beside it."""
    mounting.joinpath("volume", "deep").mkdir(parents=True)
    mounting.joinpath("volume", "deep", "file").write_text("inside")
    mounting.joinpath("volume", "other").mkdir()
    mounting.joinpath("precious").mkdir()
    mounting.joinpath("precious", "file").write_text("precious")
    return mounting


def mounted(root: Path) -> list[str]:
    return [each.path for each in mounts_below(KernelMounts().table(), str(root))]


def test_a_directory_of_a_volume_is_seen_at_a_place_of_the_agents_own(root: Path) -> None:
    path = bind_sub_path(KernelMounts(), part(root, "deep"))
    assert Path(path, "file").read_text() == "inside"
    Path(path, "new").touch()
    assert root.joinpath("volume", "deep", "new").exists()
    assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o750


def test_a_file_of_a_volume_is_mounted_alone(root: Path) -> None:
    path = bind_sub_path(KernelMounts(), part(root, "deep/file"))
    assert Path(path).read_text() == "inside"


def test_what_is_missing_is_made_as_a_directory_with_the_mode_of_the_volume(root: Path) -> None:
    root.joinpath("volume").chmod(0o2777)
    bind_sub_path(KernelMounts(), part(root, "new/er"))
    assert stat.S_IMODE(root.joinpath("volume", "new", "er").stat().st_mode) == 0o2777


def test_nothing_is_made_in_a_volume_that_only_the_agent_writes(root: Path) -> None:
    with pytest.raises(FileNotFoundError) as found:
        bind_sub_path(KernelMounts(), part(root, "new", may_make=False))
    assert found.value.filename == f"{root}/volume/new"
    assert not root.joinpath("volume", "new").exists()


def test_a_part_that_is_bound_already_stays_and_is_never_bound_twice(root: Path) -> None:
    path = bind_sub_path(KernelMounts(), part(root, "deep"))
    # A mount that is in use could not be replaced.
    with Path(path, "file").open():
        assert bind_sub_path(KernelMounts(), part(root, "deep")) == path
    assert mounted(root) == [path]


def test_a_place_with_another_part_shows_the_new_one(root: Path) -> None:
    bind_sub_path(KernelMounts(), part(root, "other"))
    for wanted in ("deep", "deep/file", "deep"):
        path = bind_sub_path(KernelMounts(), part(root, wanted))
        assert mounted(root) == [path]
        assert Path(path).samefile(root / "volume" / wanted)


def test_a_part_that_was_replaced_is_bound_anew(root: Path) -> None:
    bind_sub_path(KernelMounts(), part(root, "deep"))
    root.joinpath("volume", "deep").rename(root / "volume" / "old")
    path = bind_sub_path(KernelMounts(), part(root, "deep"))
    assert list(Path(path).iterdir()) == []


def test_a_part_that_is_read_only_cannot_be_written_to_and_the_volume_can(root: Path) -> None:
    for _ in range(2):
        path = bind_sub_path(KernelMounts(), part(root, "deep", read_only=True))
        with pytest.raises(OSError, match="Read-only file system"):
            Path(path, "new").touch()
    root.joinpath("volume", "deep", "new").touch()


def test_what_a_crash_left_between_place_and_mount_is_used(root: Path) -> None:
    with pytest.raises(OSError, match="Operation not permitted") as found:
        bind_sub_path(RefusingMounts(errno.EPERM), part(root, "deep/file"))
    assert found.value.filename == part(root, "").place.path
    path = bind_sub_path(KernelMounts(), part(root, "deep/file"))
    assert Path(path).read_text() == "inside"


@pytest.mark.parametrize("path", ["../precious", "out/file", "out", "/etc", "deep/../../precious"])
def test_no_part_leads_out_of_the_volume(root: Path, path: str) -> None:
    root.joinpath("volume", "out").symlink_to("../precious")
    with pytest.raises(OSError, match=r"leads out of the volume"):
        bind_sub_path(KernelMounts(), part(root, path))
    assert mounted(root) == []


def test_a_volume_that_is_a_file_has_no_parts(root: Path) -> None:
    root.joinpath("volume").rename(root / "was")
    root.joinpath("volume").touch()
    with pytest.raises(NotADirectoryError):
        bind_sub_path(KernelMounts(), part(root, "deep"))


def swap(place: str) -> None:
    """Be the hostile container: a directory, a link out of the volume, a directory, ..."""
    deep, kept = Path(place, "deep"), Path(place, "kept")
    while True:
        deep.rename(kept)
        deep.symlink_to("../precious")
        deep.unlink()
        kept.rename(deep)


def test_nothing_precious_is_mounted_while_names_are_being_swapped(root: Path) -> None:
    hostile = multiprocessing.get_context("spawn").Process(
        target=swap, args=(str(root / "volume"),), daemon=True
    )
    hostile.start()
    precious = {root.joinpath(each).stat().st_ino for each in ("precious", "precious/file")}
    try:
        bound = 0
        ends_at = time.monotonic() + HAMMERED_FOR
        while time.monotonic() < ends_at or not bound:
            for path in ("deep", "deep/file"):
                try:
                    found = bind_sub_path(KernelMounts(), part(root, path, may_make=False))
                except OSError:
                    continue
                assert Path(found).stat().st_ino not in precious
                bound += 1
    finally:
        hostile.kill()
        hostile.join()
        hostile.close()
