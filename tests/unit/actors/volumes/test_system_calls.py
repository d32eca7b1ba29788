"""The kernel's calls for mounts, on this machine's kernel."""

from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path

import pytest

from actors.volumes.mounts.mount_table import mount_at
from actors.volumes.mounts.system_calls import KernelMounts, MountFlag, Resolve, openat2


def test_a_call_that_is_refused_says_why_and_where(tmp_path: Path) -> None:
    place = str(tmp_path / "nowhere")
    errors: list[OSError] = []
    for call in (
        partial(KernelMounts().mount, "", place, "tmpfs", MountFlag.NONE, ""),
        partial(KernelMounts().unmount, place),
        partial(openat2, -100, place, os.O_PATH, Resolve.NO_SYMLINKS),
    ):
        try:
            call()
        except OSError as error:
            errors.append(error)
    assert [error.filename for error in errors] == [place] * 3
    assert {error.errno for error in errors} <= {errno.ENOENT, errno.EPERM, errno.ENOSYS}


def test_the_table_has_what_is_mounted() -> None:
    proc = mount_at(KernelMounts().table(), "/proc")
    assert proc is not None
    assert proc.kind == "proc"


def test_the_type_of_a_file_system_is_the_kernels_number() -> None:
    with Path("/proc/self/status").open("rb") as file:
        assert KernelMounts().kind_of(file.fileno()) == 0x9FA0
    with pytest.raises(OSError, match="Bad file descriptor"):
        KernelMounts().kind_of(-1)
