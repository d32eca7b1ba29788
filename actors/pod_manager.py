"""PodManager: the sole owner of what pods this node should have.

Everything it decides is in ``stores``; this file is the actor around it: what it hears, what it
tells and in which order, and what of it outlives a crash.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Final, assert_never

import structlog
from typing_extensions import override

from kernel import Key, PooledActor, Port
from messages.changes import Op, PodChange
from messages.pod_manager import (
    DescribePod,
    DescribePods,
    PodDescribed,
    PodFact,
    PodManagerMessage,
    PodsAre,
    PodsChanged,
    PodsDescribed,
    Subscribe,
    Unsubscribe,
)
from messages.pods import Pod, SourceName
from messages.sources import Epoch, ListPods, PodsJudged, SourceListed, SourceMessage
from messages.units import Timestamp
from stores.pods.quarantine import Quarantine
from stores.pods.served_pods import ServedPods, ServedPodsMemory, Taken

MOST_NAMED: Final = 20
"""Pods that a line of the log names. The others are counted in it."""

_BEFORE_ALL = Epoch(0, 0)

_log = structlog.get_logger("pod-manager")


def _source_of_listing(message: PodManagerMessage) -> Hashable | None:
    return message.source if isinstance(message, SourceListed) else None


POD_MANAGER = Key[PodManagerMessage]("pod-manager", coalesce=_source_of_listing)
"""A burst of listings of one source costs one merge: only the newest is handled."""


@dataclass(slots=True)
class PodMemory:
    """What outlives a life of PodManager. One life at a time uses it, so it needs no lock."""

    served_pods: ServedPodsMemory = field(default_factory=ServedPodsMemory)
    quarantine: Quarantine = field(default_factory=Quarantine)
    subscribers: dict[Port[PodFact], None] = field(default_factory=dict)
    """In the order in which they subscribed. They are told in this order."""
    provisional: set[SourceName] = field(default_factory=set)
    """Sources whose last listing was provisional."""


class PodManager(PooledActor[PodManagerMessage]):
    """Merges what the sources list, and tells subscribers what changed.

    Owns: every pod index, the merge of each source, the claims on names and UIDs, the quarantine.
    Hears: ``SourceListed`` (coalesced per source), ``Subscribe``, ``Unsubscribe``, ``DescribePods``,
    ``DescribePod``.
    Tells: sources ``ListPods`` when it starts, and ``PodsJudged`` when its verdict on their pods
    changes; subscribers ``PodsAre`` for the first listing of each source, then ``PodsChanged``, and
    once more ``PodsAre`` when a source that listed provisionally does so for good.
    Fails when: a listing has a pod that no source should have made; in the next life that pod is
    kept out (``stores/pods/quarantine.py``).

    Order: subscribers hear the changes of one listing at once, REMOVE before ADD, and listings of
    one source in the order of their epochs. Repetition: ``PodsAre`` may repeat, ``PodsChanged`` does
    not. It never waits and does no I/O. Sources are independent: one that never lists holds up
    nothing but pods whose names it held before a crash. Questions and new subscribers are answered from
    the last listing of each source, until it has listed again after a crash.
    """

    def __init__(
        self, sources: Mapping[SourceName, Port[SourceMessage]], memory: PodMemory
    ) -> None:
        self._sources = sources
        self._memory = memory
        self._pods = ServedPods(memory.served_pods)
        self._epochs: dict[SourceName, Epoch] = {}
        self._judged: dict[SourceName, PodsJudged] = {}

    @override
    def started(self) -> None:
        blamed = self._memory.quarantine.blame()
        if blamed is not None:
            _log.warning("a listing crashed the pod manager", source=blamed)
        for source in self._sources.values():
            source.tell(ListPods())

    @override
    def receive(self, message: PodManagerMessage, /) -> None:
        match message:
            case SourceListed():
                self._take(message)
            case Subscribe(subscriber=subscriber):
                self._subscribe(subscriber)
            case Unsubscribe(subscriber=subscriber):
                self._memory.subscribers.pop(subscriber, None)
            case DescribePods(reply_to=reply_to):
                reply_to.tell(self._described())
            case DescribePod():
                self._describe(message)
            case _:
                assert_never(message)

    def _take(self, listing: SourceListed) -> None:
        source = listing.source
        if listing.epoch <= self._epochs.get(source, _BEFORE_ALL):
            return
        now = self.clock.wall()
        quarantine = self._memory.quarantine
        pods = quarantine.admitted(source, listing.pods, partial(_is_harmless, source, now))
        with quarantine.attempt(source, pods):
            taken = self._pods.take(source, pods, now)
            was_provisional = source in self._memory.provisional
            self._note_provision(listing)
            self._publish(source, taken)
            if was_provisional and not listing.is_provisional and not taken.first:
                # Told even if nothing changed: from now on the absence of a pod means something.
                self._tell(self._pods_of(source))
            self._note_epoch(source, listing.epoch)
            self._judge()

    def _note_provision(self, listing: SourceListed) -> None:
        self._memory.provisional.discard(listing.source)
        if listing.is_provisional:
            self._memory.provisional.add(listing.source)

    def _note_epoch(self, source: SourceName, epoch: Epoch) -> None:
        last = self._epochs.get(source)
        if last is not None and last.incarnation != epoch.incarnation:
            # The source was restarted, and may have lost what it was told of its pods.
            self._judged.pop(source, None)
        self._epochs[source] = epoch

    def _publish(self, source: SourceName, taken: Taken) -> None:
        _log_changes(source, taken)
        changes: Sequence[PodChange] = taken.served
        if taken.first:
            others = [change for change in changes if change.pod.source != source]
            # First those whose source is another one by now, so that they do not count as absent, and
            # those that went, so that their names are free. Revealed pods come last: they take names.
            self._tell_changes(source, [c for c in others if c.op is not Op.ADD])
            self._tell(self._pods_of(source))
            changes = [c for c in others if c.op is Op.ADD]
        self._tell_changes(source, changes)

    def _tell_changes(self, source: SourceName, changes: Sequence[PodChange]) -> None:
        if changes:
            self._tell(PodsChanged(source=source, changes=tuple(changes)))

    def _tell(self, fact: PodFact) -> None:
        for subscriber in self._memory.subscribers:
            subscriber.tell(fact)

    def _judge(self) -> None:
        """Tell each source that listed which of its pods wait or are rejected, if that changed."""
        for name, source in self._sources.items():
            judged = PodsJudged(
                source=name,
                shadowed=self._pods.waiting(name),
                rejected=self._memory.quarantine.rejected(name),
            )
            if name in self._pods.listed and judged != self._judged.get(name):
                self._judged[name] = judged
                source.tell(judged)

    def _subscribe(self, subscriber: Port[PodFact]) -> None:
        self._memory.subscribers[subscriber] = None
        for source in self._pods.known:
            subscriber.tell(self._pods_of(source))

    def _pods_of(self, source: SourceName) -> PodsAre:
        pods, is_provisional = self._pods.served(source), source in self._memory.provisional
        return PodsAre(source=source, pods=pods, is_provisional=is_provisional)

    def _described(self) -> PodsDescribed:
        index = self._pods.shown()
        counts = index.counts()
        return PodsDescribed(
            pods=index.pods(),
            mirrors=index.mirrors(),
            static_to_mirror=index.static_to_mirror(),
            shadowed={pod.uid: holder.uid for pod, holder in index.shadowed()},
            listed=frozenset(self._pods.known),
            static_pods=counts.static_pods,
            regular_pods=counts.regular_pods,
            ephemeral_containers=counts.ephemeral_containers,
        )

    def _describe(self, question: DescribePod) -> None:
        if question.uid is None and question.full_name is None:
            question.reply_to.tell(PodDescribed())
            return
        index, found = self._pods.shown(), None
        if question.uid is not None:
            found = index.holder(question.uid)
        elif question.full_name is not None:
            found = index.get_by_full_name(question.full_name)
        pod, mirror = (None, None) if found is None else index.pod_and_mirror(found)
        question.reply_to.tell(PodDescribed(pod=pod, mirror=mirror))


def _is_harmless(source: SourceName, now: Timestamp, pod: Pod) -> bool:
    """Return whether ``pod`` can be taken in, tried with a memory that is thrown away."""
    try:
        ServedPods(ServedPodsMemory()).take(source, (pod,), now)
    except Exception:  # noqa: BLE001  # a trial: what it raises is the answer
        return False
    return True


def _log_changes(source: SourceName, taken: Taken) -> None:
    """Log a listing in the kubelet's words, which its users grep for."""
    for op, changes in groupby(taken.listed, key=_op_of):
        pods = [change.pod.display_name for change in changes]
        more = {"more": len(pods) - MOST_NAMED} if len(pods) > MOST_NAMED else {}
        _log.info(f"SyncLoop {op}", source=source, pods=pods[:MOST_NAMED], **more)
    if taken.first and not taken.listed:
        _log.info("SyncLoop ADD", source=source, pods=[])


def _op_of(change: PodChange) -> str:
    return change.op.value
