"""Which manifest wins when several of one source describe the same name or UID, and what is served of them.

Both are the same for every source. A manifest loses as a whole: if its object loses its name, it does not
keep its UID either. So the answer depends on nothing but the order, also in chains (A and B share a name, B
and C a UID). What is served has an order that does not depend on files. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from messages.changes import same_objects


class NamedObject(Protocol):
    """What a manifest describes: a pod, or another object with a name and a UID."""

    @property
    def uid(self) -> str:
        """Its UID: no other object has it."""
        ...

    @property
    def namespace(self) -> str:
        """The namespace of its name."""
        ...

    @property
    def name(self) -> str:
        """Its name in the namespace."""
        ...

    @property
    def display_name(self) -> str:
        """How people call it: no other object is called so."""
        ...


T = TypeVar("T", bound=NamedObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A manifest lost to another one."""

    winner: str
    over: str
    """What both describe, in words: ``the name default/web`` or ``the UID 4f1c``."""


def conflicts(claims: Iterable[tuple[str, NamedObject]]) -> Mapping[str, Conflict]:
    """Return the conflicts of the manifests that lose, by their manifest.

    ``claims`` holds each manifest with the object that it describes; earlier ones win. A manifest loses if an
    earlier one that did not lose itself describes an object of the same name, or of the same UID.
    """
    by_name: dict[str, str] = {}
    by_uid: dict[str, str] = {}
    lost: dict[str, Conflict] = {}
    for manifest, thing in claims:
        name, uid = thing.display_name, thing.uid
        if name in by_name:
            lost[manifest] = Conflict(winner=by_name[name], over=f"the name {name}")
        elif uid in by_uid:
            lost[manifest] = Conflict(winner=by_uid[uid], over=f"the UID {uid}")
        else:
            by_name[name] = by_uid[uid] = manifest
    return lost


def served(things: Iterable[T], before: tuple[T, ...] | None) -> tuple[T, ...]:
    """Return ``things`` by namespace and name; the tuple ``before`` if it holds the identical objects.

    So renaming a file, or changing the order of a list, changes nothing.
    """
    after = tuple(sorted(things, key=_place))
    return before if before is not None and same_objects(before, after) else after


def _place(thing: NamedObject) -> tuple[str, str, str]:
    return thing.namespace, thing.name, thing.display_name
