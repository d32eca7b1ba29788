"""The pods of all sources, and which of them are served. PodManager owns this.

A pod is *served* if it holds both its UID and its name, and no source that held one of them before has yet
to list again after a restart. A pod of the API server that is being deleted needs no name: it is served for
its end, which nobody else brings about. The rest of the agent is told of served pods only. The others are
known and listed, and wait. ``take`` brings in one listing and returns what it changed about the served pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from messages.changes import Op, PodChange
from messages.pods import Pod, PodUid, SourceName
from messages.units import Timestamp
from stores.pods.claims import ClaimHolders, Claims
from stores.pods.comparison import difference
from stores.pods.index import PodIndex, is_to_be_ended
from stores.pods.merge import SourceMemory, merge

_ORDER = {op: place for place, op in enumerate(Op)}


class FirstSeen:
    """First-seen times by source and UID, for the pods that the sources list at present.

    These are the times in the annotation ``kubernetes.io/config.seen``. They outlive the actor that merges: a
    pod keeps its time as long as its source lists it, whatever crashes meanwhile (rules C8 and C23). A new
    process has no times.
    """

    def __init__(self) -> None:
        self._times: dict[SourceName, dict[PodUid, Timestamp]] = {}

    def seen_at(self, source: SourceName, uid: PodUid, now: Timestamp) -> Timestamp:
        """Return when ``source`` first told of ``uid``. Records ``now`` for a new one, and returns it."""
        return self._times.setdefault(source, {}).setdefault(uid, now)

    def retain(self, source: SourceName, uids: AbstractSet[PodUid]) -> None:
        """Forget all UIDs of ``source`` except ``uids``, which are those of its newest listing."""
        times = self._times.get(source, {})
        for uid in times.keys() - uids:
            del times[uid]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one listing did."""

    first: bool
    """The source had not listed before in this life."""
    listed: tuple[PodChange, ...]
    """What changed among the pods of the source, served or not."""
    served: tuple[PodChange, ...]
    """What changed among the served pods of all sources since they were told last."""


@dataclass(frozen=True, slots=True)
class ServedPodsMemory:
    """What outlives a crash. Everything else is made again from the listings."""

    claims: Claims = field(default_factory=Claims)
    seen: FirstSeen = field(default_factory=FirstSeen)
    heard: set[SourceName] = field(default_factory=set)
    """The sources that have ever listed. Only they can have claims on record."""
    served: dict[PodUid, Pod] = field(default_factory=dict)
    """The served pods as they were told last."""
    taken: dict[SourceName, tuple[Pod, ...]] = field(default_factory=dict)
    """The pods of each source, served or not, as of its last listing that was taken in."""


