"""How long a fetched object counts as current, as the Node says it (rule T4)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from messages.pods import JsonObject
from messages.units import Seconds

NODE_TTL = "node.alpha.kubernetes.io/ttl"
"""Annotation by which the control plane of a large cluster has its nodes ask less often. In seconds."""

DEFAULT_TTL = Seconds(60.0)

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
"""What fits into 64 bits, near enough: 18 digits of seconds are 30 billion years."""


def node_ttl(node: JsonObject) -> Seconds:
    """Return for how long an object that was fetched is served, never below 0, which is not at all.

    The default where there is no annotation, or no whole number in it.
    """
    metadata = node.get("metadata") or {}
    annotations = metadata.get("annotations")
    value = annotations.get(NODE_TTL) if isinstance(annotations, Mapping) else None
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        return DEFAULT_TTL
    return Seconds(float(max(0, int(value))))
