"""The table of pods, and the document of one. Pure.

A status is rendered for the rows of one page alone: a node may have thousands of pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from messages.pods import API, JsonObject, Pod, PodPhase, PodUid
from messages.statuses import PodStatus
from messages.units import Seconds, Timestamp
from server.ui.paging import PageAsked, page_of
from stores.statuses.rendering import with_status

Statuses = Mapping[PodUid, PodStatus]

LATELY: Final = Seconds(600.0)
"""So long a crash counts in the back-off of the next one."""
_SHOWN: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")


def pods_page(
    pods: Iterable[Pod],
    statuses: Statuses,
    asked: PageAsked,
    now: Timestamp,
    *,
    phase: str,
    only_troubled: bool,
) -> dict[str, Any]:
    """Return a page of pods. ``only_troubled`` are those that do not run as they should."""
    rows = [
        pod
        for pod in pods
        if (not phase or _phase(pod, statuses) == phase)
        and (not only_troubled or is_in_trouble(statuses.get(pod.uid), now))
    ]
    return page_of(
        "pods",
        rows,
        asked,
        key=lambda pod: f"{pod.namespace}/{pod.name}/{pod.uid}",
        text=lambda pod: (
            f"{pod.namespace}/{pod.name} {pod.uid} {pod.source} {_words(pod, statuses)}"
        ),
        shown=lambda pod: pod_row(pod, statuses.get(pod.uid)),
    )


def is_in_trouble(status: PodStatus | None, now: Timestamp) -> bool:
    """Return whether somebody should look at a pod: it failed, waits, is not ready, or crashed lately."""
    if status is None or status.phase is PodPhase.SUCCEEDED:
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


def pod_row(pod: Pod, status: PodStatus | None) -> JsonObject:
    """Return what the table needs of a pod's document: nothing of its specification."""
    document = with_status(pod, status)
    metadata = document.get("metadata") or {}
    return {
        "metadata": {name: metadata[name] for name in _SHOWN if name in metadata},
        "source": pod.source or API,
        "status": document.get("status") or {},
    }


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
