"""Merge patches and the part of strategic merge patches that nodes and pods need. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from messages.api import Patch
from messages.pods import JsonObject

Document: TypeAlias = dict[str, Any]

MERGE_KEYS: Mapping[str, str] = {
    "conditions": "type",
    "addresses": "type",
    "podIPs": "ip",
    "hostIPs": "ip",
    "ownerReferences": "uid",
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
}
"""Lists that a strategic patch merges, by the field that identifies an element. ``taints`` is not one
of them: a patch replaces it."""

PRIMITIVE_SETS = frozenset({"finalizers"})
"""Lists of words that a strategic patch adds to."""


def patched(document: JsonObject, patch: JsonObject, how: Patch) -> Document:
    """Return ``document`` with ``patch`` applied to it."""
    return _merged(document, patch, is_strategic=how is Patch.STRATEGIC)


def _merged(document: JsonObject, patch: JsonObject, *, is_strategic: bool) -> Document:
    if is_strategic and patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    result: Document = dict(document)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif is_strategic and key.startswith("$"):
            _obey(result, key, value)
        elif isinstance(value, Mapping):
            old = result.get(key)
            old = old if isinstance(old, Mapping) else {}
            result[key] = _merged(old, value, is_strategic=is_strategic)
        elif is_strategic and isinstance(value, list):
            result[key] = _merged_list(key, result.get(key) or [], value)
        else:
            result[key] = value
    return result


def _obey(result: Document, directive: str, value: Any) -> None:
    what, _, key = directive.partition("/")
    if what == "$deleteFromPrimitiveList":
        result[key] = [item for item in result.get(key, []) if item not in value]


def _merged_list(key: str, old: list[Any], patch: list[Any]) -> list[Any]:
    if key in PRIMITIVE_SETS:
        return [*old, *(item for item in patch if item not in old)]
    merge_key = MERGE_KEYS.get(key)
    if merge_key is None:
        return patch
    if {"$patch": "replace"} in patch:
        return [item for item in patch if item != {"$patch": "replace"}]
    result = {item[merge_key]: item for item in old}
    for item in patch:
        name = item[merge_key]
        if item.get("$patch") == "delete":
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name, {}), item, is_strategic=True)
    return list(result.values())
