"""What tests that were killed have left is unmounted where pytest tries to remove it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from actors.volumes.mounts.mount_table import mounts_below
from actors.volumes.mounts.system_calls import KernelMounts, MountFlag
from tests.support.volumes.sweeping import sweep_garbage


def test_what_is_mounted_in_garbage_is_unmounted_and_nothing_beside_it(
    mounting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(mounting))
    garbage, used = (
        mounting / "pytest-of-me" / name / "volume" for name in ("garbage-1", "pytest-1")
    )
    for each in (garbage, used):
        each.mkdir(parents=True)
        KernelMounts().mount("tmpfs", str(each), "tmpfs", MountFlag(0), "size=4k")
    assert sweep_garbage() == [str(garbage)]
    left = mounts_below(KernelMounts().table(), str(mounting))
    assert [each.path for each in left] == [str(used)]
