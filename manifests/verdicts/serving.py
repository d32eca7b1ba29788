"""What is served of the manifests of one source: objects in an order that does not depend on their files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from manifests.verdicts.conflicts import NamedObject
from messages.snapshots import same_objects

T = TypeVar("T", bound=NamedObject)


def served(things: Iterable[T], before: tuple[T, ...] | None) -> tuple[T, ...]:
    """Return ``things`` by namespace and name; the tuple ``before`` if it holds the identical objects.

    So renaming a file, or changing the order of a list, changes nothing.
    """
    after = tuple(sorted(things, key=_place))
    return before if before is not None and same_objects(before, after) else after


def _place(thing: NamedObject) -> tuple[str, str, str]:
    return thing.namespace, thing.name, thing.display_name
