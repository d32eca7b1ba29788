"""The pods that claim one key, such as a name, oldest first.

A kubelet keeps one pod per name: a new one hides the pod that was there, and when it is removed there is
none (quirks Q1 and Q3). Here all claimants stay on the list, and when one is removed the next is revealed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from messages.pods import Pod
from stores.pods.claims import Age

Key = TypeVar("Key", bound=Hashable)


class Shadow(NamedTuple):
    """A pod that is not served, and the pod that is in its way: the holder of its UID or of its name."""

    pod: Pod
    holder: Pod


class _Claimant(NamedTuple):
    age: Age
    pod: Pod


_AGE = attrgetter("age")


class Claimants(Generic[Key]):
    """The pods that claim each key, told apart by ``identity``. Iterates over the claimed keys."""

    def __init__(self, identity: Callable[[Pod], str]) -> None:
        self._identity = identity
        self._claimants: dict[Key, tuple[_Claimant, ...]] = {}
        self._contested: dict[Key, None] = {}

    def __iter__(self) -> Iterator[Key]:
        return iter(self._claimants)

    def __contains__(self, key: Key) -> bool:
        return key in self._claimants

    def put(self, key: Key, pod: Pod, age: Age) -> None:
        """Add ``pod`` to the claimants of ``key``, in place of its earlier version."""
        present = self._claimants.get(key)
        if present is not None and len(present) == 1 and self._is_same(present[0].pod, pod):
            # Nearly every change is one of an only claimant. Half of the time of a merge is spent here.
            self._claimants[key] = (_Claimant(age, pod),)
            return
        others = self._others(key, pod)
        self._keep(key, sorted((*others, _Claimant(age, pod)), key=_AGE))

    def drop(self, key: Key, pod: Pod) -> None:
        """Remove ``pod`` from the claimants of ``key``, if it is one."""
        self._keep(key, self._others(key, pod))

    def oldest(self, key: Key) -> Pod | None:
        """Return the holder of ``key``, which is its oldest claimant; None if nobody claims it."""
        claimants = self._claimants.get(key)
        return claimants[0].pod if claimants else None

    def age(self, key: Key) -> Age:
        """Return the age of the claim that holds ``key``. Raises KeyError when nobody claims it."""
        return self._claimants[key][0].age

    def all(self, key: Key) -> tuple[Pod, ...]:
        """Return every claimant of ``key``, oldest first."""
        return tuple(claimant.pod for claimant in self._claimants.get(key, ()))

    def shadows(self) -> Iterator[Shadow]:
        """Yield every pod that waits. Takes time for keys with several claimants only."""
        for key in self._contested:
            holder, *waiting = self.all(key)
            yield from (Shadow(pod, holder) for pod in waiting)

    def _is_same(self, one: Pod, other: Pod) -> bool:
        return self._identity(one) == self._identity(other)

    def _others(self, key: Key, pod: Pod) -> list[_Claimant]:
        mine = self._identity(pod)
        claimants = self._claimants.get(key, ())
        return [claimant for claimant in claimants if self._identity(claimant.pod) != mine]

    def _keep(self, key: Key, claimants: Sequence[_Claimant]) -> None:
        if claimants:
            self._claimants[key] = tuple(claimants)
        else:
            self._claimants.pop(key, None)
        if len(claimants) > 1:
            self._contested[key] = None
        else:
            self._contested.pop(key, None)
