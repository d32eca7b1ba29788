"""A private place to mount in, and kernels that refuse."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_extensions import override

from actors.volumes.mounts.mount_table import MountPoint
from actors.volumes.mounts.system_calls import KernelMounts, MountCalls, MountFlag
from tests.support.containers.needs import CAP_SYS_ADMIN, capabilities
from tests.support.volumes.sweeping import sweep, sweep_garbage


class RefusingMounts(MountCalls):
    """The kernel of this machine, but for what it refuses."""

    def __init__(self, number: int, options: str = "") -> None:
        self.number = number
        self.options = options
        """What mounting with these options is refused; any if empty."""
        self.asked: list[str] = []

    @override
    def table(self) -> tuple[MountPoint, ...]:
        return KernelMounts().table()

    @override
    def mount(self, source: str, target: str, kind: str, flags: MountFlag, options: str) -> None:
        self.asked.append(options)
        if self.options in options:
            raise OSError(self.number, os.strerror(self.number), target)
        KernelMounts().mount(source, target, kind, flags, options)

    @override
    def unmount(self, target: str, *, lazily: bool = False) -> None:
        if not self.options:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM), target)
        KernelMounts().unmount(target, lazily=lazily)

    @override
    def kind_of(self, descriptor: int) -> int:
        return KernelMounts().kind_of(descriptor)


def pytest_sessionstart() -> None:
    """Unmount what killed runs have left, so that pytest can remove it."""
    if os.geteuid() == 0:
        sweep_garbage()


@pytest.fixture
def mounting(tmp_path: Path) -> Iterator[Path]:
    """Return a directory to mount in. Whatever is left there is unmounted."""
    if os.geteuid() != 0 or not capabilities() & CAP_SYS_ADMIN:
        why = "mounting needs root with CAP_SYS_ADMIN"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    yield tmp_path
    sweep(tmp_path)
