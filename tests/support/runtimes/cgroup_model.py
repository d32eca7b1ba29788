"""Cgroup file systems in memory, with those rules of the kernel that decide what can be made and removed.

Modelled are:

- the files that a new cgroup has by its controllers;
- ``cgroup.subtree_control``, which takes controllers that the cgroup has, and none while it has processes;
- cgroups that cannot be removed while processes or other cgroups are in them, and ``cgroup.kill``;
- cpusets without cpus, which no process may enter;
- memory that may be no more than memory and swap together, and quotas no more than the cgroup above has;
- file systems that are read-only.

Not modelled: what limits do to processes, rounding to pages, threaded cgroups of v2, delegation to other
users, and processes that end by themselves.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from typing_extensions import override

from files.cgroups.files import CgroupFiles
from files.cgroups.mounts import CgroupMounts, V1Hierarchy
from messages.units import Seconds

MAX_V1 = str(2**63 - 4096)
_V1_FILES = {
    "cpu": {"cpu.shares": "1024", "cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"},
    "memory": {"memory.limit_in_bytes": MAX_V1, "memory.memsw.limit_in_bytes": MAX_V1},
    "pids": {"pids.max": "max"},
    "cpuset": {"cpuset.cpus": "", "cpuset.mems": ""},
    "hugetlb": {"hugetlb.2MB.limit_in_bytes": MAX_V1},
}
_V2_FILES = {
    "cpu": {"cpu.weight": "100", "cpu.max": "max 100000"},
    "memory": {"memory.max": "max", "memory.current": "0", "memory.swap.max": "max"},
    "pids": {"pids.max": "max"},
    "hugetlb": {"hugetlb.2MB.max": "max", "hugetlb.2MB.rsvd.max": "max"},
    "cpuset": {"cpuset.cpus": ""},
}
_V2 = "unified"


@dataclass(slots=True)
class ModelCgroup:
    """One folder."""

    kind: str
    """The controller of v1, or that it is of v2."""
    files: dict[str, str]
    pids: set[int] = field(default_factory=set)


class CgroupModel(CgroupFiles):
    """The kernel's side. Tests put processes in, and look at files."""

    def __init__(self) -> None:
        self.cgroups: dict[str, ModelCgroup] = {}
        self.mounts = CgroupMounts()
        self.read_only: set[str] = set()
        """Folders below which nothing can be written."""
        self.writes: list[tuple[str, str]] = []
        """Each write, in order."""
        self.unkillable: set[int] = set()

    def mount_v1(self, *controllers: str) -> CgroupMounts:
        """Mount a hierarchy for each controller, and return what the machine's mounts are then."""
        hierarchies = []
        for each in controllers:
            folder = f"/cg/{each}"
            self.cgroups[folder] = ModelCgroup(each, dict(_V1_FILES.get(each, {})))
            hierarchies.append(V1Hierarchy(folder, frozenset({each})))
        if "cpuset" in controllers:
            self.cgroups["/cg/cpuset"].files |= {"cpuset.cpus": "0-3", "cpuset.mems": "0"}
        self.mounts = CgroupMounts(v1=tuple(hierarchies))
        return self.mounts

    def mount_v2(self, *controllers: str) -> CgroupMounts:
        """Mount v2 with these controllers."""
        files = {"cgroup.controllers": " ".join(controllers), "cgroup.subtree_control": ""}
        self.cgroups["/cg2"] = ModelCgroup(_V2, files, {1})
        self.mounts = CgroupMounts(v2="/cg2")
        return self.mounts

    def enter(self, folder: str, *pids: int) -> None:
        """Put processes into a cgroup."""
        cgroup = self.cgroups[folder]
        if cgroup.kind == "cpuset" and not cgroup.files["cpuset.cpus"]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)
        cgroup.pids.update(pids)

    @override
    def make(self, folder: str) -> bool:
        if folder in self.cgroups:
            return False
        above = folder.rpartition("/")[0]
        self._check_writable(folder)
        if above not in self.cgroups:
            raise _error(errno.ENOENT, folder)
        parent = self.cgroups[above]
        files = dict(_V1_FILES.get(parent.kind, {}))
        if parent.kind == _V2:
            given = parent.files["cgroup.subtree_control"].split()
            files = {"cgroup.controllers": " ".join(given), "cgroup.subtree_control": ""}
            for each in given:
                files |= _V2_FILES.get(each, {})
        self.cgroups[folder] = ModelCgroup(parent.kind, files)
        return True

    @override
    def remove(self, folder: str) -> None:
        if folder not in self.cgroups:
            return
        self._check_writable(folder)
        if self.cgroups[folder].pids or self.folders(folder):
            raise _error(errno.EBUSY, folder)
        del self.cgroups[folder]

    @override
    def folders(self, folder: str) -> list[str]:
        parts = (each.rpartition("/") for each in self.cgroups)
        return [name for above, _slash, name in parts if above == folder]

    @override
    def read(self, file: str) -> str | None:
        folder, _slash, name = file.rpartition("/")
        cgroup = self.cgroups.get(folder)
        if cgroup is not None and name == "cgroup.procs":
            return "\n".join(map(str, sorted(cgroup.pids)))
        return None if cgroup is None else cgroup.files.get(name)

    @override
    def write(self, file: str, text: str) -> None:
        folder, _slash, name = file.rpartition("/")
        cgroup = self.cgroups.get(folder)
        self._check_writable(file)
        if cgroup is not None and name == "cgroup.kill" and cgroup.kind == _V2:
            self._kill_below(folder)
            return
        if cgroup is None or name not in cgroup.files:
            raise _error(errno.ENOENT, file)
        self.writes.append((file, text))
        if name == "cgroup.subtree_control":
            self._give_on(folder, cgroup, text.removeprefix("+"))
            return
        self._check_value(folder, cgroup, name, text)
        cgroup.files[name] = MAX_V1 if text == "-1" and name.startswith("memory") else text

    @override
    def kill(
        self, pids: Iterable[int], who_is_there: Callable[[], set[int]], most: Seconds
    ) -> None:
        ended = (set(pids) & who_is_there()) - self.unkillable
        for each in self.cgroups.values():
            each.pids -= ended

    def _kill_below(self, folder: str) -> None:
        for path, each in self.cgroups.items():
            if path == folder or path.startswith(f"{folder}/"):
                each.pids &= self.unkillable

    def _give_on(self, folder: str, cgroup: ModelCgroup, controller: str) -> None:
        if controller not in cgroup.files["cgroup.controllers"].split():
            raise _error(errno.ENOENT, folder)
        if cgroup.pids and folder != "/cg2":
            raise _error(errno.EBUSY, f"{folder}/cgroup.subtree_control")
        given = cgroup.files["cgroup.subtree_control"].split()
        cgroup.files["cgroup.subtree_control"] = " ".join([*given, controller])
        for name in self.folders(folder):
            child = self.cgroups[f"{folder}/{name}"]
            child.files["cgroup.controllers"] = cgroup.files["cgroup.subtree_control"]
            child.files.update(
                {key: text for key, text in _V2_FILES[controller].items() if key not in child.files}
            )

    def _check_value(self, folder: str, cgroup: ModelCgroup, name: str, text: str) -> None:
        files = {**cgroup.files, name: text}
        if name == "memory.limit_in_bytes" and _bytes(text) > _bytes(
            files["memory.memsw.limit_in_bytes"]
        ):
            raise _error(errno.EINVAL, f"{folder}/{name}")
        if name.startswith("cpu.cfs"):
            above = self.cgroups[folder.rpartition("/")[0]].files
            if _ratio(files) > _ratio(above):
                raise _error(errno.EINVAL, f"{folder}/{name}")

    def _check_writable(self, path: str) -> None:
        if any(path.startswith(each) for each in self.read_only):
            raise _error(errno.EROFS, path)


def _bytes(text: str) -> int:
    return int(MAX_V1) if text == "-1" else int(text)


def _ratio(files: dict[str, str]) -> float:
    quota, period = int(files["cpu.cfs_quota_us"]), int(files["cpu.cfs_period_us"])
    return float("inf") if quota < 0 else quota / period


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
