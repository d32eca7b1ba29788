"""Which manifest wins when several of one source describe the same name or UID. The same for every source.

A manifest loses as a whole: if its object loses its name, it does not keep its UID either. So the answer
depends on nothing but the order, also in chains (A and B share a name, B and C a UID). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


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
    owners: dict[str, str] = {}
    lost: dict[str, Conflict] = {}
    for manifest, thing in claims:
        wanted = [f"the name {thing.display_name}", f"the UID {thing.uid}"]
        taken = next((claim for claim in wanted if claim in owners), None)
        if taken is None:
            owners.update(dict.fromkeys(wanted, manifest))
        else:
            lost[manifest] = Conflict(winner=owners[taken], over=taken)
    return lost
