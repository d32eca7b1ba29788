"""Messages about the Node that stands for this machine, and to and from its registrar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType, TypeAlias

from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds

NodeUid = NewType("NodeUid", str)
"""``metadata.uid`` of the Node. A Node that is deleted and registered again has another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIs:
    """The Node exists, as ``document`` shows it.

    Told when its UID, deletion, labels, annotations or spec change, or extended resources that it counts; not
    for the rest of its status. May repeat.
    """

    name: str
    uid: NodeUid
    is_deleting: bool
    """It has a ``deletionTimestamp``, so nothing may be created that it would own."""
    document: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIsGone:
    """There is no Node of this name at present, or none that is this agent's."""

    name: str
    reason: str = ""
    """Why a Node that exists is left alone; empty if there is none."""


NodeFact: TypeAlias = NodeIs | NodeIsGone


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowNode:
    """Subscribes to every ``NodeFact``. The present state comes first, once it is known.

    The subscription outlives crashes on both sides. Repeating it gives the present state again.
    """

    subscriber: Port[NodeFact]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopsAre:
    """Which of the agent's own loops fail. Coalesced: the newest counts."""

    failed: tuple[str, ...]
    """Names of actors that failed too often and are only restarted at long intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeHasNews:
    """What the runtime of pods says of the Node has changed: it is to be reported at once. Coalesced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrarLives:
    """The Node's registrar works: it has read the machine, and can report the Node.

    Told to its subscribers at each reading of the machine. Coalesced: the newest counts.
    """

    period: Seconds
    """Between two readings, and so between two of these messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowRegistrar:
    """Subscribes to every ``RegistrarLives``, and asks for one at once.

    The subscription outlives crashes on both sides, and may be repeated.
    """

    subscriber: Port[RegistrarLives]


NodeMessage: TypeAlias = FollowNode | FollowRegistrar | LoopsAre | RuntimeHasNews
"""What the node's registrar hears from others."""
