"""Volumes on a real kernel: in memory, kept from an earlier process, and how all of it goes."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from actors.volumes.keeper import VOLUME_KEEPER
from actors.volumes.mounts.mount_table import mounts_below
from actors.volumes.mounts.system_calls import KernelMounts
from messages.objects import ObjectKind
from messages.volumes import ReleaseVolumes, VolumesGone, VolumesStay
from runtimes.cri.pod_directories import PodDirectoriesOnDisk
from tests.support.kernel.hand_lanes import HandLanes
from tests.support.volumes.mounting import mounting
from tests.support.volumes.reading import mode_of
from tests.support.volumes.volume_stage import (
    LOOKS_EVERY,
    NODE_MEMORY,
    VolumeStage,
    pod_with,
    volume_stage,
)

__all__ = ["mounting"]

PW = ObjectKind.SECRET
CM = ObjectKind.CONFIG_MAP
SECRET = {"name": "s", "secret": {"secretName": "pw"}}
CONFIG = {"name": "c", "configMap": {"name": "conf"}}
MEMORY = {"name": "m", "emptyDir": {"medium": "Memory"}}
SMALL = {"name": "l", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}


@pytest.fixture
def mounted(mounting: Path) -> Iterator[VolumeStage]:
    with volume_stage(mounting, KernelMounts()) as stage:
        yield stage


def below(stage: VolumeStage) -> dict[str, str]:
    """Return the types of what is mounted, by the names of the volumes."""
    found = mounts_below(KernelMounts().table(), str(stage.root.resolve()))
    return {Path(each.path).name: each.kind for each in found}


def size_of(path: Path) -> int:
    about = os.statvfs(path)
    return about.f_blocks * about.f_frsize


def test_secrets_are_in_memory_and_config_maps_on_the_disk(mounted: VolumeStage) -> None:
    mounted.puts(PW, "pw", user="me")
    mounted.puts(CM, "conf", a="b")
    pod = pod_with("web", SECRET, CONFIG, MEMORY, SMALL)
    told = mounted.wants(pod)
    assert told.volumes.keys() == {"s", "c", "m", "l"}
    assert below(mounted) == {"s": "tmpfs", "m": "tmpfs", "l": "tmpfs"}
    assert size_of(mounted.place(pod, "empty-dir", "l")) == 1 << 20
    assert size_of(mounted.place(pod, "empty-dir", "m")) == NODE_MEMORY
    assert mode_of(mounted.place(pod, "empty-dir", "m")) == 0o1777


def test_a_volume_in_memory_grows_with_its_secret_and_a_large_one_that_shrinks_stays_whole(
    mounted: VolumeStage,
) -> None:
    mounted.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET)
    mounted.wants(pod)
    mounted.passes(1.0)
    mounted.puts(PW, "pw", user="x" * 500_000)
    assert mounted.files(pod, "secret", "s") == {"user": b"x" * 500_000}
    mounted.next_process()
    mounted.puts(PW, "pw", user="me")
    mounted.wants(pod)
    assert not mounted.seen(pod).troubles
    assert mounted.files(pod, "secret", "s") == {"user": b"me"}


def test_what_an_earlier_process_mounted_is_kept_and_not_mounted_again(
    mounted: VolumeStage,
) -> None:
    mounted.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET, MEMORY)
    mounted.wants(pod)
    (mounted.place(pod, "empty-dir", "m") / "mine").write_text("kept")
    before = mounts_below(KernelMounts().table(), str(mounted.root.resolve()))
    mounted.next_process()
    assert mounted.wants(pod).volumes.keys() == {"s", "m"}
    assert mounts_below(KernelMounts().table(), str(mounted.root.resolve())) == before
    assert (mounted.place(pod, "empty-dir", "m") / "mine").read_text() == "kept"


def test_a_secret_that_somebody_unmounted_is_mounted_again_and_never_written_to_the_disk(
    mounted: VolumeStage,
) -> None:
    mounted.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET)
    mounted.wants(pod)
    KernelMounts().unmount(str(mounted.place(pod, "secret", "s")))
    assert mounted.files(pod, "secret", "s") == {}
    mounted.passes(LOOKS_EVERY)
    assert below(mounted) == {"s": "tmpfs"}
    assert mounted.files(pod, "secret", "s") == {"user": b"me"}


def test_all_that_is_mounted_goes_with_the_pod(mounted: VolumeStage) -> None:
    mounted.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET, MEMORY)
    mounted.wants(pod)
    assert mounted.releases(pod) == [VolumesGone(uid=pod.uid)]
    assert below(mounted) == {}
    assert not mounted.directory(pod).exists()


def test_what_is_in_use_is_detached_in_the_end(mounted: VolumeStage) -> None:
    pod = pod_with("web", MEMORY)
    mounted.wants(pod)
    held = os.open(mounted.place(pod, "empty-dir", "m"), os.O_RDONLY)
    try:
        busy = (f"{mounted.place(pod, 'empty-dir', 'm')}: Device or resource busy",)
        assert mounted.releases(pod) == [VolumesStay(uid=pod.uid, reasons=busy)]
        assert below(mounted) == {"m": "tmpfs"}
        mounted.passes(10.0)
        assert mounted.gone.drain() == [VolumesGone(uid=pod.uid)]
        assert below(mounted) == {}
    finally:
        os.close(held)


def test_mounts_of_a_pod_that_is_gone_are_taken_away_by_a_sweep(mounted: VolumeStage) -> None:
    mounted.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET)
    mounted.wants(pod)
    mounted.next_process()
    asked = ReleaseVolumes(uid=pod.uid, reply_to=mounted.gone, unless_wanted=True)
    mounted.play.tell(VOLUME_KEEPER, asked)
    mounted.gone.expect(VolumesGone(uid=pod.uid))
    assert below(mounted) == {}


def test_the_directory_of_an_unknown_pod_stays_while_what_is_mounted_in_it_is_in_use_and_goes_later(
    mounted: VolumeStage, logs: list[MutableMapping[str, Any]]
) -> None:
    pod = pod_with("web", MEMORY)
    mounted.wants(pod)
    mounted.next_process()  # which knows of no such pod
    keeper = mounted.play.port(VOLUME_KEEPER)
    directories = PodDirectoriesOnDisk(str(mounted.root), HandLanes(), lambda: keeper)
    held = os.open(mounted.place(pod, "empty-dir", "m"), os.O_RDONLY)
    try:
        directories.remove(pod.uid)
        mounted.play.settle()
        mounted.passes(1.0)  # it is tried once more
        directories.remove(pod.uid)  # and looked for once more
        mounted.play.settle()
        assert below(mounted) == {"m": "tmpfs"}
        assert directories.pods() == [pod.uid]
    finally:
        os.close(held)
    mounted.passes(10.0)
    assert below(mounted) == {}
    assert directories.pods() == []
    said = [each for each in logs if each["log_level"] == "warning"]
    assert [(each["event"], each["uid"]) for each in said] == [
        ("volumes of a pod cannot be taken away", pod.uid)
    ]
