"""Cgroups that are slices of systemd's, which alone may make and limit them.

Blocks until systemd has done what it is told, for 10 s at most.
"""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from typing_extensions import override

from files.cgroups.limits import UNLIMITED, CgroupLimits, weight_of
from files.cgroups.names import CgroupName, slices_of
from files.cgroups.trees import CgroupTree, FolderTree
from messages.units import Seconds

_PERCENT = 100

_DEADLINE: Final = Seconds(10.0)

Systemctl: TypeAlias = Callable[..., None]
"""Carries out the command of these words. What systemd refuses is an ``OSError``."""


def properties_of(limits: CgroupLimits, *, is_unified: bool) -> tuple[str, ...]:
    """Return the settings of a slice. Huge pages are not among them: systemd does not know these.

    A quota is rounded up to the next hundredth of a cpu, as systemd counts.
    """
    return tuple(_properties(limits, is_unified=is_unified))


def _properties(limits: CgroupLimits, *, is_unified: bool) -> Iterator[str]:
    yield from ("CPUAccounting=yes", "MemoryAccounting=yes", "TasksAccounting=yes")
    if limits.cpu_shares is not None:
        shares = limits.cpu_shares
        yield f"CPUWeight={weight_of(shares)}" if is_unified else f"CPUShares={shares}"
    if limits.cpu_quota is not None:
        yield f"CPUQuota={_percent(limits.cpu_quota, limits.cpu_period or 1)}"
    if limits.cpu_quota is not None and limits.cpu_period:
        yield f"CPUQuotaPeriodSec={limits.cpu_period}us"
    if limits.memory is not None:
        yield f"{'MemoryMax' if is_unified else 'MemoryLimit'}={_or_infinity(limits.memory)}"
    if limits.pids is not None:
        yield f"TasksMax={_or_infinity(limits.pids)}"


def _percent(quota: int, period: int) -> str:
    """Return a quota as systemd writes it; empty for none."""
    return "" if quota == UNLIMITED else f"{-(-quota * _PERCENT // period)}%"


def _or_infinity(limit: int) -> str:
    return "infinity" if limit == UNLIMITED else str(limit)


def run_systemctl(*words: str, program: str = "systemctl") -> None:
    """Carry out a command of ``systemctl``, which waits until systemd has done it."""
    command = [program, "--quiet", "--no-ask-password", *words]
    try:
        done = subprocess.run(  # noqa: S603  # words are names of slices and numbers
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_DEADLINE, check=False
        )
    except subprocess.TimeoutExpired:
        raise OSError(errno.ETIMEDOUT, f"no answer in {_DEADLINE} s", words[-1]) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise OSError(errno.EIO, said or f"exit code {done.returncode}", words[-1])


class SystemdTree(CgroupTree):
    """Slices, in the folders that systemd makes for them."""

    def __init__(self, folders: FolderTree, systemctl: Systemctl = run_systemctl) -> None:
        """Look at ``folders`` of v1 or v2, and have systemd make them."""
        self._folders = folders
        self._systemctl = systemctl
        self._told: dict[CgroupName, tuple[str, ...]] = {}
        """What systemd was told of slices, since each command is a process."""

    @override
    def make(self, name: CgroupName) -> bool:
        """Start a slice. Those that it is in are started with it."""
        was_there = self.is_there(name)
        if not was_there or name not in self._told:
            self._systemctl("start", slices_of(name)[-1])
            self._told[name] = ()
        return not was_there

    @override
    def limit(self, name: CgroupName, limits: CgroupLimits) -> None:
        slices = slices_of(name)
        settings = properties_of(limits, is_unified=self._folders.is_unified)
        if self._told.get(name) != settings:
            self._systemctl("set-property", "--runtime", slices[-1], *settings)
            self._told[name] = settings
        if limits.huge_pages and self.can_limit_pages:
            self._folders.limit(slices, CgroupLimits(huge_pages=limits.huge_pages))

    @override
    def is_there(self, name: CgroupName) -> bool:
        return self._folders.is_there(slices_of(name))

    @override
    def within(self, name: CgroupName) -> set[str]:
        return self._folders.within(slices_of(name))

    @override
    def remove(self, name: CgroupName) -> bool:
        """Kill what is in a slice, stop it, and have systemd forget its settings."""
        slices = slices_of(name)
        self._told.pop(name, None)
        if not self._folders.kill(slices):
            return False
        self._systemctl("stop", slices[-1])
        is_gone = self._folders.remove(slices)
        self._systemctl("revert", slices[-1])
        return is_gone

    @property
    @override
    def is_unified(self) -> bool:
        return self._folders.is_unified

    @property
    @override
    def can_limit_swap(self) -> bool:
        return self._folders.can_limit_swap

    @property
    @override
    def can_limit_pages(self) -> bool:
        return self._folders.can_limit_pages
