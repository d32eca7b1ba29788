"""The followers of the Node and of its registrar: who they are, what they are told, and what is news."""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.node.observed import uid_of
from manifests.requests import is_extended
from messages.node import (
    FollowNode,
    FollowRegistrar,
    NodeFact,
    NodeIs,
    NodeIsGone,
    NodeUid,
    RegistrarLives,
)
from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds


@dataclass(slots=True)
class FollowersMemory:
    """What outlives a life of the registrar."""

    of_node: dict[Port[NodeFact], None] = field(default_factory=dict)
    told: NodeFact | None = None
    """What the followers of the Node were told last."""
    is_telling: bool = False
    """They, or a new one, are being told it. A life that finds this follows on a crash over that."""
    of_registrar: dict[Port[RegistrarLives], None] = field(default_factory=dict)


class Followers:
    """Tells the followers of the Node its facts, and those of the registrar that it lives.

    ``period`` is the time between two signs of life. A part of the registrar, for one life of it.
    """

    def __init__(self, period: Seconds, memory: FollowersMemory) -> None:
        self._sign_of_life = RegistrarLives(period=period)
        self._memory = memory

    @property
    def told(self) -> NodeFact | None:
        """What the followers of the Node were told last; None if nothing yet."""
        return self._memory.told

    def add(self, subscription: FollowNode | FollowRegistrar) -> None:
        """Note a subscriber, and tell it the present state."""
        if isinstance(subscription, FollowRegistrar):
            self._memory.of_registrar[subscription.subscriber] = None
            subscription.subscriber.tell(self._sign_of_life)
            return
        self._memory.of_node[subscription.subscriber] = None
        if self._memory.told is not None:
            before, self._memory.is_telling = self._memory.is_telling, True
            subscription.subscriber.tell(self._memory.told)
            self._memory.is_telling = before

    def tell(self, fact: NodeFact) -> bool:
        """Tell the followers of the Node about ``fact``. Return False, and tell nothing, if they know it."""
        memory = self._memory
        if not memory.is_telling and not is_news(fact, memory.told):
            return False
        memory.told, memory.is_telling = fact, True
        for follower in memory.of_node:
            follower.tell(fact)
        memory.is_telling = False
        return True

    def show_life(self) -> None:
        """Tell the followers of the registrar that it lives."""
        for follower in self._memory.of_registrar:
            follower.tell(self._sign_of_life)


def fact_of(name: str, node: JsonObject | None, refusal: str = "") -> NodeFact:
    """Return the fact about the Node called ``name``. ``node`` is None if there is no such Node.

    ``refusal`` says why a Node that exists is left alone, if it is.
    """
    if node is None or refusal:
        return NodeIsGone(name=name, reason=refusal)
    return NodeIs(
        name=name,
        uid=NodeUid(uid_of(node)),
        is_deleting=bool(node.get("metadata", {}).get("deletionTimestamp")),
        document=node,
    )


def is_news(fact: NodeFact, told: NodeFact | None) -> bool:
    """Return whether ``fact`` differs from ``told`` in more than status and version.

    Each report of the agent changes these two, and followers need not hear of them. But extended resources
    are counted by others, and decide which pods are taken.
    """
    return _substance(fact) != _substance(told)


def _substance(fact: NodeFact | None) -> object:
    if not isinstance(fact, NodeIs):
        return fact
    metadata = fact.document.get("metadata", {})
    allocatable = (fact.document.get("status") or {}).get("allocatable") or {}
    return (
        fact.uid,
        fact.is_deleting,
        metadata.get("labels") or {},
        metadata.get("annotations") or {},
        fact.document.get("spec") or {},
        {name: amount for name, amount in allocatable.items() if is_extended(name)},
    )
