"""Every pod that the node knows, by UID, by name, and with its mirror.

Knows nothing of where pods come from or what is done with them. One actor owns it, so it has no lock. Pods
are shared and immutable. The maps hold what the sources told, and nothing that can be derived: which
mirror shows which pod, and the choice among several mirrors, are made when they are asked for, so they
cannot go stale (quirks Q2 and Q4).

Several pods may claim one name. All of them are known by UID and listed. The oldest is found by name until
its source removes it, even if it is terminal or terminating; it shadows the others. If several sources tell
one UID, the oldest claim is the pod, and shadows the others too. A pod that has only to be ended
(``is_to_be_ended``) is shadowed by no name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from messages.pods import (
    API,
    CONFIG_HASH,
    CONFIG_MIRROR,
    FullName,
    JsonObject,
    Pod,
    PodUid,
    SourceName,
)
from stores.pods.claims import Claimants, Claims, Shadow


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCounts:
    """How many pods there are of each kind, including shadowed ones."""

    static_pods: int
    regular_pods: int
    ephemeral_containers: int
    """Those of all pods that are no mirrors."""


def is_to_be_ended(pod: Pod) -> bool:
    """Return whether ``pod`` waits at the API server for this node to end it, whoever has its name."""
    return pod.source == API and pod.is_deleting and not pod.is_mirror


def is_mirror_pod_of(mirror: Pod, pod: Pod) -> bool:
    """Return whether ``mirror`` shows exactly this version of ``pod`` (rule P21)."""
    return (
        mirror.is_mirror
        and mirror.full_name == pod.full_name
        and mirror.annotations[CONFIG_MIRROR] == pod.annotations.get(CONFIG_HASH, "")
    )


def _place(pod: Pod) -> tuple[str, str, bool]:
    return pod.namespace, pod.name, pod.is_mirror


def _spec(pod: Pod) -> JsonObject:
    return pod.document.get("spec") or {}


class PodIndex:
    """The pods and mirror pods of all sources. ``claims`` outlives restarts and says which was first."""

    def __init__(self, claims: Claims | None = None) -> None:
        self._claims = Claims() if claims is None else claims
        self._by_uid = Claimants[PodUid](identity=attrgetter("source"))
        # The holder of a UID is in one of these, and in the names beside it, never in both (Q5).
        self._pods: dict[PodUid, Pod] = {}
        self._mirrors: dict[PodUid, Pod] = {}
        self._pod_names = Claimants[FullName](identity=attrgetter("uid"))
        self._mirror_names = Claimants[FullName](identity=attrgetter("uid"))
        # Counted with each change, not when asked for: gauges are set after every batch.
        self._static_pods = 0
        self._ephemeral_containers = 0

    def add(self, pod: Pod) -> Turnover:
        """Index ``pod`` in place of the one that its source told under this UID before, if any."""
        before = self._by_uid.oldest(pod.uid)
        self._by_uid.put(pod.uid, pod, self._claims.record(pod))
        return self._settle(before, self._by_uid.oldest(pod.uid))

    def remove(self, pod: Pod) -> Turnover:
        """Forget what the source of ``pod`` told under its UID. Reads only these two fields."""
        before = self._by_uid.oldest(pod.uid)
        self._by_uid.drop(pod.uid, pod)
        self._claims.release(SourceName(pod.source), pod.uid)
        return self._settle(before, self._by_uid.oldest(pod.uid))

    def holder(self, uid: PodUid) -> Pod | None:
        """Return the pod or mirror pod that holds ``uid``: the oldest claim if several sources tell it."""
        return self._by_uid.oldest(uid)

    def get_by_full_name(self, full_name: FullName) -> Pod | None:
        """Return the holder of the name: its oldest claimant that is no mirror."""
        return self._pod_names.oldest(full_name)

    def mirror_of(self, pod: Pod) -> Pod | None:
        """Return the mirror of the pod's name, whether or not ``pod`` is known (rule P16).

        ``None`` for a shadowed pod: the mirror shows the pod that holds the name. If there are several
        mirrors, one that shows the holder as it is comes first, then any other that is not being deleted,
        then the oldest.
        """
        holder = self.get_by_full_name(pod.full_name)
        if holder is not None and holder.uid != pod.uid and pod.uid in self._pods:
            return None
        mirrors = self._mirror_names.all(pod.full_name)
        if len(mirrors) < 2:
            return mirrors[0] if mirrors else None
        return min(
            mirrors,
            key=lambda mirror: (
                mirror.is_deleting,
                holder is None or not is_mirror_pod_of(mirror, holder),
            ),
        )

    def pod_of_mirror(self, mirror: Pod) -> Pod | None:
        """Return the pod that holds the mirror's name; its UID does not matter (rule P15)."""
        return self.get_by_full_name(mirror.full_name)

    def pod_and_mirror(self, pod: Pod) -> PodAndMirror:
        """Return ``pod``, the identical object, with its mirror, or with its pod if it is a mirror."""
        if pod.is_mirror:
            return PodAndMirror(self.pod_of_mirror(pod), pod)
        return PodAndMirror(pod, self.mirror_of(pod))

    def pods(self) -> tuple[Pod, ...]:
        """Return every pod that is no mirror, shadowed ones too."""
        return tuple(self._pods.values())

    def mirrors(self) -> tuple[Pod, ...]:
        """Return every mirror pod, orphaned ones too."""
        return tuple(self._mirrors.values())

    def static_to_mirror(self) -> dict[PodUid, PodUid | None]:
        """Return the UID of every static pod with that of its mirror, ``None`` without one (rule P18)."""
        static = [pod for pod in self._pods.values() if pod.is_static]
        if not self._mirrors:
            return {pod.uid: None for pod in static}
        mirrors = ((pod, self.mirror_of(pod)) for pod in static)
        return {pod.uid: None if mirror is None else mirror.uid for pod, mirror in mirrors}

    def shadow_of(self, pod: Pod) -> Pod | None:
        """Return the pod that shadows ``pod``: the holder of its UID or of its name.

        ``None`` for a pod that is served, for a mirror that holds its UID, for a pod that holds its UID and
        has only to be ended, and for an unknown pod.
        """
        claimants = self._by_uid.all(pod.uid)
        if pod.source not in {claimant.source for claimant in claimants}:
            return None
        known = claimants[0]
        if known.source != pod.source:
            return known
        if known.is_mirror or is_to_be_ended(known):
            return None
        holder = self.get_by_full_name(known.full_name)
        return None if holder is known else holder

    def shadowed(self) -> tuple[Shadow, ...]:
        """Return every pod that another shadows by its UID or its name, and that other."""
        by_name = (each for each in self._pod_names.shadows() if not is_to_be_ended(each.pod))
        return (*self._by_uid.shadows(), *by_name)

    def counts(self) -> PodCounts:
        """Return how many pods there are of each kind, at no cost."""
        return PodCounts(
            static_pods=self._static_pods,
            regular_pods=len(self._pods) - self._static_pods,
            ephemeral_containers=self._ephemeral_containers,
        )

    def _settle(self, before: Pod | None, after: Pod | None) -> Turnover:
        """Bring names and counts in line with a UID's new holder, and return what that did."""
        if before is after:
            return Turnover((), ())
        moved = before is None or after is None or _place(before) != _place(after)
        names = [pod.full_name for pod in (before, after) if pod is not None] if moved else []
        served_before = self._holders(names)
        if before is not None:
            self._tally(before, -1)
            if moved:
                self._leave(before)
        if after is not None:
            self._tally(after, 1)
            self._enter(after)
        served_after = self._holders(names)
        return Turnover(
            tuple(pod for uid, pod in served_after.items() if uid not in served_before),
            tuple(pod for uid, pod in served_before.items() if uid not in served_after),
        )

    def _holders(self, names: Iterable[FullName]) -> dict[PodUid, Pod]:
        holders = (self.get_by_full_name(name) for name in names)
        return {pod.uid: pod for pod in holders if pod is not None}

    def _enter(self, pod: Pod) -> None:
        family, names = self._family(pod)
        family[pod.uid] = pod
        names.put(pod.full_name, pod, self._by_uid.age(pod.uid))

    def _leave(self, pod: Pod) -> None:
        family, names = self._family(pod)
        del family[pod.uid]
        names.drop(pod.full_name, pod)

    def _family(self, pod: Pod) -> tuple[dict[PodUid, Pod], Claimants[FullName]]:
        if pod.is_mirror:
            return self._mirrors, self._mirror_names
        return self._pods, self._pod_names

    def _tally(self, pod: Pod, sign: int) -> None:
        # Always called with the stored pod, not with the one passed in, so counts stay right (Q7).
        if not pod.is_mirror:
            self._static_pods += sign * pod.is_static
            ephemeral = _spec(pod).get("ephemeralContainers") or ()
            self._ephemeral_containers += sign * len(ephemeral)
