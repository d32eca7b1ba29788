"""``/pods`` and ``/runningpods``. Pure.

``/pods`` is made in pieces: a status is rendered when its piece is written, and others get a turn in between.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from messages.pod_manager import PodsDescribed
from messages.pod_runtime import ContainerState, PodObserved, RuntimeDescribed, RuntimePod
from messages.pods import JsonObject, Pod, PodUid
from messages.statuses import PodStatus
from messages.units import Timestamp
from server.brief_pods import PodsAsked, brief_pod, chosen, in_namespace, summary
from stores.pods.index import is_mirror_pod_of
from stores.statuses.rendering import with_brief_status, with_status

PIECE: Final = 50
"""Pods of one piece: a few milliseconds."""
EVERYTHING: Final = PodsAsked()


def pod_list(
    described: PodsDescribed,
    statuses: Mapping[PodUid, PodStatus] | None,
    now: Timestamp,
    asked: PodsAsked = EVERYTHING,
) -> Iterator[str]:
    """Yield what ``/pods`` answers: a v1 PodList of static and API pods, without mirrors, as a kubelet's.

    Each pod has the status that the node gives it; one without has what its source says. While nobody knows
    the ``statuses``, each has what the API server shows: of a static pod, its mirror.
    """
    shows = _with_mirror(described) if statuses is None else _with_status(statuses)
    if asked.is_brief:
        shows = _in_brief(statuses or {}, shows, now)
    everything = in_namespace(described.pods, asked)
    pods = chosen(everything, statuses, asked, now)
    told = {"summary": summary(everything, statuses)} if asked.is_brief else {}
    head = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, **told}
    yield json.dumps(head)[:-1] + ', "items": ['
    for start in range(0, len(pods), PIECE):
        items = [shows(pod) for pod in pods[start : start + PIECE]]
        yield (", " if start else "") + json.dumps(items)[1:-1]
    yield "]}"


def _with_status(statuses: Mapping[PodUid, PodStatus]) -> Callable[[Pod], JsonObject]:
    return lambda pod: with_status(pod, statuses.get(pod.uid))


def _in_brief(
    statuses: Mapping[PodUid, PodStatus], shows: Callable[[Pod], JsonObject], now: Timestamp
) -> Callable[[Pod], JsonObject]:
    def shown(pod: Pod) -> JsonObject:
        status = statuses.get(pod.uid)
        document = shows(pod) if status is None else with_brief_status(pod, status)
        return brief_pod(pod, status, document, now)

    return shown


def _with_mirror(described: PodsDescribed) -> Callable[[Pod], JsonObject]:
    mirrors = {mirror.uid: mirror for mirror in described.mirrors}

    def shown(pod: Pod) -> JsonObject:
        uid = described.static_to_mirror.get(pod.uid)
        mirror = None if uid is None else mirrors.get(uid)
        if mirror is None or not is_mirror_pod_of(mirror, pod):
            return pod.document
        return {**pod.document, "status": mirror.document.get("status") or {}}

    return shown


def running_pods(
    described: RuntimeDescribed, statuses: Mapping[PodUid, PodStatus] | None
) -> dict[str, Any]:
    """Return what ``/runningpods`` answers: the pods that the runtime runs, wanted or not.

    While nobody knows the ``statuses``, no containers are named.
    """
    known = statuses or {}
    running = [pod for pod in described.pods if pod.is_running]
    return {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {},
        "items": [_running_pod(pod, known.get(pod.uid)) for pod in running],
    }


def _running_pod(pod: RuntimePod, status: PodStatus | None) -> Mapping[str, Any]:
    containers = [] if status is None or status.observed is None else _running(status.observed)
    return {
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "spec": {"containers": containers},
        "status": {},
    }


def _running(observed: PodObserved) -> list[Mapping[str, Any]]:
    newest = [history.current for _, history in sorted(observed.containers.items())]
    return [
        {"name": each.name, "image": each.image, "resources": {}}
        for each in newest
        if each is not None and each.state is ContainerState.RUNNING
    ]
