"""Who has a pod when several manifests of one source claim it. Pure, and the same for every source.

A claim is refused as a whole: the pod that loses its name does not hold on to its UID either. So the
answer depends on nothing but the order, and chains (A and B share a name, B and C a UID) end clearly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from actors.messages.pods import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTo:
    """A claim that lost: to which manifest, and over what."""

    winner: str
    over: str
    """As a sentence names it: ``the name default/web`` or ``the UID 4f1c``."""


def lost_claims(claims: Iterable[tuple[str, Pod]]) -> Mapping[str, LostTo]:
    """Return the claims that lose, by the name of their manifest, where the first claim comes first.

    ``claims`` holds the name of a manifest and its pod, the strongest first. A claim loses if a
    stronger one that did not lose itself has the same namespace and name, or the same UID.
    """
    owners: dict[str, str] = {}
    lost: dict[str, LostTo] = {}
    for manifest, pod in claims:
        wanted = [f"the name {pod.display_name}", f"the UID {pod.uid}"]
        taken = next((thing for thing in wanted if thing in owners), None)
        if taken is None:
            owners.update(dict.fromkeys(wanted, manifest))
        else:
            lost[manifest] = LostTo(winner=owners[taken], over=taken)
    return lost
