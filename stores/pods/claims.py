"""Who claimed which pod and which name first, for as long as the process lives.

Two sources may tell one UID (the same manifest in a directory and at a URL), and several pods may claim one
full name. The oldest claim holds it, and the others wait. A pod index forgets these ages when its actor
crashes, and then listings come back in any order. So the ages are kept here, apart from the pods, and
outlive the actor.

An age belongs to a UID at a place: a full name, as a mirror or not. It lasts as long as any source tells
the UID there, so a pod whose manifest moves from one source to another keeps its name. A UID that changes
its place gets a new age, so no edit can take the name of a running pod.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import count
from operator import attrgetter
from typing import NamedTuple

from messages.pods import FullName, Pod, PodUid, SourceName


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
