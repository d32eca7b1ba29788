"""What followers are told of the Node, and which changes are worth telling. Pure."""

from __future__ import annotations

from actors.node.observed import uid_of
from manifests.requests import is_extended
from messages.node import NodeFact, NodeIs, NodeIsGone, NodeUid
from messages.pods import JsonObject


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
