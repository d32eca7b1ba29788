"""What followers are told of the Node, and what of it is worth telling. Pure."""

from __future__ import annotations

from actors.node.observed import uid_of
from messages.node import NodeFact, NodeIs, NodeIsGone, NodeUid
from messages.pods import JsonObject


def fact_of(name: str, node: JsonObject | None) -> NodeFact:
    """Return what there is to tell of the Node called ``name``; None means that there is none."""
    if node is None:
        return NodeIsGone(name=name)
    return NodeIs(
        name=name,
        uid=NodeUid(uid_of(node)),
        is_deleting=bool(node.get("metadata", {}).get("deletionTimestamp")),
        document=node,
    )


def is_news(fact: NodeFact, told: NodeFact | None) -> bool:
    """Return whether ``fact`` says more than ``told``: status and versions do not count.

    Every report of ours changes these, and those who follow would be told of their own echo.
    """
    return _substance(fact) != _substance(told)


def _substance(fact: NodeFact | None) -> object:
    if not isinstance(fact, NodeIs):
        return fact
    metadata = fact.document.get("metadata", {})
    return (
        fact.uid,
        fact.is_deleting,
        metadata.get("labels") or {},
        metadata.get("annotations") or {},
        fact.document.get("spec") or {},
    )
