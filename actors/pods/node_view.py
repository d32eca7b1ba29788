"""The node as admission sees it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from manifests.requests import Amounts, amounts_of, is_extended
from messages.node import NodeIs
from messages.pods import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """What pods are compared with."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[JsonObject, ...] = ()
    allocatable: Amounts = field(default_factory=dict)
    """What pods may request together. There is no limit of cpu, memory, ephemeral storage or pods where one
    of them is missing."""
    os: str = "linux"


def view_of(fact: NodeIs, configured: NodeView) -> NodeView:
    """Return the node as the API server shows it.

    Of the amounts only those of extended resources are taken from there, which others count on the Node. The
    agent's own are those of ``configured``: the Node may not show them yet.
    """
    document = fact.document
    shown = amounts_of((document.get("status") or {}).get("allocatable") or {})
    extended = {name: amount for name, amount in shown.items() if is_extended(name)}
    return replace(
        configured,
        labels=(document.get("metadata") or {}).get("labels") or {},
        taints=tuple((document.get("spec") or {}).get("taints") or ()),
        allocatable={**extended, **configured.allocatable},
    )
