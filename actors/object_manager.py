"""ObjectManager: who needs which Secrets, or which ConfigMaps, and who hears of their changes.

It knows references, marks and versions, and no value: those are with the holders, who answer reads
straight to who asked. Who references what is in ``stores.reference_book``, what pods want done about a
change in ``stores.change_decisions``, the dealings with holders in ``object_holdings``. A Secret and a
ConfigMap manager are two instances, which know nothing of each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeAlias, assert_never

import structlog
from typing_extensions import override

from actors.kernel import DynamicMessage, Key, PooledActor, Port
from actors.messages.holders import (
    HolderDone,
    HolderFact,
    HolderIs,
    ListLocalObjects,
    ReadObject,
    ReferencesAre,
)
from actors.messages.node import FollowNode, NodeFact, NodeIs, NodeIsGone
from actors.messages.objects import (
    Change,
    ChangeAction,
    DescribeObjects,
    FollowObjects,
    GetObject,
    ObjectDescribed,
    ObjectFact,
    ObjectId,
    ObjectKind,
    ObjectManagerMessage,
    ObjectRead,
    ObjectsDescribed,
    ObjectState,
    Origin,
    ReadVerdict,
    RegisterPod,
    UnfollowObjects,
    UnregisterPod,
)
from actors.messages.pod_manager import PodFact, PodsAre, PodsChanged, Subscribe
from actors.object_holdings import (
    ApiHoldings,
    Holders,
    Holdings,
    HoldingsMemory,
    LocalHoldings,
    NoHoldings,
    StoppedHoldersEnded,
)
from actors.objects.hooks import ON_OBJECT_CHANGE
from stores.change_decisions import decisions
from stores.node_ttl import DEFAULT_TTL, node_ttl
from stores.reference_book import Booked, BookMemory, ReferenceBook

ObjectManagerOwnMessage: TypeAlias = (
    ObjectManagerMessage | HolderFact | NodeFact | StoppedHoldersEnded
)

SECRET_MANAGER = Key[ObjectManagerOwnMessage]("secret-manager")
CONFIG_MAP_MANAGER = Key[ObjectManagerOwnMessage]("configmap-manager")

OBJECT_HOLDERS = Key[DynamicMessage]("objects")
"""The supervisor of the holders of both."""

_NO_FILES = NoHoldings(
    "static pods read files of --local-objects-dir, and this node has none", ReadVerdict.NOT_FOUND
)
_NO_API_SERVER = NoHoldings("this node belongs to no API server", ReadVerdict.NOT_SYNCED)

_log = structlog.get_logger("objects")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectManagerPorts:
    """Whom a manager talks to."""

    pod_manager: Port[Subscribe]
    holders: Port[DynamicMessage]
    """The supervisor of holders."""
    local: Port[ReadObject | ListLocalObjects] | None
    """The holder of all local objects of the kind; None when there are no such files."""
    node: Port[FollowNode] | None
    """Who knows for how long fetched objects are current; None when nobody needs to."""
    me: Port[PodFact | NodeFact]
    """Its own address, which outlives it: what it subscribes with."""


@dataclass(slots=True)
class ObjectManagerMemory:
    """What outlives a life of a manager, so that its holders and its subscribers notice nothing."""

    book: BookMemory = field(default_factory=BookMemory)
    holdings: HoldingsMemory = field(default_factory=HoldingsMemory)
    local: dict[ObjectId, HolderIs] = field(default_factory=dict)
    """The latest news of each local object that there is, or that is referenced."""
    followers: dict[ObjectId | None, dict[Port[ObjectFact], None]] = field(default_factory=dict)
    """Subscribers of one object, and under None those of all."""
    outbox: list[HolderIs] = field(default_factory=list)
    """News whose change is being told."""
    changes: Counter[Change] = field(default_factory=Counter)
    decisions: Counter[ChangeAction] = field(default_factory=Counter)
    reads: int = 0


class ObjectManager(PooledActor[ObjectManagerOwnMessage]):
    """Keeps each object held that a pod references, and tells whoever follows it what changes.

    Owns: who references what, who follows what, the lives of the holders. No value.
    Hears: ``PodFact``, ``RegisterPod``, ``UnregisterPod``, ``GetObject``, ``FollowObjects``,
    ``UnfollowObjects``, ``DescribeObjects``; ``HolderFact`` of holders; ``NodeFact``; its own timer.
    Tells: PodManager ``Subscribe``, the Node's keeper ``FollowNode`` and the holder of local objects
    ``ListLocalObjects`` when it starts; the holders' supervisor ``StartChild`` and ``StopChild``; holders
    ``ReferencesAre`` and ``ReadObject``; subscribers ``ObjectFact``.
    Fails when: it has a bug. The next life goes on with the references, holders and subscribers of the
    last, asks for the pods anew and repeats what it may not have finished telling.

    A pod references what any source lists it with or it was registered with, until it runs to its end,
    goes or is unregistered; an object of the API server, or a local one if the pod is static. A batch of
    changes is one step: what is dropped and taken up in it stays held. ``ReferencesAre`` is told when it
    is another than before. Reads are passed on, and only answered here when there is nobody to ask.

    Subscribers hear a change of an object, then what each pod wants done about it. Those of all objects
    hear of referenced ones only, those of one object of it in any case. A change that a holder repeats
    is told once, one that a crash of the manager interrupts may be told twice.
    """

    def __init__(
        self,
        kind: ObjectKind,
        ports: ObjectManagerPorts,
        holders: Holders | None,
        memory: ObjectManagerMemory,
        chance: Random,
    ) -> None:
        self._kind = kind
        self._ports = ports
        self._memory = memory
        self._chance = chance
        self._book = ReferenceBook(kind, memory.book)
        self._api: Holdings = _NO_API_SERVER
        if holders is not None:
            self._api = ApiHoldings(holders, ports.holders, self.after, memory.holdings)
        self._local: Holdings = _NO_FILES
        if ports.local is not None:
            self._local = LocalHoldings(ports.local, self._book.objects(), memory.local)
        self._time_to_live = DEFAULT_TTL

    @override
    def started(self) -> None:
        self._api.adopt()
        self._local.adopt()
        self._inform({*self._book.objects(), *self._memory.holdings.holdings})
        interrupted, self._memory.outbox = self._memory.outbox, []
        for news in interrupted:
            self._holdings(news.described.object).note(news)
            self._tell_change(news)
        self._ports.pod_manager.tell(Subscribe(subscriber=self._ports.me))
        if self._ports.node is not None:
            self._ports.node.tell(FollowNode(subscriber=self._ports.me))

    @override
    def receive(self, message: ObjectManagerOwnMessage, /) -> None:
        match message:
            case PodsAre() | PodsChanged() | RegisterPod() | UnregisterPod():
                self._note_pods(message)
            case GetObject():
                self._read(message)
            case FollowObjects() | UnfollowObjects():
                self._note_follower(message)
            case DescribeObjects(reply_to=reply_to):
                reply_to.tell(self._described())
            case HolderIs() | HolderDone() | StoppedHoldersEnded():
                self._note_holder(message)
            case NodeIs(document=node):
                self._time_to_live = node_ttl(node)
            case NodeIsGone():
                self._time_to_live = DEFAULT_TTL
            case _:
                assert_never(message)

    # --- who needs what --------------------------------------------------------------------------------

    def _note_pods(self, message: PodFact | RegisterPod | UnregisterPod) -> None:
        booked = self._enter(message)
        for pod in booked.unreadable:
            _log.warning(
                f"annotation {ON_OBJECT_CHANGE} {pod.hook_error}", pod=pod.name, kind=self._kind
            )
        self._inform(booked.touched)

    def _enter(self, message: PodFact | RegisterPod | UnregisterPod) -> Booked:
        match message:
            case PodsAre(source=source, pods=pods):
                return self._book.replace(source, pods)
            case PodsChanged(changes=changes):
                return self._book.apply(changes)
            case RegisterPod(pod=pod):
                return self._book.register(pod)
            case UnregisterPod(pod=uid):
                return self._book.unregister(uid)

    def _note_follower(self, message: FollowObjects | UnfollowObjects) -> None:
        followers = self._memory.followers
        if isinstance(message, FollowObjects):
            followers.setdefault(message.object, {})[message.subscriber] = None
        elif message.object in followers:
            followers[message.object].pop(message.subscriber, None)
            if not followers[message.object]:
                del followers[message.object]
        self._inform(self._book.objects() if message.object is None else (message.object,))

    def _inform(self, objects: Collection[ObjectId]) -> None:
        """Have the holders of ``objects`` know who needs them."""
        for wanted in objects:
            self._holdings(wanted).needed(wanted, self._references(wanted))

    def _references(self, wanted: ObjectId) -> ReferencesAre:
        references = self._book.references(wanted)
        followers = self._memory.followers
        is_followed = None in followers or wanted in followers or references.wants_changes
        return ReferencesAre(
            references=references.pods, newest=references.newest, is_followed=is_followed
        )

    def _holdings(self, wanted: ObjectId) -> Holdings:
        return self._local if wanted.origin is Origin.LOCAL else self._api

    # --- reading ---------------------------------------------------------------------------------------

    def _read(self, question: GetObject) -> None:
        self._memory.reads += 1
        needs = self._book.get(question.pod)
        if needs is None:
            self._refuse(question, "the pod is not known")
            return
        wanted = needs.object(self._kind, question.name)
        mark = self._book.mark(question.pod, wanted)
        if mark is None:
            whose = f"{self._kind} {wanted.display_name}"
            self._refuse(question, f"pod {needs.name} does not reference {whose}")
            return
        request = ReadObject(
            object=wanted,
            mark=mark,
            pod=question.pod,
            reply_to=question.reply_to,
            ref=question.ref,
            within=question.within,
            time_to_live=self._time_to_live,
        )
        self._holdings(wanted).read(request)

    def _refuse(self, question: GetObject, reason: str) -> None:
        question.reply_to.tell(
            ObjectRead(
                kind=self._kind,
                pod=question.pod,
                name=question.name,
                ref=question.ref,
                verdict=ReadVerdict.NOT_REGISTERED,
                reason=reason,
            )
        )

    # --- what becomes of objects -----------------------------------------------------------------------

    def _note_holder(self, message: HolderFact | StoppedHoldersEnded) -> None:
        match message:
            case HolderIs(described=described, changed=changed):
                self._memory.outbox.append(message)
                before = self._holdings(described.object).note(message)
                if before is None or changed != before.changed:
                    self._tell_change(message)
                self._memory.outbox.clear()
            case HolderDone(object=wanted):
                self._api.done(wanted, self._references(wanted))
            case StoppedHoldersEnded():
                self._api.forget_ended()

    def _tell_change(self, news: HolderIs) -> None:
        changed = news.changed
        if changed is None:
            return
        followers = dict(self._memory.followers.get(changed.object, {}))
        is_referenced = changed.object in self._book.objects()
        if is_referenced:
            followers |= self._memory.followers.get(None, {})
        elif not followers:
            return
        pods = self._book.pods_using(changed.object)
        decided = tuple(decisions(changed, pods, self._chance, was_known=news.was_known))
        self._memory.changes[changed.change] += 1
        self._memory.decisions.update(decision.action for decision in decided)
        facts: tuple[ObjectFact, ...] = (changed, *decided)
        for fact in facts:
            for follower in followers:
                follower.tell(fact)

    # --- how it all is ---------------------------------------------------------------------------------

    def _described(self) -> ObjectsDescribed:
        return ObjectsDescribed(
            kind=self._kind,
            objects=tuple(self._each_described()),
            pods=self._book.pods(),
            changes=dict(self._memory.changes),
            decisions=dict(self._memory.decisions),
            reads=self._memory.reads,
        )

    def _each_described(self) -> Iterator[ObjectDescribed]:
        for wanted in self._book.objects():
            holdings = self._holdings(wanted)
            news = holdings.news(wanted)
            described = (
                news.described
                if news is not None
                else ObjectDescribed(
                    object=wanted, state=ObjectState.INITIALISING, error=holdings.trouble
                )
            )
            yield replace(described, references=self._book.references(wanted).pods)
