"""What a manager of objects hears, whom it talks to, and what outlives it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from actors.objects.api_holders import ApiHoldersMemory, HoldersTimer
from actors.objects.holders import LocalHolderMemory
from actors.objects.notices import NoticeMemory, SayDue
from actors.objects.unhurried import PortionDue
from kernel import DynamicMessage, Key, Port
from messages.events import PostEvent
from messages.holders import HolderFact, HolderIs, LocalHolderFact, LocalHolderMessage
from messages.node import FollowNode, NodeFact
from messages.objects import Change, ChangeAction, ObjectFact, ObjectManagerMessage
from messages.pod_manager import PodFact, Subscribe
from messages.units import Seconds
from stores.objects.followers import FollowerMemory
from stores.objects.node_ttl import DEFAULT_TTL
from stores.objects.reference_index import ReferenceMemory

ObjectManagerOwnMessage: TypeAlias = (
    ObjectManagerMessage
    | HolderFact
    | LocalHolderFact
    | NodeFact
    | HoldersTimer
    | PortionDue
    | SayDue
)

SECRET_MANAGER = Key[ObjectManagerOwnMessage]("secret-manager")
CONFIG_MAP_MANAGER = Key[ObjectManagerOwnMessage]("configmap-manager")

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
    me: Port[PodFact | NodeFact]
    """Its own address, which outlives it. It subscribes with it."""


@dataclass(slots=True)
class ObjectManagerMemory:
    """What outlives a life of a manager, so that its holders and subscribers notice no crash."""

    references: ReferenceMemory = field(default_factory=ReferenceMemory)
    api: ApiHoldersMemory = field(default_factory=ApiHoldersMemory)
    local: LocalHolderMemory = field(default_factory=LocalHolderMemory)
    followers: FollowerMemory = field(default_factory=dict)
    outbox: list[HolderIs] = field(default_factory=list)
    """The news whose change is being told."""
    notices: NoticeMemory = field(default_factory=NoticeMemory)
    changes: Counter[Change] = field(default_factory=Counter)
    decisions: Counter[ChangeAction] = field(default_factory=Counter)
    reads: int = 0
    time_to_live: Seconds = DEFAULT_TTL
    """How long fetched objects count as current, by the annotation of the Node."""
