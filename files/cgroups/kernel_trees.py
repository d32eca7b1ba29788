"""Cgroups of the kernel's own file systems: v1 with a folder in each hierarchy, v2 with one folder.

In v2 a cgroup has the controllers that the one above it gives on, which it may do only while it has no
processes itself. Everything here blocks, for short times.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from typing import Final

from typing_extensions import override

from files.cgroups.files import CgroupFiles
from files.cgroups.limits import (
    MEMORY_AND_SWAP,
    MEMORY_V1,
    MEMORY_V2,
    PERIOD,
    USED_V2,
    CgroupLimits,
    CgroupWrite,
    is_unlimited,
    v1_writes,
    v2_writes,
)
from files.cgroups.mounts import NEEDED, CgroupMounts
from files.cgroups.names import CgroupName, names_above
from files.cgroups.trees import FolderTree

_CPUSETS: Final = ("cpuset.cpus", "cpuset.mems")

_GIVEN_ON: Final = "cgroup.subtree_control"
_AVAILABLE: Final = "cgroup.controllers"
_GIVEN: Final = ("cpu", "cpuset", "memory", "pids", "hugetlb")


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


class V2Tree(FolderTree):
    """Cgroups of v2."""

    def __init__(self, files: CgroupFiles, root: str) -> None:
        super().__init__(files)
        self._root = root

    @override
    def roots(self) -> Iterable[str]:
        return (self._root,)

    @override
    def make(self, name: CgroupName) -> bool:
        for above in ((), *names_above(name)):
            self._give_on(next(self.places(above)), ("/" + "/".join(above)))
        return self.files.make(next(self.places(name)))

    @override
    def limit(self, name: CgroupName, limits: CgroupLimits) -> None:
        folder = next(self.places(name))
        has = (self.files.read(f"{folder}/{_AVAILABLE}") or "").split()
        self.write_all((folder, write) for write in v2_writes(limits) if write.controller in has)

    @override
    def write(self, folder: str, write: CgroupWrite) -> None:
        if write.file == MEMORY_V2:
            self._check_use(folder, write.text)
        super().write(folder, write)

    @property
    @override
    def is_unified(self) -> bool:
        return True

    @property
    @override
    def can_limit_swap(self) -> bool:
        return any(
            self.files.read(f"{self._root}/{each}/memory.swap.max") is not None
            for each in self.files.folders(self._root)
        )

    @property
    @override
    def can_limit_pages(self) -> bool:
        return "hugetlb" in (self.files.read(f"{self._root}/{_AVAILABLE}") or "").split()

    def _give_on(self, folder: str, name: str) -> None:
        """Give the controllers of a cgroup on to those below it."""
        available = self.files.read(f"{folder}/{_AVAILABLE}")
        if available is None:
            raise FileNotFoundError(errno.ENOENT, "is not there", name)
        has = available.split()
        missing = [each for each in NEEDED if each not in has]
        if missing:
            raise OSError(errno.ENOTSUP, f"no controllers {', '.join(missing)}", name)
        given = (self.files.read(f"{folder}/{_GIVEN_ON}") or "").split()
        for each in _GIVEN:
            if each in has and each not in given:
                self.files.write(f"{folder}/{_GIVEN_ON}", f"+{each}")

    def _check_use(self, folder: str, memory: str) -> None:
        """Refuse a limit below what is used: the kernel would kill somebody to keep it."""
        used = self.files.read(f"{folder}/{USED_V2}") or "0"
        if not is_unlimited(memory) and int(used) > int(memory):
            there = self.files.read(f"{folder}/{MEMORY_V2}") or ""
            if is_unlimited(there) or int(there) > int(memory):
                raise OSError(errno.EBUSY, f"{used} bytes are in use", f"{folder}/{MEMORY_V2}")
