"""``/pods`` and ``/runningpods``. Pure.

``/pods`` is made in pieces: a status is rendered when its piece is written, and others get a turn in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from messages.pod_manager import PodsDescribed
from messages.pod_runtime import ContainerState, PodObserved, RuntimeDescribed, RuntimePod
from messages.pods import PodUid
from messages.statuses import PodStatus
from stores.statuses.rendering import with_status

PIECE: Final = 50
"""Pods of one piece: a few milliseconds."""


def pod_list(described: PodsDescribed, statuses: Mapping[PodUid, PodStatus]) -> Iterator[str]:
    """Yield what ``/pods`` answers: a v1 PodList of static and API pods, without mirrors, as a kubelet's.

    Each pod has the status that the node gives it; one without has what its source says.
    """
    yield '{"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": ['
    pods = described.pods
    for start in range(0, len(pods), PIECE):
        shown = [with_status(pod, statuses.get(pod.uid)) for pod in pods[start : start + PIECE]]
        yield (", " if start else "") + json.dumps(shown)[1:-1]
    yield "]}"


def running_pods(
    described: RuntimeDescribed, statuses: Mapping[PodUid, PodStatus]
) -> dict[str, Any]:
    """Return what ``/runningpods`` answers: the pods that the runtime runs, wanted or not."""
    running = [pod for pod in described.pods if pod.is_running]
    return {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {},
        "items": [_running_pod(pod, statuses.get(pod.uid)) for pod in running],
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
