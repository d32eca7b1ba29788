"""The paths of Secrets and ConfigMaps at the API server, and of their holders among the actors."""

from __future__ import annotations

import re
from typing import Final

from messages.objects import ObjectId, ObjectKind
from messages.watches import WatchTarget

_COLLECTIONS: Final = {ObjectKind.SECRET: "secrets", ObjectKind.CONFIG_MAP: "configmaps"}
_NAME: Final = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")


def can_exist(wanted: ObjectId) -> bool:
    """Return whether an object can have this name. Pods may reference names that the API server refuses.

    Such a name must not get into the path of a request or into a selector, where slashes, dots and commas
    have a meaning.
    """
    return all(_NAME.fullmatch(name) for name in (wanted.namespace, wanted.name))


def object_path(wanted: ObjectId) -> str:
    """Return the path of an object at the API server."""
    return f"{_collection_path(wanted)}/{wanted.name}"


def object_target(wanted: ObjectId) -> WatchTarget:
    """Return the watch target of an object: its collection, narrowed to its name (rules W1, W17)."""
    return WatchTarget(path=_collection_path(wanted), field_selector=f"metadata.name={wanted.name}")


def holder_path(wanted: ObjectId) -> str:
    """Return the actor path of the holder of an object of the API server."""
    return f"objects/{_COLLECTIONS[wanted.kind]}/{wanted.namespace}/{wanted.name}"


def _collection_path(wanted: ObjectId) -> str:
    return f"/api/v1/namespaces/{wanted.namespace}/{_COLLECTIONS[wanted.kind]}"
