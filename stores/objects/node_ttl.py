"""How long a fetched object counts as current, by an annotation of the Node (rule T4)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from messages.pods import JsonObject
from messages.units import Seconds

NODE_TTL = "node.alpha.kubernetes.io/ttl"
"""The annotation, in seconds. Control planes of large clusters set it so that nodes ask less often."""

DEFAULT_TTL = Seconds(60.0)

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
"""What fits into 64 bits, nearly: 18 digits of seconds are 30 billion years."""


def node_ttl(node: JsonObject) -> Seconds:
    """Return how long a fetched object is served, in seconds; 0 means not at all. Never negative.

    Without the annotation, or if it is no whole number, it is the default.
    """
    metadata = node.get("metadata") or {}
    annotations = metadata.get("annotations")
    value = annotations.get(NODE_TTL) if isinstance(annotations, Mapping) else None
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        return DEFAULT_TTL
    return Seconds(float(max(0, int(value))))
