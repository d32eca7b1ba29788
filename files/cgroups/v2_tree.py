"""Cgroups of v2: one folder, with the controllers that the one above it gives on. Blocks for short times.

A cgroup may give controllers on only while it has no processes itself.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import Final

from typing_extensions import override

from files.cgroups.files import CgroupFiles
from files.cgroups.limits import CgroupLimits
from files.cgroups.mounts import NEEDED
from files.cgroups.names import CgroupName, names_above
from files.cgroups.trees import FolderTree
from files.cgroups.writes import MEMORY_V2, USED_V2, CgroupWrite, is_unlimited, v2_writes

_GIVEN_ON: Final = "cgroup.subtree_control"
_AVAILABLE: Final = "cgroup.controllers"
_GIVEN: Final = ("cpu", "cpuset", "memory", "pids", "hugetlb")


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
