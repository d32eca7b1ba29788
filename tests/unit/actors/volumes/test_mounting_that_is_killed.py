"""A process that mounts and unmounts is killed at any moment; the next one finishes what it had begun."""

from __future__ import annotations

import multiprocessing
import multiprocessing.synchronize
from pathlib import Path
from random import Random

import pytest

from actors.volumes.mounts.memory import MemoryRoom, MountPowers, look_at_powers, make_in_memory
from actors.volumes.mounts.mount_table import mounts_below
from actors.volumes.mounts.places import VolumePlace
from actors.volumes.mounts.removal import remove_pod_files, unmount_volume
from actors.volumes.mounts.sub_paths import SubPath, bind_sub_path
from actors.volumes.mounts.system_calls import KernelMounts

KILLS = 25
LONGEST_LIFE = 0.03
"""Seconds after the first round of a life."""
ROOM = MemoryRoom(size=64 << 10, files=32)
POWERS = MountPowers(can_mount=True, has_noswap=False)


def volume(root: str) -> VolumePlace:
    return VolumePlace(root=root, names=("u1", "volumes", "kubernetes.io~secret", "keys"))


def part(root: str) -> SubPath:
    names = ("u1", "volume-subpaths", "keys", "main", "0")
    return SubPath(
        volume=volume(root).path,
        path="a/b",
        place=VolumePlace(root=root, names=names),
        read_only=True,
    )


def one_round(root: str) -> None:
    """Have a volume, and have none."""
    calls = KernelMounts()
    powers = look_at_powers(calls, VolumePlace(root=root, names=("probe",)))
    assert powers.can_mount
    make_in_memory(calls, volume(root), ROOM, POWERS)
    bind_sub_path(calls, part(root))
    found = [each.path for each in mounts_below(calls.table(), root)]
    assert sorted(found) == sorted([volume(root).path, part(root).place.path])  # none twice
    unmount_volume(calls, part(root).place)
    unmount_volume(calls, volume(root))
    assert remove_pod_files(f"{root}/u1") == ""


def live(root: str, begun: multiprocessing.synchronize.Event) -> None:
    while True:
        one_round(root)
        begun.set()


@pytest.mark.timeout(120)
def test_whatever_moment_it_is_killed_at_the_next_one_has_one_mount_each_and_leaves_none(
    mounting: Path,
) -> None:
    root, context, chance = str(mounting / "pods"), multiprocessing.get_context("spawn"), Random(1)
    for _ in range(KILLS):
        begun = context.Event()
        process = context.Process(target=live, args=(root, begun), daemon=True)
        process.start()
        begun.wait()
        process.join(chance.random() * LONGEST_LIFE)
        assert process.is_alive()
        process.kill()
        process.join()
        process.close()
    one_round(root)
    assert mounts_below(KernelMounts().table(), str(mounting)) == ()
    assert list(Path(root).iterdir()) == []