class ServedPods:
    """The pods of all sources, in one life of the actor that owns them."""

    def __init__(self, memory: ServedPodsMemory) -> None:
        self.index = PodIndex(memory.claims)
        self._claims = memory.claims
        self._seen = memory.seen
        self._heard = memory.heard
        self._awaited = set(memory.heard)
        """Sources that listed in an earlier life, and not yet in this one."""
        self._sources: dict[SourceName, SourceMemory] = {}
        self._holders: ClaimHolders = self._claims.holders()
        self._served = memory.served
        self._taken = memory.taken
        self._held: set[PodUid] = set()
        """Pods that are told as they were until some source has listed, as it had before the restart."""
        self._remembered: PodIndex | None = None

    @property
    def listed(self) -> frozenset[SourceName]:
        """The sources that have listed in this life."""
        return frozenset(self._sources)

    @property
    def known(self) -> tuple[SourceName, ...]:
        """The sources whose pods are known: those that have listed, in this life or an earlier one."""
        return tuple(self._taken)

    def shown(self) -> PodIndex:
        """Return what questions are answered from: the pods of all sources that are known.

        While a source has yet to list again after a restart, the pods of its last listing count. An answer
        without them would say that they are no longer wanted.
        """
        if self._awaited.isdisjoint(self._taken):
            return self.index
        if self._remembered is None:
            self._remembered = PodIndex(self._claims.copy())
            for pods in self._taken.values():
                for pod in pods:
                    self._remembered.add(pod)
        return self._remembered

    def served(self, source: SourceName) -> tuple[Pod, ...]:
        """Return the served pods of one source."""
        return tuple(pod for pod in self._served.values() if pod.source == source)

    def take(self, source: SourceName, pods: tuple[Pod, ...], now: Timestamp) -> Taken:
        """Take in the listing ``pods`` of ``source``, made at ``now``; return what it changed."""
        self._remembered = None
        memory = self._sources.get(source, SourceMemory(source=source))
        merged = merge(memory, pods, lambda uid: self._seen.seen_at(source, uid, now))
        self._sources[source] = merged.memory
        ops: dict[PodUid, Op | None] = {}
        if merged.first:
            # Before its pods are indexed: pods that went since the restart hold no name any more.
            self._claims.retain(source, merged.memory.kept.keys())
            self._heard.add(source)
            self._awaited.discard(source)
            ops |= dict.fromkeys((*self._served, *self._held))
        for change in merged.changes:
            is_removal = change.op is Op.REMOVE
            turnover = (self.index.remove if is_removal else self.index.add)(change.pod)
            for pod in (*turnover.revealed, *turnover.hidden):
                ops.setdefault(pod.uid)
            # A pod that was held back is compared with what was served meanwhile.
            ops[change.pod.uid] = None if change.pod.uid in self._held else change.op
        for pod in merged.refreshed:
            self._refresh(pod)
        if merged.first or (self._awaited and _may_free_names(merged.changes)):
            # The next claimant of a name may be of a source that has not listed yet.
            self._holders = self._claims.holders()
        self._seen.retain(source, merged.memory.kept.keys())
        served = tuple(self._changes(ops))
        if merged.memory is not memory:
            self._taken[source] = merged.memory.pods  # 1 ms for 10,000 pods
        return Taken(first=merged.first, listed=merged.changes, served=served)

    def waiting(self, source: SourceName) -> dict[PodUid, str]:
        """Return the pods of ``source`` that are not served, and why, as a sentence."""
        reasons = {
            pod.uid: f"{holder.display_name} of source {holder.source} was there first"
            for pod, holder in self.index.shadowed()
            if pod.source == source
        }
        memory = self._sources.get(source, SourceMemory(source=source))
        for pod, reason in memory.dropped:
            # If two pods have one UID, the other one may be served.
            if pod.uid not in memory.kept:
                reasons[pod.uid] = str(reason)
        for uid in self._held:
            held = self.index.holder(uid)
            if held is not None and held.source == source:
                awaited = self._holders.awaited(held, self._sources)
                reasons[uid] = f"its name was held by source {awaited}, which has not listed yet"
        return reasons

    def _refresh(self, pod: Pod) -> None:
        self.index.add(pod)
        served = self._served.get(pod.uid)
        if served is not None and served.source == pod.source:
            self._served[pod.uid] = pod

    def _changes(self, ops: dict[PodUid, Op | None]) -> Iterable[PodChange]:
        """Return how the served pods differ from before, in the order of ``Op``."""
        changes = []
        for uid, listed_op in ops.items():
            before, after = self._served.get(uid), self._to_serve(uid)
            op = _op(before, after, listed_op)
            if after is not None:
                self._served[uid] = after
            else:
                self._served.pop(uid, None)
            pod = after or before
            if op is not None and pod is not None:
                changes.append(PodChange(op=op, pod=pod))
        return sorted(changes, key=lambda change: _ORDER[change.op])

    def _to_serve(self, uid: PodUid) -> Pod | None:
        self._held.discard(uid)
        known, pod = self._served.get(uid), self.index.holder(uid)
        if known is not None and self._holders.uid_holders.get(uid) in self._awaited:
            # The source that told it first may still tell it. Until that is known, nothing changes.
            self._held.add(uid)
            return known
        if pod is None or self.index.shadow_of(pod) is not None:
            return None
        if not is_to_be_ended(pod) and self._holders.awaited(pod, self._sources) is not None:
            self._held.add(uid)
            return None
        return pod


def _may_free_names(changes: Iterable[PodChange]) -> bool:
    # A manifest that fixes its UID can be edited to have another name.
    return any(change.op in {Op.REMOVE, Op.UPDATE, Op.DELETE} for change in changes)


def _op(before: Pod | None, after: Pod | None, listed: Op | None) -> Op | None:
    """Return what to call the step from ``before`` to ``after``, both as served."""
    if before is None:
        return None if after is None else Op.ADD
    if after is None:
        return Op.REMOVE
    if before is after:
        return None  # the version of another source changed, and this one shadows it
    if before.source != after.source:
        # Another source tells the same UID: it is the same pod, now from another source.
        return difference(before, after) or Op.UPDATE
    return listed or difference(before, after)
