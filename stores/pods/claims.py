"""Who claimed which pod and which name first, for as long as the process lives.

Two sources may tell one UID (the same manifest in a directory and at a URL), and several pods may claim one
full name. The oldest claim holds it, and the others wait. A kubelet keeps one pod per name: a new one hides
the pod that was there, and when it is removed there is none (quirks Q1 and Q3). Here the next is revealed.

A pod index forgets the ages of claims when its actor crashes, and then listings come back in any order. So
the ages are kept here, apart from the pods, and outlive the actor. An age belongs to a UID at a place: a full
name, as a mirror or not. It lasts as long as any source tells the UID there, so a pod whose manifest moves
from one source to another keeps its name. A UID that changes its place gets a new age, so no edit can take
the name of a running pod.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import count
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from messages.pods import FullName, Pod, PodUid, SourceName

Key = TypeVar("Key", bound=Hashable)


class Age(NamedTuple):
    """Orders claims: the smaller is the older. No two claims have equal ages."""

    since: int
    """The moment when the first source told this UID at this place, as a count."""
    told: int
    """The moment when this source told it."""


class Claim(NamedTuple):
    """A source tells that a UID is at a place."""

    source: SourceName
    full_name: FullName
    is_mirror: bool
    age: Age


_AGE = attrgetter("age")


@dataclass(frozen=True, slots=True)
class ClaimHolders:
    """Which source held each UID and each name by the claims on record at one moment."""

    uid_holders: Mapping[PodUid, SourceName]
    name_holders: Mapping[FullName, SourceName]

    def awaited(self, pod: Pod, listed: Collection[SourceName]) -> SourceName | None:
        """Return the source that must list before ``pod`` may be served; ``None`` if none must.

        That source holds the pod's UID or name and is not in ``listed``: it has not listed since the
        restart, so nobody knows yet whether it still does. To serve ``pod`` earlier could start it only to
        stop it.
        """
        holders = [self.uid_holders.get(pod.uid)]
        if not pod.is_mirror:
            holders.append(self.name_holders.get(pod.full_name))
        for source in holders:
            if source is not None and source != pod.source and source not in listed:
                return source
        return None


class Claims:
    """The claims of all sources. As many as the sources list, as long as ``retain`` is called."""

    def __init__(self) -> None:
        self._ticks = count()
        self._claims: dict[PodUid, tuple[Claim, ...]] = {}

    def record(self, pod: Pod) -> Age:
        """Return the age of the claim of ``pod``, and record the claim if it is a new one."""
        source, full_name = SourceName(pod.source), pod.full_name
        claims = self._claims.get(pod.uid, ())
        there = [c for c in claims if c.full_name == full_name and c.is_mirror == pod.is_mirror]
        for claim in there:
            if claim.source == source:
                return claim.age
        told = next(self._ticks)
        age = Age(min((claim.age.since for claim in there), default=told), told)
        others = (claim for claim in claims if claim.source != source)
        self._claims[pod.uid] = (*others, Claim(source, full_name, pod.is_mirror, age))
        return age

    def copy(self) -> Claims:
        """Return the same claims, for an index that only answers questions: what it does changes no other."""
        copied = Claims()
        copied._ticks = self._ticks
        copied._claims = dict(self._claims)
        return copied

    def release(self, source: SourceName, uid: PodUid) -> None:
        """Forget the claim of ``source`` on ``uid``, if there is one."""
        left = tuple(claim for claim in self._claims.get(uid, ()) if claim.source != source)
        if left:
            self._claims[uid] = left
        else:
            self._claims.pop(uid, None)

    def retain(self, source: SourceName, uids: AbstractSet[PodUid]) -> None:
        """Forget all claims of ``source`` except those on ``uids``.

        To be called with the first listing of a source after a restart, before its pods are indexed: pods
        that went meanwhile hold nothing any more. Later removals release their claims one by one.
        """
        for uid in self._claims.keys() - uids:
            self.release(source, uid)

    def holders(self) -> ClaimHolders:
        """Return who holds what by the claims on record. To be asked for again after each ``retain``."""
        uid_holders = {uid: min(claims, key=_AGE) for uid, claims in self._claims.items()}
        return ClaimHolders(
            {uid: claim.source for uid, claim in uid_holders.items()},
            _name_holders(uid_holders.values()),
        )


def _name_holders(claims: Iterable[Claim]) -> dict[FullName, SourceName]:
    holders: dict[FullName, SourceName] = {}
    for claim in sorted(claims, key=_AGE):
        if not claim.is_mirror:
            holders.setdefault(claim.full_name, claim.source)
    return holders


class Shadow(NamedTuple):
    """A pod that is not served, and the pod that is in its way: the holder of its UID or of its name."""

    pod: Pod
    holder: Pod


class _Claimant(NamedTuple):
    age: Age
    pod: Pod


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
