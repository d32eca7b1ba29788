"""What a container's environment needs of Secrets and ConfigMaps, and what of that is missing. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin
from messages.pods import JsonObject

_KINDS: Final = (
    (ObjectKind.SECRET, "secretRef", "secretKeyRef"),
    (ObjectKind.CONFIG_MAP, "configMapRef", "configMapKeyRef"),
)


class NeededValue(NamedTuple):
    """A value, or a whole object, that a container cannot be created without."""

    kind: ObjectKind
    name: str
    key: str
    """Empty for the whole object."""


def needed_values(container: JsonObject) -> tuple[NeededValue, ...]:
    """Return what the environment of ``container`` needs, in the order in which it is looked up."""
    if not (container.get("env") or container.get("envFrom")):
        return ()
    return tuple(_needed(container))


def missing_value(
    needed: tuple[NeededValue, ...], namespace: str, objects: Mapping[ObjectId, ObjectValue]
) -> str:
    """Return what is missing first, in a kubelet's words; empty if nothing is."""
    for each in needed:
        found = [
            objects[known]
            for origin in Origin
            if (
                known := ObjectId(
                    kind=each.kind, namespace=namespace, name=each.name, origin=origin
                )
            )
            in objects
        ]
        if not found:
            return f'{each.kind.lower()} "{each.name}" not found'
        if each.key and each.key not in found[0].data:
            return f"couldn't find key {each.key} in {each.kind} {namespace}/{each.name}"
    return ""


def _needed(container: JsonObject) -> Iterator[NeededValue]:
    for source in container.get("envFrom") or ():
        for kind, field, _ in _KINDS:
            reference = source.get(field)
            if reference and not reference.get("optional"):
                yield NeededValue(kind, reference.get("name") or "", "")
    for variable in container.get("env") or ():
        origin = variable.get("valueFrom") or {}
        for kind, _, field in _KINDS:
            reference = origin.get(field)
            if reference and not reference.get("optional"):
                yield NeededValue(kind, reference.get("name") or "", reference.get("key") or "")
