"""Cgroups whose work is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import NamedTuple

from typing_extensions import override

from files.cgroups.limits import CgroupLimits
from files.cgroups.names import CgroupName
from files.cgroups.trees import CgroupTree
from messages.units import Seconds


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
