"""Who has a thing when several manifests of one source claim it. Pure, and the same for every source.

A claim is refused as a whole: the thing that loses its name does not hold on to its UID either. So the
answer depends on nothing but the order, and chains (A and B share a name, B and C a UID) end clearly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


class NamedObject(Protocol):
    """What a manifest describes: a pod, or something else that has a name and a UID of its own."""

    @property
    def uid(self) -> str:
        """Nothing else has it."""
        ...

    @property
    def namespace(self) -> str:
        """Where its name counts."""
        ...

    @property
    def name(self) -> str:
        """Its name there."""
        ...

    @property
    def display_name(self) -> str:
        """What it is called by people, and nothing else is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A claim that lost: to which manifest, and over what."""

    winner: str
    over: str
    """As a sentence names it: ``the name default/web`` or ``the UID 4f1c``."""


def conflicts(claims: Iterable[tuple[str, NamedObject]]) -> Mapping[str, Conflict]:
    """Return the claims that lose, by the name of their manifest, where the first claim comes first.

    ``claims`` holds the name of a manifest and what it describes, the strongest first. A claim loses if
    a stronger one that did not lose itself has the same name, or the same UID.
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
