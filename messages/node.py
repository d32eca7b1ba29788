"""The Node that stands for this machine in the cluster, and what its loops say of themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType, TypeAlias

from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds

NodeUid = NewType("NodeUid", str)
"""``metadata.uid`` of the Node: another one after it was deleted and registered again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIs:
    """The Node exists, and this is it.

    Told when its UID, deletion, labels, annotations or spec change; not for its status. May repeat.
    """

    name: str
    uid: NodeUid
    is_deleting: bool
    """It has a ``deletionTimestamp``: nothing is to be created that it would own."""
    document: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIsGone:
    """There is no Node of this name at present."""

    name: str


NodeFact: TypeAlias = NodeIs | NodeIsGone


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowNode:
    """Wants every ``NodeFact`` from here on, preceded by the present state once it is known.

    A subscription outlives crashes on both sides; repeats give the present state again.
    """

    subscriber: Port[NodeFact]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopsAre:
    """How the agent's own loops are. Coalesced: newest wins."""

    failed: tuple[str, ...]
    """Running names of actors that failed too often and are only tried at long intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrarLives:
    """The Node's registrar does its work: it looks at the machine, and can say how the Node is.

    Told at each look, to who asked for it. Coalesced: newest wins.
    """

    period: Seconds
    """Between two looks, and so how often this is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowRegistrar:
    """Wants every ``RegistrarLives`` from here on, and one at once.

    A subscription outlives crashes on both sides, and may be repeated.
    """

    subscriber: Port[RegistrarLives]


NodeMessage: TypeAlias = FollowNode | FollowRegistrar | LoopsAre
"""What the node's registrar hears from others."""
