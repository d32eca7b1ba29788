"""Taking volumes away, on this machine's kernel: how often it is asked what is mounted."""

from __future__ import annotations

from pathlib import Path

from typing_extensions import override

from actors.volumes.making.jobs import VolumesTornDown
from actors.volumes.making.teardown import Teardowns
from actors.volumes.mounts.mount_table import MountPoint, mounts_below
from actors.volumes.mounts.system_calls import KernelMounts, MountFlag
from messages.pods import PodUid
from tests.support.volumes.mounting import RefusingMounts
from tests.support.volumes.no_mounts import NoMounts


class _CountingMounts(RefusingMounts):
    """The kernel of this machine, which counts how often its mounts are read."""

    def __init__(self) -> None:
        super().__init__(0, "nothing is refused")
        self.reads = 0

    @override
    def table(self) -> tuple[MountPoint, ...]:
        self.reads += 1
        return super().table()


def mounted(root: Path, uid: str) -> Path:
    place = root / "pods" / uid / "volumes" / "kubernetes.io~secret" / "s"
    place.mkdir(parents=True)
    KernelMounts().mount("tmpfs", str(place), "tmpfs", MountFlag.NONE, "size=64k")
    return place


def test_mounts_are_read_once_for_all_pods_that_go_together(mounting: Path) -> None:
    calls = _CountingMounts()
    teardowns = Teardowns(str(mounting), calls)
    uids = [PodUid(f"u{number}") for number in range(20)]
    for uid in uids:
        mounted(mounting, uid)
    jobs = [teardowns.job(uid, detach=False) for uid in uids]
    assert [job() for job in jobs] == [VolumesTornDown()] * 20
    assert calls.reads == 1
    assert mounts_below(KernelMounts().table(), str(mounting)) == ()
    assert list((mounting / "pods").iterdir()) == []


def test_what_a_pod_mounted_before_its_end_is_seen_though_mounts_were_read_for_others(
    mounting: Path,
) -> None:
    calls = _CountingMounts()
    teardowns = Teardowns(str(mounting), calls)
    mounted(mounting, "u1")
    assert teardowns.job(PodUid("u1"), detach=False)() == VolumesTornDown()
    mounted(mounting, "u2")
    assert teardowns.job(PodUid("u2"), detach=False)() == VolumesTornDown()
    assert calls.reads == 2
    assert list((mounting / "pods").iterdir()) == []


def test_nothing_is_removed_through_a_mount_that_came_after_mounts_were_read(
    mounting: Path,
) -> None:
    teardowns = Teardowns(str(mounting), KernelMounts())
    first, second = (teardowns.job(PodUid(uid), detach=False) for uid in ("u1", "u2"))
    assert first() == VolumesTornDown()
    kept = mounted(mounting, "u2") / "kept"
    kept.write_text("x")
    trouble = second()
    assert trouble.trouble
    moved = mounts_below(KernelMounts().table(), str(mounting))
    assert [Path(each.path, "kept").read_text() for each in moved] == ["x"]
    assert teardowns.job(PodUid("u2"), detach=False)() == VolumesTornDown()
    assert mounts_below(KernelMounts().table(), str(mounting)) == ()


def test_a_pod_without_a_directory_has_nothing_to_take_away(tmp_path: Path) -> None:
    teardowns = Teardowns(str(tmp_path), NoMounts())
    assert teardowns.job(PodUid("u1"), detach=False)() == VolumesTornDown()
    assert teardowns.job(PodUid("../u1"), detach=False)() == VolumesTornDown()
    assert list(tmp_path.iterdir()) == []
