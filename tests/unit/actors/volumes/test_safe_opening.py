"""Names below a volume that a hostile process can change at any moment."""

from __future__ import annotations

import errno
import multiprocessing
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actors.volumes.mounts.places import make_inside, open_inside, open_plain
from actors.volumes.mounts.system_calls import has_openat2

HAMMERED_FOR = 1.0
"""Seconds that names are being swapped meanwhile."""
WAYS = ["openat2", "walk"]


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[int]:
    """Return an open directory with an outside that nobody may reach."""
    place = tmp_path / "volume"
    place.joinpath("deep").mkdir(parents=True)
    place.joinpath("deep", "file").write_text("inside")
    tmp_path.joinpath("outside").mkdir()
    tmp_path.joinpath("outside", "file").write_text("precious")
    opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    yield opened
    os.close(opened)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return how names are opened: by a kernel that has ``openat2``, or by one that has not."""
    if request.param == "walk":
        monkeypatch.setattr("actors.volumes.mounts.places.has_openat2", lambda: False)
    elif not has_openat2():
        pytest.skip("this kernel has no openat2")
    return str(request.param)


def inode(opened: int) -> int:
    try:
        return os.fstat(opened).st_ino
    finally:
        os.close(opened)


def number_of(open_it: Callable[..., int], *how: object) -> int | None:
    """Return the number of the error that an opening ends with; None if it succeeds."""
    try:
        os.close(open_it(*how))
    except OSError as error:
        return error.errno
    return None


def test_a_name_inside_is_opened_whatever_it_is(volume: int, tmp_path: Path, way: str) -> None:
    assert way
    for name in ("deep", "deep/file", "./deep//file", ""):
        assert inode(open_inside(volume, name)) == (tmp_path / "volume" / name).stat().st_ino


@pytest.mark.parametrize(
    "path", ["..", "deep/../../outside", "/etc", "out/file", "root/etc", "proc"]
)
def test_no_name_leads_out_of_the_volume(volume: int, path: str, way: str) -> None:
    os.symlink("../outside", "out", dir_fd=volume)
    os.symlink("/", "root", dir_fd=volume)
    os.symlink(f"/proc/self/fd/{volume}", "proc", dir_fd=volume)
    for open_it in (open_inside, open_plain):
        found = number_of(open_it, volume, path)
        assert found in {errno.EXDEV, errno.ELOOP, errno.ENOTDIR}, way


def test_a_link_that_stays_inside_is_followed_where_the_kernel_can_see_to_it(
    volume: int, way: str
) -> None:
    os.symlink("deep", "link", dir_fd=volume)
    found = number_of(open_inside, volume, "link/file")
    assert found == (None if way == "openat2" else errno.ENOTDIR)
    found = number_of(open_inside, volume, "link")
    assert found == (None if way == "openat2" else errno.ELOOP)


def test_a_plain_name_is_never_a_link_but_a_link_can_be_opened_itself(
    volume: int, way: str
) -> None:
    os.symlink("deep", "link", dir_fd=volume)
    assert number_of(open_plain, volume, "link") == errno.ELOOP, way
    opened = open_plain(volume, "link", os.O_PATH | os.O_NOFOLLOW)
    try:
        assert stat.S_ISLNK(os.fstat(opened).st_mode)
    finally:
        os.close(opened)


def test_what_is_missing_is_made_with_exactly_the_mode_that_is_asked_for(
    volume: int, tmp_path: Path, way: str
) -> None:
    before = os.umask(0o077)
    try:
        os.close(make_inside(volume, "new/er/est", 0o2775))
    finally:
        os.umask(before)
    for name in ("new", "new/er", "new/er/est"):
        assert stat.S_IMODE((tmp_path / "volume" / name).stat().st_mode) == 0o2775, way
    assert (
        inode(make_inside(volume, "deep/file", 0o755))
        == (tmp_path / "volume/deep/file").stat().st_ino
    )


def test_nothing_is_made_where_a_link_leads(volume: int, tmp_path: Path, way: str) -> None:
    os.symlink("../outside", "out", dir_fd=volume)
    os.symlink("nowhere", "dangling", dir_fd=volume)
    for path in ("out/new", "dangling", "dangling/new", "../outside/new", "deep/file/new"):
        assert number_of(make_inside, volume, path, 0o755) is not None, way
    assert [each.name for each in tmp_path.joinpath("outside").iterdir()] == ["file"]
    assert not tmp_path.joinpath("volume", "nowhere").exists()


def test_no_descriptor_is_left_open(volume: int, way: str) -> None:
    os.symlink("/", "root", dir_fd=volume)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("deep/file", "root", "nothing", "deep/file/x", "..", "a/b/c"):
        number_of(open_inside, volume, path)
        number_of(open_plain, volume, path)
        number_of(make_inside, volume, path, 0o755)
    assert len(list(Path("/proc/self/fd").iterdir())) == before, way


def swap(place: str) -> None:
    """Be the hostile process: a directory, a link out of the volume, a directory, ..."""
    deep, kept = Path(place, "deep"), Path(place, "kept")
    while True:
        deep.rename(kept)
        deep.symlink_to("../outside")
        deep.unlink()
        kept.rename(deep)


def test_nothing_outside_is_opened_while_names_are_being_swapped(
    volume: int, tmp_path: Path, way: str
) -> None:
    outside = {each.stat().st_ino for each in (tmp_path / "outside", tmp_path / "outside" / "file")}
    hostile = multiprocessing.get_context("spawn").Process(
        target=swap, args=(str(tmp_path / "volume"),), daemon=True
    )
    hostile.start()
    try:
        opened, refused = 0, 0
        ends_at = time.monotonic() + HAMMERED_FOR
        while time.monotonic() < ends_at or not (opened and refused):
            for path in ("deep", "deep/file"):
                try:
                    assert inode(open_inside(volume, path)) not in outside, way
                    opened += 1
                except OSError:
                    refused += 1
    finally:
        hostile.kill()
        hostile.join()
        hostile.close()
