"""Objects for volumes, as they come from local files: for the static pods that ``make_pod`` makes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin


def local(kind: ObjectKind, name: str) -> ObjectId:
    """Return the identity of a local object in the namespace ``default``."""
    return ObjectId(kind=kind, namespace="default", name=name, origin=Origin.LOCAL)


def secret(name: str, data: Mapping[str, bytes]) -> dict[ObjectId, ObjectValue]:
    """Return a Secret, by its identity."""
    value = ObjectValue(uid=f"uid-{name}", resource_version="1", data=data)
    return {local(ObjectKind.SECRET, name): value}


def config_map(
    name: str, data: Mapping[str, bytes], binary: Mapping[str, bytes] = MappingProxyType({})
) -> dict[ObjectId, ObjectValue]:
    """Return a ConfigMap, by its identity."""
    value = ObjectValue(
        uid=f"uid-{name}",
        resource_version="1",
        data={**data, **binary},
        binary_keys=frozenset(binary),
    )
    return {local(ObjectKind.CONFIG_MAP, name): value}
