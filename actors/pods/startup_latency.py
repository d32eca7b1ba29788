"""How long API pods take from their creation until the API server shows that all their containers run.

That is the indicator by which people judge clusters. A kubelet counts it too, of pods that it saw before
they had begun. Static pods were not created at an API server. Knows no actors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from manifests.restart_rules import is_sidecar
from manifests.times import moment_of
from messages.pods import JsonObject, Pod, PodUid
from messages.statuses import SLI_BOUNDS, PodStatus, StartLatencies
from messages.units import Seconds, Timestamp
from stores.histograms import TimesCounter
from stores.statuses.shown import histories, init_containers


class StartupLatencies:
    """The pods that have not run yet, and the times of the others since the process began."""

    def __init__(self) -> None:
        self._awaited: dict[PodUid, None] = {}
        self._has_network = False
        """A pod with a network of its own has started. The first one shows how slow networks begin."""
        self._of_first = (TimesCounter(SLI_BOUNDS), TimesCounter(SLI_BOUNDS))
        self._of_others = (TimesCounter(SLI_BOUNDS), TimesCounter(SLI_BOUNDS))

    def note_shown(self, pod: Pod, status: PodStatus | None, now: Timestamp) -> None:
        """Take a pod as the API server shows it; ``status`` is what this node knows of it."""
        shown: JsonObject = pod.document.get("status") or {}
        if pod.is_terminal or pod.is_deleting:
            self.forget(pod.uid)
        elif not shown.get("startTime"):
            self._awaited[pod.uid] = None
        elif pod.uid in self._awaited and status is not None and _has_started(shown):
            self.forget(pod.uid)
            created = moment_of((pod.document.get("metadata") or {}).get("creationTimestamp"))
            if created is not None:
                self._count(pod, now - created, _spent_on_preparations(pod, status))

    def forget(self, uid: PodUid) -> None:
        """Forget a pod: it is gone, or will not be counted."""
        self._awaited.pop(uid, None)

    def described(self) -> StartLatencies:
        """Return what was counted."""
        first, others = self._of_first, self._of_others
        return StartLatencies(
            sli={"true": first[0].described(), "": others[0].described()},
            total={"true": first[1].described(), "": others[1].described()},
        )

    def _count(self, pod: Pod, took: float, prepared: Seconds) -> None:
        is_first = not self._has_network and not pod.document["spec"].get("hostNetwork")
        self._has_network |= is_first
        sli, total = self._of_first if is_first else self._of_others
        sli.note(took - prepared)
        total.note(took)


def _has_started(shown: JsonObject) -> bool:
    """Return whether each container of a shown status runs."""
    states: list[Mapping[str, Any]] = shown.get("containerStatuses") or []
    return bool(states) and all((each.get("state") or {}).get("running") for each in states)


def _spent_on_preparations(pod: Pod, status: PodStatus) -> Seconds:
    """Return how long images were pulled and init containers ran, which is nobody's slowness."""
    if status.observed is None:
        return Seconds(0.0)
    spent, seen = status.observed.pulling, histories(status.observed)
    for each in init_containers(pod):
        history = seen.get(each["name"])
        one = None if history is None else history.current
        if one is not None and not is_sidecar(each) and one.started_at and one.finished_at:
            spent = Seconds(spent + one.finished_at - one.started_at)
    return spent
