"""What cgroup file systems there are, from ``/proc/self/mountinfo``. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

_CONTROLLERS: Final = frozenset({"cpu", "cpuacct", "cpuset", "memory", "pids", "hugetlb"}) | {
    *("blkio", "devices", "freezer", "misc", "net_cls", "net_prio", "perf_event", "rdma")
}
NEEDED: Final = ("cpu", "memory")
"""Without these no limit of a pod means anything."""
_ESCAPED = re.compile(r"\\([0-7]{3})")
_LEAST_FIELDS: Final = 6


class V1Hierarchy(NamedTuple):
    """One tree of cgroup v1."""

    folder: str
    controllers: frozenset[str]
    """Empty for one that only groups processes, as systemd's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupMounts:
    """The cgroup file systems of this machine."""

    v1: tuple[V1Hierarchy, ...] = ()
    v2: str = ""
    """Where v2 is mounted; empty if it is not."""
    read_only: tuple[str, ...] = ()
    """Those that are mounted read-only."""
    elsewhere: tuple[str, ...] = ()
    """Those that show only a part of the tree: names in them are not those that the runtime uses."""

    @property
    def is_unified(self) -> bool:
        """Whether v2 alone limits anything. A hybrid, with controllers of v1, is used as v1."""
        return bool(self.v2) and not any(each.controllers for each in self.v1)

    def folder_of(self, controller: str) -> str:
        """Return where a controller of v1 is; empty if it is not mounted."""
        return next((each.folder for each in self.v1 if controller in each.controllers), "")

    @property
    def trouble(self) -> str:
        """Why no cgroup can be made, for people; empty if that can be tried."""
        if not self.v1 and not self.v2:
            return "no cgroup file system is mounted"
        missing = [name for name in NEEDED if not self.is_unified and not self.folder_of(name)]
        if missing:
            return f"the controllers {', '.join(missing)} of cgroup v1 are not mounted"
        if self.elsewhere:
            return f"{self.elsewhere[0]} shows only a part of the cgroups"
        return f"{self.read_only[0]} is mounted read-only" if self.read_only else ""


class _Mount(NamedTuple):
    root: str
    folder: str
    options: frozenset[str]
    kind: str
    super_options: frozenset[str]


def mounts_in(mountinfo: str) -> CgroupMounts:
    """Return the cgroup file systems that the text names. Lines that cannot be read count as absent."""
    found = {each.folder: each for each in _mounts(mountinfo.splitlines())}
    v1 = {each.folder: _v1_of(each) for each in found.values() if each.kind == "cgroup"}
    v2 = [each.folder for each in found.values() if each.kind == "cgroup2"]
    used = [found[folder] for folder in (*_firsts(v1.values()), *v2[:1])]
    return CgroupMounts(
        v1=tuple(v1[each.folder] for each in used if each.folder in v1),
        v2=v2[0] if v2 else "",
        read_only=tuple(
            each.folder for each in used if "ro" in each.options or "ro" in each.super_options
        ),
        elsewhere=tuple(each.folder for each in used if each.root != "/"),
    )


def _firsts(hierarchies: Iterable[V1Hierarchy]) -> list[str]:
    """Return where each hierarchy is; one that is mounted twice is used at its first place."""
    places: dict[frozenset[str], str] = {}
    named: list[str] = []
    for each in hierarchies:
        if each.controllers:
            places.setdefault(each.controllers, each.folder)
        else:
            named.append(each.folder)
    return [*places.values(), *named]


def _v1_of(mount: _Mount) -> V1Hierarchy:
    return V1Hierarchy(mount.folder, mount.super_options & _CONTROLLERS)


def _mounts(lines: Iterable[str]) -> Iterator[_Mount]:
    for line in lines:
        before, dash, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        if not dash or len(fields) < _LEAST_FIELDS or len(kinds) < 3:
            continue
        if kinds[0] in {"cgroup", "cgroup2"}:
            yield _Mount(
                _plain(fields[3]),
                _plain(fields[4]),
                frozenset(fields[5].split(",")),
                kinds[0],
                frozenset(kinds[2].split(",")),
            )


def _plain(path: str) -> str:
    """Return a path without the escapes that blanks have."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), path)
