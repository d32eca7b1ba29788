"""What ``PodIndex`` answers, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from messages.pods import FullName, Pod, PodUid


class Turnover(NamedTuple):
    """What one change did to the served pods: those that hold both their UID and their name.

    A pod in neither list was served before and after, or neither time. If the change removed a served pod
    and hides nothing, another source tells the same UID, and its version is served from then on.
    """

    revealed: tuple[Pod, ...]
    """Pods that are served from now on, including the added one."""
    hidden: tuple[Pod, ...]
    """Pods that are no longer served, as they were, including the removed one."""


class PodAndMirror(NamedTuple):
    """A pod and the mirror pod that shows it."""

    pod: Pod | None
    mirror: Pod | None
    was_mirror: bool
    """The pod that was asked about is the mirror."""


class PodsAndMirrors(NamedTuple):
    """All pods that are known at one moment."""

    pods: tuple[Pod, ...]
    mirrors: tuple[Pod, ...]
    orphaned_mirror_names: tuple[FullName, ...]


class UidTranslations(NamedTuple):
    """Between the UIDs of static pods and those of the mirror pods that show them."""

    static_to_mirror: dict[PodUid, PodUid | None]
    """Every static pod; ``None`` for one without a mirror."""
    mirror_to_static: dict[PodUid, PodUid]
    """Every mirror pod whose name some pod holds. Orphaned mirrors are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCounts:
    """How many pods there are of each kind, including shadowed ones."""

    static_pods: int
    regular_pods: int
    mirror_pods: int
    ephemeral_containers: int
    """Those of all pods that are no mirrors."""
