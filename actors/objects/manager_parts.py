"""What a manager of objects hears, whom it talks to, what outlives it, and how it tells what has changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from actors.objects.api_holders import ApiHoldersMemory
from actors.objects.holders import LocalHolderMemory, ManagedObjects
from actors.objects.notices import NoticeMemory, ObjectNotices, SayDue
from kernel import DynamicMessage, Key, KeyFollowed, Port
from messages.events import PostEvent
from messages.holders import HolderFact, HolderIs, LocalHolderFact, LocalHolderMessage
from messages.node import FollowNode, NodeFact
from messages.objects import (
    Change,
    ChangeAction,
    ChangeMissed,
    ObjectFact,
    ObjectId,
    ObjectManagerMessage,
)
from messages.pod_manager import PodFact, Subscribe
from messages.units import Seconds
from stores.objects.changes import decisions
from stores.objects.followers import FollowerMemory, ObjectFollowers, hears
from stores.objects.node_ttl import DEFAULT_TTL
from stores.objects.reference_index import ReferenceIndex, ReferenceMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowersAre:
    """Tells the manager itself who follows an object. Coalesced for each object: newest wins.

    Following is a call, so it is heard of before the ``RegisterPod`` that the follower told first. Once this
    has passed through the mailbox, that was handled.
    """

    object: ObjectId
    followers: int
    wanted: int


ObjectManagerOwnMessage: TypeAlias = (
    ObjectManagerMessage
    | KeyFollowed[ObjectId]
    | FollowersAre
    | HolderFact
    | LocalHolderFact
    | NodeFact
    | SayDue
)


def _name_of(message: ObjectManagerOwnMessage) -> ObjectId | None:
    return message.object if isinstance(message, FollowersAre) else None


SECRET_MANAGER = Key[ObjectManagerOwnMessage]("secret-manager", coalesce=_name_of)
CONFIG_MAP_MANAGER = Key[ObjectManagerOwnMessage]("configmap-manager", coalesce=_name_of)

OBJECT_HOLDERS = Key[DynamicMessage]("objects")
"""The supervisor of the holders of both kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectManagerPorts:
    """The ports of a manager."""

    pod_manager: Port[Subscribe]
    holders: Port[DynamicMessage]
    """The supervisor of holders."""
    local: Port[LocalHolderMessage] | None
    """The holder of all local objects; None if no directory is configured."""
    node: Port[FollowNode] | None
    """Who knows how long fetched objects count as current; None if nobody needs that."""
    events: Port[PostEvent] | None
    """Who posts events; None if the agent belongs to no cluster."""
    recorder: Port[ObjectFact] | None = None
    """Who remembers changes for people. It has nothing watched for that."""
    volumes_are_made: bool = False
    """Whoever makes volumes tells people itself what they lack."""
    objects: ManagedObjects
    """What it owns and its holders set, and volumes and workers follow."""
    me: Port[PodFact | NodeFact | FollowersAre]
    """Its own address, which outlives it. It subscribes with it."""


@dataclass(slots=True)
class ObjectManagerMemory:
    """What outlives a life of a manager, so that its holders and subscribers notice no crash."""

    references: ReferenceMemory = field(default_factory=ReferenceMemory)
    api: ApiHoldersMemory = field(default_factory=ApiHoldersMemory)
    local: LocalHolderMemory = field(default_factory=LocalHolderMemory)
    followers: FollowerMemory = field(default_factory=dict)
    wanted: dict[ObjectId, int] = field(default_factory=dict)
    """The last look that followers of an object's value want, of each that has any."""
    outbox: list[HolderIs] = field(default_factory=list)
    """The news whose change is being told."""
    notices: NoticeMemory = field(default_factory=NoticeMemory)
    changes: Counter[Change] = field(default_factory=Counter)
    decisions: Counter[ChangeAction] = field(default_factory=Counter)
    looks: int = 0
    """How often followers have asked for a fresh value."""
    time_to_live: Seconds = DEFAULT_TTL
    """How long fetched objects count as current, by the annotation of the Node."""


class ObjectChanges:
    """Tells changes, and counts them."""

    def __init__(
        self,
        references: ReferenceIndex,
        followers: ObjectFollowers,
        notices: ObjectNotices,
        memory: ObjectManagerMemory,
        chance: Random,
    ) -> None:
        self._references = references
        self._followers = followers
        self._notices = notices
        self._memory = memory
        self._chance = chance

    def tell(self, news: HolderIs, *, was_known: bool = True) -> None:
        """Tell the change in ``news``, if there is one that concerns anybody."""
        changed = news.changed
        if changed is None:
            return
        is_referenced = changed.object in self._references.objects()
        followers = self._followers.get(changed.object, is_referenced=is_referenced)
        if not is_referenced and not followers:
            return
        pods = self._references.hooked_pods(changed.object, news.concerns)
        decided = tuple(decisions(changed, pods, self._chance))
        self._memory.changes[changed.change] += 1
        self._memory.decisions.update(decision.action for decision in decided)
        if is_referenced and (was_known or changed.change is not Change.ADDED):
            self._notices.note_change(changed, decided)
        facts: tuple[ObjectFact, ...] = (changed, *decided)
        for follower, pod in followers.items():
            for fact in facts if pod is None else reversed(facts):
                if hears(pod, fact):
                    follower.tell(fact)

    def tell_missed(self, missed: ChangeMissed) -> None:
        """Tell what a pod wants done about a change that nobody heard of, for this pod alone."""
        changed, pod = missed.changed, self._references.get(missed.pod)
        if pod is None or changed.object not in pod.references:
            return
        decided = tuple(decisions(changed, (pod,), self._chance))
        self._memory.decisions.update(decision.action for decision in decided)
        self._notices.note_change(changed, decided)
        for follower, about in self._followers.get(changed.object, is_referenced=True).items():
            for decision in decided:
                if hears(about, decision):
                    follower.tell(decision)
