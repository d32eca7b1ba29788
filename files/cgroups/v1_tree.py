"""Cgroups of v1: a folder in each hierarchy. Blocks for short times."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from typing import Final

from typing_extensions import override

from files.cgroups.files import CgroupFiles
from files.cgroups.limits import CgroupLimits
from files.cgroups.mounts import CgroupMounts
from files.cgroups.names import CgroupName
from files.cgroups.trees import FolderTree
from files.cgroups.writes import (
    MEMORY_AND_SWAP,
    MEMORY_V1,
    PERIOD,
    CgroupWrite,
    is_unlimited,
    v1_writes,
)

_CPUSETS: Final = ("cpuset.cpus", "cpuset.mems")


class V1Tree(FolderTree):
    """Cgroups of v1. On a hybrid machine v2 is only cleaned up: it limits nothing there."""

    def __init__(self, files: CgroupFiles, mounts: CgroupMounts) -> None:
        super().__init__(files)
        self._mounts = mounts

    @override
    def roots(self) -> Iterable[str]:
        return [*(each.folder for each in self._mounts.v1), *filter(None, [self._mounts.v2])]

    @override
    def make(self, name: CgroupName) -> bool:
        path = "/".join(name)
        made = [self.files.make(f"{each.folder}/{path}") for each in self._mounts.v1]
        cpusets = self._mounts.folder_of("cpuset")
        if cpusets:
            for depth in range(1, len(name) + 1):
                self._inherit(f"{cpusets}/{'/'.join(name[:depth])}")
        return any(made)

    @override
    def limit(self, name: CgroupName, limits: CgroupLimits) -> None:
        path = "/".join(name)
        writes = [(f"{root}/{path}", write) for root, write in self._mounted(v1_writes(limits))]
        for folder, write in writes:
            if write.file == MEMORY_V1:
                self._open_swap(folder, write.text)
        # With the old quota a period may be more than the cgroup above has. The new quota comes after it.
        early = [each for each in writes if each[1].file == PERIOD and self._is_refused(*each)]
        self.write_all([each for each in writes if each not in early] + early)

    @property
    @override
    def is_unified(self) -> bool:
        return False

    @property
    @override
    def can_limit_swap(self) -> bool:
        memory = self._mounts.folder_of("memory")
        return self.files.read(f"{memory}/{MEMORY_AND_SWAP}") is not None

    @property
    @override
    def can_limit_pages(self) -> bool:
        return bool(self._mounts.folder_of("hugetlb"))

    def _mounted(self, writes: Iterable[CgroupWrite]) -> Iterator[tuple[str, CgroupWrite]]:
        for write in writes:
            root = self._mounts.folder_of(write.controller)
            if root:
                yield root, write

    def _is_refused(self, folder: str, write: CgroupWrite) -> bool:
        """Write a value, and return whether it is refused for now."""
        try:
            self.write(folder, write)
        except OSError as error:
            return error.errno == errno.EINVAL
        return False

    def _inherit(self, folder: str) -> None:
        """Give a cgroup the cpus and the memory of the one above it: without any no process may enter it."""
        above = folder.rpartition("/")[0]
        for name in _CPUSETS:
            if not (self.files.read(f"{folder}/{name}") or "").strip():
                self.files.write(
                    f"{folder}/{name}", (self.files.read(f"{above}/{name}") or "").strip()
                )

    def _open_swap(self, folder: str, memory: str) -> None:
        """Take away a limit of memory and swap together that is less than the new one of memory."""
        there = self.files.read(f"{folder}/{MEMORY_AND_SWAP}")
        if there is None or is_unlimited(there):
            return
        if is_unlimited(memory) or int(there) < int(memory):
            self.files.write(f"{folder}/{MEMORY_AND_SWAP}", "-1")
