"""Making, limiting and removing cgroups of any kind, and measuring that. Blocks for short times."""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Final, NamedTuple

from typing_extensions import override

from files.cgroups.files import CgroupFiles
from files.cgroups.limits import CgroupLimits, CgroupWrite, is_same
from files.cgroups.names import CgroupName
from messages.units import Seconds

_PROCESSES: Final = "cgroup.procs"
_KILL: Final = "cgroup.kill"
_FREEZER: Final = "freezer.state"
_THAWED: Final = "THAWED"
_ATTEMPTS: Final = 5
_PATIENCE: Final = Seconds(0.4)
"""How long killed processes may take to end, in each attempt."""


class CgroupTree(ABC):
    """Makes, limits and removes cgroups. A refusal of the kernel is an ``OSError``."""

    @abstractmethod
    def make(self, name: CgroupName) -> bool:
        """Make a cgroup in one that is there. Return whether it, or a part of it, was not there."""

    @abstractmethod
    def limit(self, name: CgroupName, limits: CgroupLimits) -> None:
        """Set the limits of a cgroup; those that it has already are left alone.

        All that can be set are set, also if one of them is refused.
        """

    @abstractmethod
    def is_there(self, name: CgroupName) -> bool:
        """Return whether there is such a cgroup."""

    @abstractmethod
    def within(self, name: CgroupName) -> set[str]:
        """Return the names of the cgroups in a cgroup."""

    @abstractmethod
    def remove(self, name: CgroupName) -> bool:
        """Kill what is in a cgroup, and remove it with all below it. Return whether it is gone."""

    @property
    @abstractmethod
    def is_unified(self) -> bool:
        """Whether it is of v2."""

    @property
    @abstractmethod
    def can_limit_swap(self) -> bool:
        """Whether swap has limits of its own."""

    @property
    @abstractmethod
    def can_limit_pages(self) -> bool:
        """Whether huge pages have limits."""


class FolderTree(CgroupTree):
    """Cgroups that are folders in one or several places."""

    def __init__(self, files: CgroupFiles) -> None:
        self.files = files

    def places(self, name: CgroupName) -> Iterator[str]:
        """Return the folders of a cgroup."""
        return (f"{place}/{'/'.join(name)}".rstrip("/") for place in self.roots())

    @abstractmethod
    def roots(self) -> Iterable[str]:
        """Return where the file systems are."""

    @override
    def is_there(self, name: CgroupName) -> bool:
        return any(
            self.files.read(f"{each}/{_PROCESSES}") is not None for each in self.places(name)
        )

    @override
    def within(self, name: CgroupName) -> set[str]:
        return {each for place in self.places(name) for each in self.files.folders(place)}

    @override
    def remove(self, name: CgroupName) -> bool:
        """Kill and remove in a few rounds, since what is being killed may have started something."""
        for _attempt in range(_ATTEMPTS):
            if not self.kill(name):
                return False
            if self._remove(self._present(name)):
                return True
        return False

    def kill(self, name: CgroupName) -> bool:
        """Kill what is in a cgroup, at once where the kernel can do that, and wait a while for its end.

        Returns False, and kills nothing, if the agent itself is in it.
        """
        folders = self._present(name)
        pids = self._processes(folders)
        if os.getpid() in pids:
            return False
        if pids:
            self._thaw(folders)
            with suppress(OSError):
                self.files.write(f"{folders[-1]}/{_KILL}", "1")
            self.files.kill(pids, lambda: self._processes(folders), _PATIENCE)
        return True

    def _thaw(self, folders: Iterable[str]) -> None:
        """Let what is frozen go on: under v1 it does not end before."""
        for each in folders:
            if self.files.read(f"{each}/{_FREEZER}") not in {None, _THAWED}:
                self.files.write(f"{each}/{_FREEZER}", _THAWED)

    def _present(self, name: CgroupName) -> list[str]:
        """Return the folders of a cgroup, each after those in it."""
        folders = [each for place in self.places(name) for each in self._below(place)]
        return [each for each in folders if self.files.read(f"{each}/{_PROCESSES}") is not None]

    def _remove(self, folders: list[str]) -> bool:
        """Remove folders in this order. Return whether all are gone."""
        try:
            for each in folders:
                self.files.remove(each)
        except OSError as error:
            if error.errno in {errno.EBUSY, errno.ENOTEMPTY}:
                return False
            raise
        return True

    def _below(self, folder: str) -> Iterator[str]:
        """Return a folder after all those that are in it, at any depth."""
        for each in self.files.folders(folder):
            yield from self._below(f"{folder}/{each}")
        yield folder

    def _processes(self, folders: Iterable[str]) -> set[int]:
        texts = (self.files.read(f"{each}/{_PROCESSES}") or "" for each in folders)
        # Processes of another namespace are shown as 0.
        return {int(pid) for text in texts for pid in text.split() if pid.isdigit()} - {0}

    def write_all(self, writes: Iterable[tuple[str, CgroupWrite]]) -> None:
        """Write each value, and raise the first error after all that can be written have been."""
        first: OSError | None = None
        for folder, write in writes:
            try:
                self.write(folder, write)
            except OSError as error:
                first = first or error
        if first:
            raise first

    def write(self, folder: str, write: CgroupWrite) -> None:
        """Write one value, unless it is there already."""
        file = f"{folder}/{write.file}"
        there = self.files.read(file)
        if there is None and write.is_optional:
            return
        if there is None or not is_same(there, write.text):
            self.files.write(file, write.text)


class CgroupOperation(StrEnum):
    """What was done, by a kubelet's names."""

    CREATE = "create"
    UPDATE = "update"
    DESTROY = "destroy"


class CgroupWork(NamedTuple):
    """Something that was done with one cgroup, or that failed."""

    operation: CgroupOperation
    took: Seconds


class TimedTree(CgroupTree):
    """Does as another tree does, and notes how long what changes something took. On any thread."""

    def __init__(
        self,
        tree: CgroupTree,
        noted: Callable[[CgroupWork], None],
        monotonic: Callable[[], float],
    ) -> None:
        self._tree = tree
        self._noted = noted
        self._monotonic = monotonic

    @override
    def make(self, name: CgroupName) -> bool:
        with self._timed(CgroupOperation.CREATE):
            return self._tree.make(name)

    @override
    def limit(self, name: CgroupName, limits: CgroupLimits) -> None:
        with self._timed(CgroupOperation.UPDATE):
            self._tree.limit(name, limits)

    @override
    def remove(self, name: CgroupName) -> bool:
        with self._timed(CgroupOperation.DESTROY):
            return self._tree.remove(name)

    @override
    def is_there(self, name: CgroupName) -> bool:
        return self._tree.is_there(name)

    @override
    def within(self, name: CgroupName) -> set[str]:
        return self._tree.within(name)

    @property
    @override
    def is_unified(self) -> bool:
        return self._tree.is_unified

    @property
    @override
    def can_limit_swap(self) -> bool:
        return self._tree.can_limit_swap

    @property
    @override
    def can_limit_pages(self) -> bool:
        return self._tree.can_limit_pages

    @contextmanager
    def _timed(self, operation: CgroupOperation) -> Iterator[None]:
        began = self._monotonic()
        try:
            yield
        finally:
            self._noted(CgroupWork(operation, Seconds(self._monotonic() - began)))
