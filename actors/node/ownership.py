"""Whether a Node that exists may be this agent's. Pure.

The Node of a real machine must not be marked as ready by an agent whose pods only seem to run.
"""

from __future__ import annotations

from actors.node.rules import NodeRules
from messages.pods import JsonObject


def is_owned(rules: NodeRules, node: JsonObject) -> bool:
    """Return whether ``node`` says that it belongs to agents such as this one."""
    if rules.own_label is None:
        return True
    key, value = rules.own_label
    labels = node.get("metadata", {}).get("labels") or {}
    return bool(labels.get(key) == value)


def refusal(rules: NodeRules) -> str:
    """Return why a Node that is not owned is left alone, for people."""
    key, value = rules.own_label or ("", "")
    return (
        f"the Node {rules.name} exists and has no label {key}={value}, so it is left alone: choose another "
        "name with --hostname-override, or take it over with --force-hollow"
    )
