"""Volumes of the kind ``emptyDir``."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from actors.volumes.making.forms import memory_size, page_size
from actors.volumes.mounts.empty_dirs import make_of_huge_pages, make_on_disk
from actors.volumes.mounts.places import VolumePlace
from actors.volumes.mounts.system_calls import KernelMounts, MountFlag
from tests.support.volumes.mounting import RefusingMounts
from tests.support.volumes.reading import mode_of

LARGE = 2 << 20


def place(root: Path) -> VolumePlace:
    return VolumePlace(root=str(root), names=("u1", "volumes", "kubernetes.io~empty-dir", "pages"))


@pytest.mark.parametrize(
    ("limit", "pod_limit", "expected"),
    [
        (None, None, 100),
        (50, None, 50),
        (None, 60, 60),
        (70, 60, 60),
        (500, None, 100),
        (0, 0, 100),
    ],
)
def test_memory_is_limited_by_the_least_of_all_limits(
    limit: int | None, pod_limit: int | None, expected: int
) -> None:
    assert memory_size(limit, pod_limit, 100) == expected


def test_pages_are_those_that_the_pod_asks_for() -> None:
    asked = ["cpu", "hugepages-2Mi"]
    assert page_size("HugePages", asked) == LARGE
    assert page_size("HugePages-2Mi", [*asked, "hugepages-1Gi"]) == LARGE


@pytest.mark.parametrize(
    ("medium", "resources", "trouble"),
    [
        ("HugePages", [], "needs pages of one size in the pod, which has none"),
        ("HugePages", ["hugepages-1Gi", "hugepages-2Mi"], "which has 1Gi, 2Mi"),
        ("HugePages-1Gi", ["hugepages-2Mi"], "no container asks for hugepages-1Gi"),
        ("HugePages-", ["hugepages-"], "is not known"),
        ("HugePages-0", ["hugepages-0"], "is not known"),
        ("HugePagesX", [], "is not known"),
        ("HugePages", ["hugepages-lots"], "hugepages-lots names no size"),
    ],
)
def test_pages_that_there_cannot_be_are_refused(
    medium: str, resources: list[str], trouble: str
) -> None:
    with pytest.raises(ValueError, match=trouble):
        page_size(medium, resources)


def test_a_directory_that_somebody_took_away_is_made_again(tmp_path: Path) -> None:
    path, marker = tmp_path / "volumes" / "data", tmp_path / "plugins" / "data" / "ready"
    make_on_disk(path, marker, None)
    path.rmdir()
    make_on_disk(path, marker, None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o777


def test_large_pages_are_a_file_system_of_their_own(mounting: Path) -> None:
    if "hugetlbfs" not in Path("/proc/filesystems").read_text():
        pytest.skip("this kernel has no hugetlbfs")
    make_of_huge_pages(KernelMounts(), place(mounting), LARGE, group=7)
    made = make_of_huge_pages(KernelMounts(), place(mounting), LARGE, group=7)
    about = Path(made.path).stat()
    assert os.statvfs(made.path).f_bsize == LARGE
    assert (about.st_gid, stat.S_IMODE(about.st_mode)) == (7, 0o3777)
    assert [each.path for each in KernelMounts().table()].count(made.path) == 1
    with pytest.raises(OSError, match="something else"):
        make_of_huge_pages(KernelMounts(), place(mounting), 1 << 30)


def test_something_else_in_the_place_of_large_pages_is_left_alone(mounting: Path) -> None:
    path = Path(place(mounting).path)
    path.mkdir(parents=True)
    KernelMounts().mount("tmpfs", str(path), "tmpfs", MountFlag.NONE, "size=4k")
    with pytest.raises(OSError, match="something else is mounted there"):
        make_of_huge_pages(KernelMounts(), place(mounting), LARGE)


def test_large_pages_that_cannot_be_mounted_are_said_with_their_place(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Operation not permitted") as found:
        make_of_huge_pages(RefusingMounts(errno.EPERM), place(tmp_path), LARGE)
    assert found.value.filename == place(tmp_path).path


def on_disk(root: Path, group: int | None = None) -> Path:
    """Have one made, and return where it is."""
    made = root / "volumes" / "data"
    make_on_disk(made, root / "plugins" / "data" / "ready", group)
    return made


def test_anybody_can_write_to_an_empty_directory(tmp_path: Path) -> None:
    made = on_disk(tmp_path)
    assert mode_of(made) == 0o777
    assert mode_of(made.parent) == 0o750


def test_an_empty_directory_belongs_to_the_group_of_the_pods_files(tmp_path: Path) -> None:
    made = on_disk(tmp_path, os.getgid())
    assert mode_of(made) == 0o2777
    assert made.stat().st_gid == os.getgid()


def test_what_is_in_an_empty_directory_stays_and_so_does_its_mode(tmp_path: Path) -> None:
    made = on_disk(tmp_path)
    made.chmod(0o700)
    made.joinpath("kept").touch()
    assert mode_of(on_disk(tmp_path)) == 0o700
    assert made.joinpath("kept").exists()


def test_a_directory_that_a_crash_left_half_made_is_finished(tmp_path: Path) -> None:
    tmp_path.joinpath("volumes", "data").mkdir(0o700, parents=True)
    assert mode_of(on_disk(tmp_path)) == 0o777
