"""ObjectManager: knows which pods need which Secrets, or which ConfigMaps, and who follows their changes.

It knows references, marks and versions. Holders set the values in the level that it owns.
``stores.objects.reference_index`` has the references, ``changes`` beside it decides what is done about
a change, and ``api_holders`` starts, informs and stops holders. The managers of Secrets and of
ConfigMaps are two instances, which know nothing of each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from random import Random
from typing import Final

import structlog
from typing_extensions import override

from actors.objects.api_holders import ApiHolders, HolderFactory
from actors.objects.holders import (
    NO_API_SERVER,
    NO_FILES,
    LocalHolder,
    NoHolders,
    ObjectHolders,
)
from actors.objects.manager_parts import (
    FollowersAre,
    ObjectChanges,
    ObjectManagerMemory,
    ObjectManagerOwnMessage,
    ObjectManagerPorts,
)
from actors.objects.notices import ObjectNotices, SayDue
from kernel import KeyFollowed, PooledActor
from manifests.change_hooks import ON_OBJECT_CHANGE
from messages.holders import (
    HolderFact,
    HolderIs,
    LocalHolderFact,
    LocalObjectsListed,
    ReferencesAre,
    UnprovenUsed,
)
from messages.node import FollowNode, NodeFact, NodeIs, NodeIsGone
from messages.objects import (
    ChangeMissed,
    DescribeObjects,
    FollowObjects,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectsDescribed,
    Origin,
    ReadVerdict,
    RegisterPod,
    UnfollowObjects,
    UnprovenTaken,
    UnregisterPod,
)
from messages.pod_manager import PodFact, PodsAre, PodsChanged, Subscribe
from messages.units import Seconds
from stores.objects.followers import ObjectFollowers
from stores.objects.node_ttl import DEFAULT_TTL, node_ttl
from stores.objects.reference_index import (
    PodNeeds,
    ReferenceChange,
    ReferenceIndex,
)

PORTION: Final = 50
"""Objects. To tell their holders, and to hear their answers, takes 2 ms of a core."""
PAUSE: Final = Seconds(0.01)
"""Between two portions: 5,000 holders are told within about a second."""
_UNREADABLE_HOOK: Final = "annotation cannot be read, so changes do nothing"
_UNTOLD_CHANGES: Final = "annotation has no effect: strategy Get hears of no changes"

_log = structlog.get_logger("objects")


class ObjectManager(PooledActor[ObjectManagerOwnMessage]):
    """Keeps each object held that a pod references, and tells its followers what changes.

    Owns: who references what, who follows what, the lives of the holders, and the level in which these set
    values.
    Hears: ``PodFact``, ``RegisterPod``, ``UnregisterPod``, ``KeyFollowed``, ``UnprovenTaken``,
    ``FollowObjects``, ``UnfollowObjects``, ``ChangeMissed``, ``DescribeObjects``; ``HolderFact`` of holders,
    ``LocalHolderFact``; ``NodeFact``; its own timers.
    Tells: PodManager ``Subscribe``, the Node's registrar ``FollowNode`` and the holder of local objects
    ``ListLocalObjects`` when it starts, and ``LocalReferencesAre``; the holders' supervisor ``StartChild``
    and ``StopChild``; holders ``ReferencesAre`` and ``UnprovenUsed``; subscribers and the recorder of events
    ``ObjectFact``; who posts events ``PostEvent``.
    Fails when: it has a bug. The next life keeps the references, holders and subscribers of the last, asks
    for the pods anew, and repeats what it may not have finished telling.

    A pod references the objects of the version that a source lists and of the one that was registered,
    until it runs to its end, goes, or is unregistered. The objects are local if the pod is static, and
    otherwise those of the API server. A batch of changes is one step: an object that is dropped and taken
    up in it stays held. ``ReferencesAre`` is told if it differs from the last one. What concerns all holders
    is told to a portion at a time: that somebody follows all objects, and how long they count as current.
    Followers of an object that nobody holds are told so. The log has one warning of each annotation about
    changes that will do nothing, and a line of each change, decision and trouble (``notices``).

    Subscribers hear a change of an object, then what each pod wants done about it. Those who follow all
    objects hear of referenced ones only; those who follow one object always hear of it. The holder of an
    object in trouble is told that it is followed until people were told that this is over. A change that a
    holder repeats is told once. A change whose telling is interrupted by a crash of the manager may be told
    twice.
    """

    def __init__(
        self,
        kind: ObjectKind,
        ports: ObjectManagerPorts,
        holders: HolderFactory | None,
        memory: ObjectManagerMemory,
        chance: Random,
    ) -> None:
        self._kind = kind
        self._ports = ports
        self._memory = memory
        self._references = ReferenceIndex(kind, memory.references)
        self._followers = ObjectFollowers(memory.followers)
        self._uninformed: dict[ObjectId, None] = {}
        """Objects whose holders are still to be told who needs them."""
        self._notices = ObjectNotices(
            self._references,
            ports.events,
            self.after,
            memory.notices,
            volumes_are_made=ports.volumes_are_made,
            recorder=ports.recorder,
        )
        self._changes = ObjectChanges(
            self._references, self._followers, self._notices, memory, chance
        )
        self._tells_changes = holders is None or holders.tells_changes
        self._api: ApiHolders | None = None
        self._local: LocalHolder | None = None
        if holders is not None:
            self._api = ApiHolders(holders, ports.holders, self.later, ports.objects, memory.api)
        if ports.local is not None:
            self._local = LocalHolder(ports.local, self._references, memory.local)
        self._holders: Mapping[Origin, ObjectHolders] = {
            Origin.API: self._api
            or NoHolders(NO_API_SERVER, ReadVerdict.NOT_SYNCED, ports.objects),
            Origin.LOCAL: self._local or NoHolders(NO_FILES, ReadVerdict.NOT_FOUND, ports.objects),
        }

    @override
    def started(self) -> None:
        for holders in self._holders.values():
            holders.adopt()
        self._adopt_followers()
        self._inform({*self._references.objects(), *self._memory.api.holders})
        interrupted, self._memory.outbox = self._memory.outbox, []
        for news in interrupted:
            self._holders[news.described.object.origin].note(news)
            self._changes.tell(news)
        self._notices.begin()
        self._ports.pod_manager.tell(Subscribe(subscriber=self._ports.me))
        if self._ports.node is not None:
            self._ports.node.tell(FollowNode(subscriber=self._ports.me))

    @override
    def receive(self, message: ObjectManagerOwnMessage, /) -> None:
        match message:
            case PodsAre() | PodsChanged() | RegisterPod() | UnregisterPod():
                self._note_pods(message)
            case UnprovenTaken():
                self._note_taken(message)
            case FollowObjects() | UnfollowObjects() | KeyFollowed() | FollowersAre():
                self._note_follower(message)
            case DescribeObjects(reply_to=reply_to):
                reply_to.tell(self._described(message))
            case NodeIs() | NodeIsGone():
                self._note_node(message)
            case SayDue():
                self._say()
            case ChangeMissed():
                self._changes.tell_missed(message)
            case _:
                self._note_holder(message)

    def _now(self) -> Seconds:
        return self.clock.monotonic()

    # --- who needs what --------------------------------------------------------------------------------

    def _note_pods(self, message: PodFact | RegisterPod | UnregisterPod) -> None:
        change = self._enter(message)
        for pod in change.unreadable:
            self._warn(_UNREADABLE_HOOK, pod, reason=pod.hook_error)
        for pod in change.hooked:
            if pod.origin is Origin.API and not self._tells_changes:
                self._warn(_UNTOLD_CHANGES, pod)
        self._inform(change.touched)

    def _note_follower(
        self, message: FollowObjects | UnfollowObjects | KeyFollowed[ObjectId] | FollowersAre
    ) -> None:
        match message:
            case KeyFollowed(key=key, followers=followers, wanted=wanted):
                told = FollowersAre(object=key, followers=followers, wanted=wanted)
                self._ports.me.tell(told)
            case FollowersAre():
                self._note_followers(message)
            case _:
                if self._followers.note(message):
                    about = message.object
                    objects = self._references.objects() if about is None else (about,)
                    self._inform_in_portions(objects)

    def _note_followers(self, told: FollowersAre) -> None:
        memory = self._memory
        if told.followers:
            memory.looks += told.wanted > memory.wanted.get(told.object, 0)
            memory.wanted[told.object] = told.wanted
        else:
            memory.wanted.pop(told.object, None)
        self._tell_needs(told.object)

    def _adopt_followers(self) -> None:
        """Take who follows values. That nobody does may have been told to the life before, and lost."""
        level, wanted = self._ports.objects, self._memory.wanted
        level.own(self._ports.me)
        for left in wanted.keys() - level.followed().keys():
            del wanted[left]
            self._tell_needs(left)

    def _note_taken(self, taken: UnprovenTaken) -> None:
        mark = self._references.mark(taken.pod, taken.object)
        if mark is not None:
            holders = self._holders[taken.object.origin]
            holders.note_use(UnprovenUsed(taken=taken, mark=mark))

    def _warn(self, event: str, pod: PodNeeds, **fields: str) -> None:
        _log.warning(event, annotation=ON_OBJECT_CHANGE, pod=pod.name, kind=self._kind, **fields)

    def _enter(self, message: PodFact | RegisterPod | UnregisterPod) -> ReferenceChange:
        match message:
            case PodsAre(source=source, pods=pods):
                return self._references.replace(source, pods)
            case PodsChanged(changes=changes):
                return self._references.apply(changes)
            case RegisterPod(pod=pod):
                return self._references.register(pod)
            case UnregisterPod(pod=uid):
                return self._references.unregister(uid)

    def _note_node(self, fact: NodeFact) -> None:
        """Tell the holders how long the objects that they fetch count as current."""
        time_to_live = node_ttl(fact.document) if isinstance(fact, NodeIs) else DEFAULT_TTL
        if time_to_live != self._memory.time_to_live:
            self._memory.time_to_live = time_to_live
            self._inform_in_portions(self._references.objects())

    def _inform(self, objects: Collection[ObjectId]) -> None:
        """Tell the holders of ``objects`` who needs them."""
        for wanted in objects:
            self._note_trouble(wanted)
            self._tell_needs(wanted)

    def _inform_in_portions(self, objects: Iterable[ObjectId]) -> None:
        """Inform a portion of them at once unless others wait, and the rest later.

        When the first reader of events comes, all holders are told that somebody follows their object. Told
        at once, 5,000 of them held up the changes that this reader wants to hear for up to 180 ms (measured).
        """
        is_idle = not self._uninformed
        self._uninformed |= dict.fromkeys(objects)
        if is_idle:
            self._inform_portion()

    def _inform_portion(self) -> None:
        portion = tuple(islice(self._uninformed, PORTION))
        for wanted in portion:
            del self._uninformed[wanted]
        if self._uninformed:
            self.later(PAUSE, self._inform_portion)
        self._inform(portion)

    def _tell_needs(self, wanted: ObjectId) -> None:
        self._holders[wanted.origin].needed(wanted, self._needs(wanted))

    def _needs(self, wanted: ObjectId) -> ReferencesAre:
        """Return who needs an object. One in trouble is followed, so that the end of it is noticed."""
        references = self._references.references(wanted)
        is_followed = (
            self._followers.are_there(wanted)
            or wanted in self._memory.wanted
            or references.wants_changes
            or self._notices.is_in_trouble(wanted)
        )
        return ReferencesAre(
            references=references.pods,
            newest=references.newest,
            is_followed=is_followed,
            wanted=self._memory.wanted.get(wanted, 0),
            time_to_live=self._memory.time_to_live,
        )

    # --- what becomes of objects -----------------------------------------------------------------------

    def _note_holder(self, message: HolderFact | LocalHolderFact) -> None:
        match message:
            case HolderIs(described=described, changed=changed):
                self._memory.outbox.append(message)
                holders = self._holders[described.object.origin]
                was_known = holders.known(described.object).is_known
                before = holders.note(message)
                if before is None or changed != before.changed:
                    self._changes.tell(message, was_known=was_known)
                self._memory.outbox.clear()
                self._note_state(described.object)
            case LocalObjectsListed():
                if self._local is not None:
                    self._local.note_listed(message)
                for wanted in self._references.objects():
                    self._note_state(wanted)
            case _:
                if self._api is not None:
                    self._api.note_holder(message, self._needs)

    def _note_state(self, wanted: ObjectId) -> None:
        """Note how an object is held; follow it from when it is in trouble until that is over."""
        if self._note_trouble(wanted):
            self._tell_needs(wanted)

    def _say(self) -> None:
        """Tell people what is due. What is in trouble no more need not be followed for that."""
        for wanted in self._notices.say(self._describe, self._now()):
            self._tell_needs(wanted)

    def _note_trouble(self, wanted: ObjectId) -> bool:
        """Note how an object is held; return whether a trouble began or ended."""
        before = self._notices.is_in_trouble(wanted)
        self._notices.note_state(self._holders[wanted.origin].known(wanted), self._now())
        return self._notices.is_in_trouble(wanted) is not before

    # --- how it all is ---------------------------------------------------------------------------------

    def _describe(self, wanted: ObjectId) -> ObjectDescribed:
        references = self._references.count_of(wanted)
        return self._holders[wanted.origin].described(wanted, references)

    def _described(self, asked: DescribeObjects) -> ObjectsDescribed:
        references, memory = self._references, self._memory
        counts = tuple(references.counts())
        described = (
            self._holders[each.origin].described(each, pods)
            for each, pods in counts
            if asked.only is None or each in asked.only
        )
        return ObjectsDescribed(
            kind=self._kind,
            objects=tuple(described) if asked.in_detail else (),
            states=Counter(self._holders[each.origin].state(each) for each, _ in counts),
            references=sum(pods for _, pods in counts),
            pods=references.pods(),
            changes=dict(memory.changes),
            decisions=dict(memory.decisions),
            looks=memory.looks,
        )
