"""The table of pods, and the document of one. Pure.

A status is rendered for the rows of one page alone: a node may have thousands of pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from manifests.references import pod_references
from manifests.times import moment_of, rfc3339_milli
from messages.events import NotedEvent
from messages.pods import API, JsonObject, Pod, PodPhase, PodUid
from messages.statuses import PodStatus
from messages.units import Timestamp
from server.pod_questions import PodsBackground, case_of
from server.pod_summary import is_well, phase_of, pod_summary
from server.reasons.judging import reasons
from server.ui.paging import PageAsked, PageFound, page_found
from stores.statuses.rendering import with_brief_status, with_status

Statuses = Mapping[PodUid, PodStatus]

ORDERS: Final = ("age", "restarts", "state", "source")
"""By what pods can be sorted beside their names. Numbers grow, the youngest pod is the first."""
_CONTAINERS: Final = ("initContainers", "containers")
_SHOWN: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsChosen:
    """Which pods somebody wants to see, beside those that a search finds."""

    phase: str = ""
    only_troubled: bool = False
    """Only those that do not run as they should."""
    uses: str = ""
    """``KIND/NAMESPACE/NAME``: only pods that refer to that object."""


def pods_found(
    pods: Iterable[Pod],
    statuses: Statuses,
    asked: PageAsked,
    now: Timestamp,
    chosen: PodsChosen,
) -> PageFound[Pod]:
    """Return a page of the pods that are ``chosen``."""
    rows = [
        pod
        for pod in pods
        if (not chosen.phase or phase_of(pod, statuses.get(pod.uid)) == chosen.phase)
        and not (chosen.only_troubled and is_well(pod, statuses.get(pod.uid), now))
        and (not chosen.uses or _uses(pod, chosen.uses))
    ]
    return page_found(
        rows,
        asked,
        key=pod_key,
        text=lambda pod: (
            f"{pod.namespace}/{pod.name} {pod.uid} {pod.source} {_words(pod, statuses)}"
        ),
        orders={
            "age": lambda pod: _beginning(pod, statuses.get(pod.uid)),
            "restarts": lambda pod: _restarts(pod, statuses.get(pod.uid), now),
            "state": lambda pod: _state(pod, statuses.get(pod.uid), now),
            "source": lambda pod: pod.source,
        },
    )


def pod_key(pod: Pod) -> str:
    """Return by what pods are in order, and each page follows the one before."""
    return f"{pod.namespace}/{pod.name}/{pod.uid}"


def pod_counts(pods: Iterable[Pod], statuses: Statuses, now: Timestamp) -> JsonObject:
    """Return how many pods there are, by phase, and how many of them somebody should look at."""
    everything = list(pods)
    return {
        "total": len(everything),
        "phases": dict(Counter(phase_of(pod, statuses.get(pod.uid)) for pod in everything)),
        "troubled": sum(not is_well(pod, statuses.get(pod.uid), now) for pod in everything),
    }


def pod_row(
    pod: Pod, status: PodStatus | None, background: PodsBackground, now: Timestamp
) -> JsonObject:
    """Return what the table needs of a pod: of its specification only which containers it has."""
    document = with_status(pod, status)
    metadata = document.get("metadata") or {}
    events = background.events.get(pod.uid, ())
    summary = pod_summary(pod, status, document, now)
    found = () if summary["isWell"] else reasons(case_of(pod, document, background), now)
    return {
        "metadata": {name: metadata[name] for name in _SHOWN if name in metadata},
        "spec": {name: _named(document["spec"].get(name)) for name in _CONTAINERS},
        "source": pod.source or API,
        "status": document.get("status") or {},
        "summary": summary,
        "why": [each.document() for each in found],
        "lastEvent": _event(events[-1]) if events else None,
    }


def _event(noted: NotedEvent) -> JsonObject:
    return {
        "at": rfc3339_milli(noted.last),
        "reason": noted.reason,
        "message": noted.message,
        "type": noted.type.value,
        "count": noted.times,
    }


def _named(containers: object) -> list[JsonObject]:
    found = containers if isinstance(containers, list) else []
    return [
        {name: each[name] for name in ("name", "restartPolicy") if name in each} for each in found
    ]


def _uses(pod: Pod, name: str) -> bool:
    kind, _, rest = name.partition("/")
    namespace, _, named = rest.partition("/")
    return pod.namespace == namespace and any(
        each.kind == kind and each.name == named for each in pod_references(pod.document)
    )


def _beginning(pod: Pod, status: PodStatus | None) -> float:
    """Return the time from which the pod's age counts, negative so that the youngest is the first."""
    metadata = pod.document.get("metadata") or {}
    made = moment_of(metadata.get("creationTimestamp"))
    if made is None and status is not None:
        made = status.start_time
    return -(made or 0.0)


def _restarts(pod: Pod, status: PodStatus | None, now: Timestamp) -> int:
    """Return the restarts of a pod, by which the table is sorted. Few pods have any."""
    seen = status.observed.containers.values() if status and status.observed else ()
    newest = (history.current or history.last for history in seen)
    if status is None or not any(each and each.attempt for each in newest):
        return 0
    return int(_summary(pod, status, now)["restarts"])


def _state(pod: Pod, status: PodStatus | None, now: Timestamp) -> str:
    """Return the state of a pod, by which the table is sorted. That of most pods follows from their phase."""
    phase = phase_of(pod, status)
    is_plain = phase == PodPhase.RUNNING.value and is_well(pod, status, now)
    is_deleted = "deletionTimestamp" in (pod.document.get("metadata") or {})
    return phase if is_plain and not is_deleted else str(_summary(pod, status, now)["state"])


def _summary(pod: Pod, status: PodStatus | None, now: Timestamp) -> JsonObject:
    return pod_summary(pod, status, with_brief_status(pod, status), now)


def _words(pod: Pod, statuses: Statuses) -> str:
    """Return the words of a status by which a search finds its pod."""
    status = statuses.get(pod.uid)
    if status is None:
        return pod.phase
    seen = status.observed.containers.values() if status.observed is not None else ()
    waits = (history.wait.reason for history in seen if history.wait is not None)
    return " ".join((status.phase.value, status.reason, *waits))
