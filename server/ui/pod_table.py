"""The table of pods, and the document of one. Pure.

A status is rendered for the rows of one page alone: a node may have thousands of pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from manifests.references.pods import pod_references
from manifests.times import moment_of, rfc3339_milli
from messages.events import NotedEvent
from messages.pods import API, JsonObject, Pod, PodPhase, PodUid
from messages.statuses import PodStatus
from messages.units import Timestamp
from server.pod_questions import PodsBackground, case_of
from server.reasons.ends import LATELY
from server.reasons.judging import reasons
from server.ui.paging import PageAsked, PageFound, page_found
from stores.statuses.conditions import VOLUMES_RELEASED
from stores.statuses.rendering import with_status

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
        if (not chosen.phase or _phase(pod, statuses) == chosen.phase)
        and (not chosen.only_troubled or is_in_trouble(statuses.get(pod.uid), now))
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
            "restarts": lambda pod: _restarts(statuses.get(pod.uid)),
            "state": lambda pod: _words(pod, statuses),
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
        "phases": dict(Counter(_phase(pod, statuses) for pod in everything)),
        "troubled": sum(is_in_trouble(statuses.get(pod.uid), now) for pod in everything),
    }


def is_in_trouble(status: PodStatus | None, now: Timestamp) -> bool:
    """Return whether somebody should look at a pod: it failed, waits, is not ready, or crashed lately.

    Or its volumes cannot be taken away.
    """
    if status is None:
        return False
    if any(each.type == VOLUMES_RELEASED and each.status == "False" for each in status.conditions):
        return True
    if status.phase is PodPhase.SUCCEEDED:
        return False
    if status.phase is PodPhase.FAILED or status.reason:
        return True
    is_ready = any(each.type == "Ready" and each.status == "True" for each in status.conditions)
    return not is_ready or _has_failed_lately(status, now)


def _has_failed_lately(status: PodStatus, now: Timestamp) -> bool:
    """Return whether a container that runs again has failed before: it may do so again."""
    seen = status.observed.containers.values() if status.observed is not None else ()
    ends = (history.last for history in seen if history.last is not None)
    return any(end.exit_code and now - (end.finished_at or 0.0) < LATELY for end in ends)


def pod_row(
    pod: Pod, status: PodStatus | None, background: PodsBackground, now: Timestamp
) -> JsonObject:
    """Return what the table needs of a pod: of its specification only which containers it has."""
    document = with_status(pod, status)
    metadata = document.get("metadata") or {}
    events = background.events.get(pod.uid, ())
    is_troubled = is_in_trouble(status, now)
    found = reasons(case_of(pod, document, background), now) if is_troubled else ()
    return {
        "metadata": {name: metadata[name] for name in _SHOWN if name in metadata},
        "spec": {name: _named(document["spec"].get(name)) for name in _CONTAINERS},
        "source": pod.source or API,
        "status": document.get("status") or {},
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


def _restarts(status: PodStatus | None) -> int:
    if status is None or status.observed is None:
        return 0
    histories = status.observed.containers.values()
    newest = [history.current or history.last for history in histories]
    return sum(each.attempt for each in newest if each is not None)


def _phase(pod: Pod, statuses: Statuses) -> str:
    status = statuses.get(pod.uid)
    return pod.phase or PodPhase.PENDING.value if status is None else status.phase.value


def _words(pod: Pod, statuses: Statuses) -> str:
    """Return the words of a status by which its pod is found."""
    status = statuses.get(pod.uid)
    if status is None:
        return pod.phase
    seen = status.observed.containers.values() if status.observed is not None else ()
    waits = (history.wait.reason for history in seen if history.wait is not None)
    return " ".join((status.phase.value, status.reason, *waits))
