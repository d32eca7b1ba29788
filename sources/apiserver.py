"""The API server source: the pods that are bound to this node.

They are a set that listings replace and events change. The key is namespace and name, as in the API server. A
pod that was deleted and created again between two looks is one that changed its UID (rule A5). Another actor
keeps the watch that the source follows, so it neither waits for the network nor knows of connections.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel import Key, PooledActor, Port
from manifests.verdicts import VerdictReport
from messages.node import FollowNode, NodeFact, NodeIs, NodeIsGone
from messages.pods import API, FullName, JsonObject, Pod
from messages.sources import (
    DescribeSource,
    ListPods,
    ManifestVerdict,
    MirrorsJudged,
    PodsJudged,
    RejectReason,
    Rescan,
    SourceDescribed,
    SourceListed,
    SourceMessage,
    Verdict,
    VerdictsMayDiffer,
)
from messages.units import Timestamp
from messages.watches import (
    ObjectOp,
    ObjectsAre,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
    WatchTarget,
)
from sources.listings import Listings


@dataclass(slots=True)
class ApiPods:
    """The pods, by full name. What does not change stays the identical object."""

    _pods: dict[FullName, Pod] = field(default_factory=dict)
    _snapshot: tuple[Pod, ...] | None = None

    def replace(self, objects: Iterable[JsonObject]) -> tuple[str, ...]:
        """Replace all pods by those of ``objects``; return complaints about objects that are no pods."""
        found = [_pod_of(each) for each in objects]
        pods = {pod.full_name: self._known(pod) for pod in found if isinstance(pod, Pod)}
        if pods != self._pods or [*map(id, pods.values())] != [*map(id, self._pods.values())]:
            self._pods, self._snapshot = pods, None
        return tuple(each for each in found if isinstance(each, str))

    def change(self, op: ObjectOp, document: JsonObject) -> tuple[str, ...]:
        """Apply one event; return a complaint if its object is no pod."""
        pod = _pod_of(document)
        if isinstance(pod, str):
            return (pod,)
        known = self._pods.get(pod.full_name)
        if op is not ObjectOp.DELETED:
            if self._known(pod) is not known:
                self._pods[pod.full_name] = pod
                self._snapshot = None
        elif known is not None and known.uid == pod.uid:
            # If the event comes twice, it must not remove a new pod of the same name.
            del self._pods[pod.full_name]
            self._snapshot = None
        return ()

    def snapshot(self) -> tuple[Pod, ...]:
        """Return all pods; the identical tuple while nothing changes."""
        if self._snapshot is None:
            self._snapshot = tuple(self._pods.values())
        return self._snapshot

    def _known(self, pod: Pod) -> Pod:
        # Compared by content: an etcd that was restored from a backup may give a version twice.
        known = self._pods.get(pod.full_name)
        return known if known is not None and known == pod else pod


def _pod_of(document: JsonObject) -> Pod | str:
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(document.get("spec"), Mapping):
        return "an object without metadata or spec"
    for name in ("name", "namespace", "uid"):
        if not isinstance(metadata.get(name), str) or not metadata[name]:
            return f"a pod without metadata.{name}"
    return Pod.of(document)


WAITS_FOR_NODE: Final = "waits until the Node is known"

_log = structlog.get_logger("source/api")


@dataclass(frozen=True, slots=True, kw_only=True)
class TellDue:
    """It is time to tell a snapshot: every event that was waiting has been taken in."""


ApiSourceMessage: TypeAlias = SourceMessage | WatchFact | NodeFact | TellDue


def _name_of(message: ApiSourceMessage) -> Hashable | None:
    coalesced = ListPods | Rescan | PodsJudged | MirrorsJudged | NodeIs | NodeIsGone
    return type(message).__name__ if isinstance(message, coalesced) else None


API_SOURCE = Key[ApiSourceMessage]("source/api", coalesce=_name_of)


def pods_of(node_name: str) -> WatchTarget:
    """Return what to follow for the pods that are bound to ``node_name`` (rule A1)."""
    return WatchTarget(path="/api/v1/pods", field_selector=f"spec.nodeName={node_name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSourcePorts:
    """The actors that the API server source talks to."""

    pod_manager: Port[SourceListed]
    watches: Port[Watch]
    node: Port[FollowNode]
    me: Port[WatchFact | NodeFact]
    """Its own address, which stays valid when it is restarted."""
    people: Port[VerdictsMayDiffer] | None = None
    """Who tells people that verdicts have changed."""


@dataclass(slots=True)
class ApiMemory:
    """What outlives a life of the API server source."""

    pods: ApiPods = field(default_factory=ApiPods)
    listed: bool = False
    """The API server has listed in this process."""
    last_good: Timestamp | None = None
    """When the pods were last known to be current; set while the watch fails."""
    waits_for: str = WAITS_FOR_NODE
    """Why nothing is followed yet; empty once it is."""
    error: str = ""
    """What is wrong with the watch."""
    report: VerdictReport = field(default_factory=lambda: VerdictReport(API))


class ApiSource(PooledActor[ApiSourceMessage]):
    """Tells PodManager which pods the API server bound to this node, mirrors among them (rule A8).

    Owns: the set of these pods.
    Hears: ``WatchFact`` of them, ``NodeFact``, ``Rescan``, ``ListPods``, ``PodsJudged``,
    ``MirrorsJudged``, ``DescribeSource``; ``TellDue`` from itself.
    Tells: the Node's registrar ``FollowNode``; the keeper of watches ``Watch`` once there is a Node, so
    that nothing is decided about pods of a Node that nobody has seen (rule A2); PodManager
    ``SourceListed`` when the pods differ from those told last, once in each life at least (at its start, if
    they are known by then), and for each ``ListPods``.
    Fails when: there is a bug. An object that is no pod is left out, with a complaint in the log.

    Order: each listing is complete, with a higher epoch than the one before. Repetition: a listing may
    repeat; unchanged pods are then the identical objects. Events that wait together make one listing:
    a burst of 10,000 costs as many listings as there were pauses in it. While the API server is away
    the last listing stands, however long that takes (rule A6).
    """

    def __init__(self, node_name: str, ports: ApiSourcePorts, memory: ApiMemory) -> None:
        self._target = pods_of(node_name)
        self._ports = ports
        self._memory = memory
        self._is_following = False
        self._tell_is_due = False
        self._is_failing = False
        """Whether this life has heard of a failure. An earlier life may have lost the news of its end."""

    @override
    def started(self) -> None:
        self._listings = Listings(API, self._ports.pod_manager, self.incarnation)
        self._ports.node.tell(FollowNode(subscriber=self._ports.me))
        if self._memory.listed:
            self._plan_to_tell()  # an earlier life may have crashed before it told what it took in

    @override
    def receive(self, message: ApiSourceMessage, /) -> None:
        match message:
            case ObjectsAre() | WatchEvent() | WatchFailed() | WatchRecovered():
                self._take(message)
            case NodeIs() | NodeIsGone():
                # Once there has been a Node, the watch tells what becomes of its pods.
                if isinstance(message, NodeIs) and not self._is_following:
                    self._watch()
                elif isinstance(message, NodeIsGone) and self._memory.waits_for:
                    self._memory.waits_for = message.reason or WAITS_FOR_NODE
            case TellDue():
                self._tell_is_due = False
                self._listings.tell_if_new(self._pods())
                self._tell_people()
            case ListPods() | Rescan() | PodsJudged() | MirrorsJudged() | DescribeSource():
                self._serve(message)
            case _:
                assert_never(message)

    def _serve(self, message: SourceMessage) -> None:
        match message:
            case ListPods():
                self._listings.tell(self._pods())
            case Rescan():
                if self._is_following:
                    self._watch()
            case PodsJudged() | MirrorsJudged():
                # In the log are only those that are not served; PodManager logs all others.
                self._memory.report.hear(message)
                verdicts = self._memory.report.shown(self._accepted())
                unserved = [each for each in verdicts if each.verdict is not Verdict.ACCEPTED]
                self._memory.report.log(unserved, "pod not served")
                self._tell_people()
            case DescribeSource(reply_to=reply_to):
                reply_to.tell(self._described())
            case _:
                assert_never(message)

    def _tell_people(self) -> None:
        if self._ports.people is not None:
            self._ports.people.tell(VerdictsMayDiffer(source=API))

    def _watch(self) -> None:
        self._is_following = True
        self._memory.waits_for = ""
        self._ports.watches.tell(Watch(target=self._target, subscriber=self._ports.me))

    def _take(self, fact: WatchFact) -> None:
        self._memory.waits_for = ""
        match fact:
            case ObjectsAre(objects=objects):
                self._complain(self._memory.pods.replace(objects))
                self._memory.listed = True
                self._note_listed()
                self._plan_to_tell()
            case WatchEvent(op=op, object=document):
                self._complain(self._memory.pods.change(op, document))
                self._plan_to_tell()
            case WatchFailed(failure=failure):
                self._is_failing = True
                if self._memory.last_good is None:
                    self._memory.last_good = self.clock.wall()
                self._memory.error = failure.sentence
            case WatchRecovered():
                self._note_well()
            case _:
                assert_never(fact)

    def _plan_to_tell(self) -> None:
        # Its turn comes after everything that waits now, so all of that is in one snapshot.
        if not self._tell_is_due:
            self._tell_is_due = True
            self.me.tell(TellDue())

    def _pods(self) -> tuple[Pod, ...] | None:
        return self._memory.pods.snapshot() if self._memory.listed else None

    def _note_listed(self) -> None:
        if self._is_failing:
            # Current at this moment. Only ``WatchRecovered`` tells that it stays so.
            self._memory.last_good = self.clock.wall()
        else:
            self._note_well()

    def _note_well(self) -> None:
        self._is_failing = False
        self._memory.error = ""
        self._memory.last_good = None

    # What people see.

    def _complain(self, complaints: Iterable[str]) -> None:
        for complaint in complaints:
            self._memory.report.rejected[RejectReason.NOT_A_POD] += 1
            _log.warning("left out", reason=complaint)

    def _accepted(self) -> Iterable[ManifestVerdict]:
        # Mirrors are left out: they show static pods, which have verdicts of their own.
        return (_accepted(pod) for pod in self._memory.pods.snapshot() if not pod.is_mirror)

    def _described(self) -> SourceDescribed:
        memory = self._memory
        last_listed = None
        if memory.listed:
            last_listed = self.clock.wall() if memory.last_good is None else memory.last_good
        return memory.report.described(
            self._accepted(),
            ready=memory.listed,
            epoch=self._listings.epoch,
            last_listed=last_listed,
            error=memory.waits_for or memory.error,
        )


def _accepted(pod: Pod) -> ManifestVerdict:
    return ManifestVerdict(
        path=f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}",
        verdict=Verdict.ACCEPTED,
        pod=pod.display_name,
        uid=pod.uid,
    )
