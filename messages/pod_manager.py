"""What PodManager hears and tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from messages.changes import PodChange
from messages.pods import FullName, Pod, PodUid, SourceName
from messages.port import Port
from messages.sources import SourceListed


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsAre:
    """The served pods of one source, complete.

    Told to a new subscriber, after the first listing of each source in a life of PodManager, and after the
    first listing that is not provisional. May repeat.

    A subscriber replaces what it knows of this source, and of no other: a missing pod is a removed pod only
    within its own source. It keeps one pod for each UID: a pod that it knew from another source belongs to
    this one from here on. After a crash of PodManager a pod that its source dropped stays in the list
    while another source, which has not listed yet, may still tell it.
    """

    source: SourceName
    pods: tuple[Pod, ...]
    is_provisional: bool = False
    """The source has not seen yet what it lists from. If a pod is missing that an earlier life of the agent
    knew, nothing may be done that cannot be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsChanged:
    """What one listing changed about the served pods; never empty.

    Told once, and in order. The changes come in the order REMOVE, ADD, UPDATE, DELETE, RECONCILE, each UID
    at most once. ``pod.source`` of a change may be another source: a listing can reveal a pod of another
    source, or give a pod by an UPDATE to another source that tells it too. At the first listing of a
    source, pods of other sources that are removed or change their source are told before its ``PodsAre``,
    and revealed pods after it.
    """

    source: SourceName
    """Whose listing it was."""
    changes: tuple[PodChange, ...]


PodFact: TypeAlias = PodsAre | PodsChanged


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe:
    """Subscribes to every ``PodFact``. A ``PodsAre`` for each source that has listed comes first.

    After a crash of PodManager it has the pods that were told last, until the source has listed again.

    The subscription outlives crashes on both sides. Repeating it gives the present state again, so a
    restarted subscriber repeats it.
    """

    subscriber: Port[PodFact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsubscribe:
    """Ends a subscription. Facts that are under way may still arrive. May repeat."""

    subscriber: Port[PodFact]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribePods:
    """Asks for everything that PodManager knows. Answered by one ``PodsDescribed``."""

    reply_to: Port[PodsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsDescribed:
    """Everything PodManager knows, at one moment.

    After a crash of PodManager the pods of each source are those of its last listing, until it has listed
    again. So a pod that is missing is missing because its source said so.
    """

    pods: tuple[Pod, ...]
    """Static and API pods, shadowed ones too; no mirrors (rule P10)."""
    mirrors: tuple[Pod, ...]
    static_to_mirror: Mapping[PodUid, PodUid | None]
    """UIDs of static pods, and of the mirrors that show them; None without a mirror (rule P18)."""
    shadowed: Mapping[PodUid, PodUid]
    """UIDs of pods that are not served, and of the pods that they wait behind."""
    listed: frozenset[SourceName]
    """Sources that have listed, in this life of PodManager or in an earlier one."""
    static_pods: int
    regular_pods: int
    ephemeral_containers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribePod:
    """Asks for the pod of a UID, or else of a full name. Answered by one ``PodDescribed``."""

    reply_to: Port[PodDescribed]
    uid: PodUid | None = None
    """A pod's or a mirror pod's."""
    full_name: FullName | None = None
    """A pod's: mirrors are found by the name of their pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDescribed:
    """A pod, and the mirror pod that shows it; each None when there is none."""

    pod: Pod | None = None
    mirror: Pod | None = None


PodManagerMessage: TypeAlias = SourceListed | Subscribe | Unsubscribe | DescribePods | DescribePod
