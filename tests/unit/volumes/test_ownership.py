"""Giving a volume to a group, while somebody may change it."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from volumes.mounts.ownership import ENTRIES_OF_A_STEP, GroupChangePolicy, steps_to_group
from volumes.mounts.safe_opening import DIRECTORY
from volumes.mounts.system_calls import KernelMounts, MountFlag

GROUP = 4321
ALWAYS, ON_MISMATCH = GroupChangePolicy.ALWAYS, GroupChangePolicy.ON_ROOT_MISMATCH


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a volume with a file below a directory, and something precious beside it."""
    if os.geteuid() != 0:
        pytest.skip("giving files to other groups needs root")
    place = tmp_path / "volume"
    place.joinpath("deep", "er").mkdir(parents=True)
    for path, mode in (("deep/er/script", 0o755), ("key", 0o400)):
        place.joinpath(path).touch()
        place.joinpath(path).chmod(mode)
    tmp_path.joinpath("precious").mkdir()
    tmp_path.joinpath("precious", "file").touch(0o600)
    return place


@pytest.fixture(params=["openat2", "walk"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return how names are opened: by a kernel that has ``openat2``, or by one that has not."""
    if request.param == "walk":
        monkeypatch.setattr("volumes.mounts.safe_opening.has_openat2", lambda: False)
    return str(request.param)


def give(place: Path, policy: GroupChangePolicy = ALWAYS, *, read_only: bool = False) -> list[int]:
    opened = os.open(place, DIRECTORY)
    try:
        return list(steps_to_group(opened, GROUP, policy, read_only=read_only))
    finally:
        os.close(opened)


def looks(place: Path) -> dict[str, tuple[int, str]]:
    """Return the group and the mode of everything below a place."""
    found = [place, *place.rglob("*")]
    about = {str(path.relative_to(place)): path.lstat() for path in found}
    return {path: (each.st_gid, oct(each.st_mode & 0o7777)) for path, each in about.items()}


def test_all_of_a_volume_belongs_to_the_group_which_may_write(root: Path) -> None:
    root.chmod(0o755)
    give(root)
    assert looks(root) == {
        ".": (GROUP, "0o2775"),
        "deep": (GROUP, "0o2775"),
        "deep/er": (GROUP, "0o2775"),
        "deep/er/script": (GROUP, "0o775"),
        "key": (GROUP, "0o660"),
    }


def test_in_a_volume_that_is_read_only_the_group_may_read(root: Path) -> None:
    root.chmod(0o700)
    give(root, read_only=True)
    assert looks(root)["."] == (GROUP, "0o2750")
    assert looks(root)["key"] == (GROUP, "0o440")


def test_bits_that_a_change_of_the_group_takes_away_are_given_back(root: Path) -> None:
    root.joinpath("key").chmod(0o6775)
    give(root)
    assert looks(root)["key"] == (GROUP, "0o6775")


def test_no_link_is_followed(root: Path, tmp_path: Path) -> None:
    before = looks(tmp_path / "precious")
    root.joinpath("link").symlink_to(tmp_path / "precious")
    root.joinpath("deep", "file").symlink_to(tmp_path / "precious" / "file")
    give(root)
    assert looks(tmp_path / "precious") == before
    assert looks(root)["key"] == (GROUP, "0o660")


def test_a_pipe_in_a_volume_does_not_block(root: Path) -> None:
    os.mkfifo(root / "pipe", 0o600)
    give(root)
    assert looks(root)["pipe"] == (GROUP, "0o660")


def test_no_mount_is_entered(root: Path, tmp_path: Path, mounting: Path) -> None:
    assert mounting == tmp_path
    KernelMounts().mount("tmpfs", str(root / "deep"), "tmpfs", MountFlag.NONE, "size=4k,mode=700")
    root.joinpath("deep", "file").touch(0o600)
    give(root)
    assert looks(root)["deep"][0] == 0
    assert looks(root)["deep/file"][0] == 0
    assert looks(root)["key"] == (GROUP, "0o660")


def test_a_bind_of_the_same_file_system_is_entered_only_where_the_kernel_cannot_see_to_it(
    root: Path, mounting: Path, way: str
) -> None:
    KernelMounts().mount(str(mounting / "precious"), str(root / "deep"), "", MountFlag.BIND, "")
    before = looks(mounting / "precious")
    give(root)
    # A walk knows mounts by their file systems.
    assert (looks(mounting / "precious") != before) == (way == "walk")


def test_a_volume_whose_root_fits_is_not_looked_at(root: Path) -> None:
    give(root)
    root.joinpath("late").touch(0o600)
    os.chown(root / "late", 0, 0)
    assert give(root, ON_MISMATCH) == []
    assert looks(root)["late"] == (0, "0o600")
    root.chmod(0o2755)
    assert give(root, ON_MISMATCH) == [5]
    assert looks(root)["late"] == (GROUP, "0o660")


def many_files(root: Path) -> Iterator[int]:
    for number in range(3 * ENTRIES_OF_A_STEP):
        root.joinpath("deep", str(number)).touch(0o600)
    opened = os.open(root, DIRECTORY)
    try:
        yield from steps_to_group(opened, GROUP, ON_MISMATCH)
    finally:
        os.close(opened)


def test_a_large_volume_takes_many_steps_and_what_a_crash_cut_short_is_done_again(
    root: Path,
) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    steps = many_files(root)
    assert next(steps) == ENTRIES_OF_A_STEP
    steps.close()  # type: ignore[attr-defined]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert looks(root)["."][0] == 0
    again = give(root, ON_MISMATCH)
    assert max(again) == ENTRIES_OF_A_STEP
    assert sum(again) == 3 * ENTRIES_OF_A_STEP + 4
    assert {group for group, _ in looks(root).values()} == {GROUP}


def test_nothing_outside_is_changed_while_names_are_being_swapped(
    root: Path, tmp_path: Path
) -> None:
    """A directory is replaced by a link to something precious, at every step."""
    before = looks(tmp_path / "precious")
    for number in range(2 * ENTRIES_OF_A_STEP):
        root.joinpath("deep", "er", str(number)).touch(0o600)
    opened = os.open(root, DIRECTORY)
    try:
        for _ in steps_to_group(opened, GROUP, ALWAYS):
            with suppress(OSError):
                root.joinpath("deep").rename(tmp_path / "kept")
                root.joinpath("deep").symlink_to(tmp_path / "precious")
    finally:
        os.close(opened)
    assert looks(tmp_path / "precious") == before


def test_a_program_that_swaps_names_all_the_time_gains_nothing(root: Path, tmp_path: Path) -> None:
    before = looks(tmp_path / "precious")
    script = "while :; do mv deep kept; ln -s ../precious deep; rm deep; mv kept deep; done"
    hostile = subprocess.Popen(["sh", "-c", script], cwd=root, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with suppress(OSError):
                give(root)
    finally:
        hostile.kill()
        hostile.wait()
    assert looks(tmp_path / "precious") == before
    assert stat.S_ISDIR(root.stat().st_mode)
