"""``/pods`` and ``/runningpods``: which pods somebody asks for, and how much of each. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from messages.pod_manager import PodsDescribed
from messages.pod_runtime import ContainerState, PodObserved, RuntimeDescribed, RuntimePod
from messages.pods import JsonObject, Pod, PodUid
from messages.statuses import PodStatus
from messages.units import Timestamp
from server.json_answers import is_told
from server.pod_summary import is_well, phase_of, pod_summary
from stores.pods.index import is_mirror_pod_of
from stores.statuses.rendering import with_brief_status, with_status

Statuses = Mapping[PodUid, PodStatus]

_METADATA: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")
_ANNOTATIONS: Final = ("kubernetes.io/config.source", "kubernetes.io/config.seen")
_STATUS: Final = ("phase", "reason", "startTime", "podIP", "qosClass")

PIECE: Final = 50
"""Pods of one piece: a few milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsAsked:
    """Which pods somebody wants, and how much of each."""

    is_brief: bool = False
    """In the order of names, and of each what a table shows."""
    namespace: str = ""
    name: str = ""
    """The UID of a pod, or the beginning of its name, with or without its namespace."""
    only_troubled: bool = False
    """Without those that are well."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> PodsAsked:
        """Return what ``query`` asks for."""
        return cls(
            is_brief=is_told(query, "brief"),
            namespace=query.get("namespace", ""),
            name=query.get("name", ""),
            only_troubled=is_told(query, "troubled"),
        )


def in_namespace(pods: Sequence[Pod], asked: PodsAsked) -> Sequence[Pod]:
    """Return the pods of the namespace; all of them if none is asked for."""
    if not asked.namespace:
        return pods
    return [pod for pod in pods if pod.namespace == asked.namespace]


def chosen(
    pods: Sequence[Pod], statuses: Statuses | None, asked: PodsAsked, now: Timestamp
) -> Sequence[Pod]:
    """Return those of ``pods`` that are asked for, in the order in which they are told."""
    found = pods
    if asked.name:
        found = [pod for pod in found if _may_be_meant(pod, asked.name)]
    if asked.only_troubled:
        known = statuses or {}
        found = [pod for pod in found if not is_well(pod, known.get(pod.uid), now)]
    return sorted(found, key=_place) if asked.is_brief else found


def _place(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"


def _may_be_meant(pod: Pod, name: str) -> bool:
    return pod.uid == name or pod.name.startswith(name) or _place(pod).startswith(name)


def summary(pods: Iterable[Pod], statuses: Statuses | None) -> JsonObject:
    """Return how many pods there are, in which phases, and on which node."""
    known, everything = statuses or {}, tuple(pods)
    phases = Counter(phase_of(pod, known.get(pod.uid)) for pod in everything)
    nodes = (pod.document["spec"].get("nodeName") for pod in everything)
    return {
        "pods": len(everything),
        "phases": phases,
        "nodeName": next(filter(None, nodes), ""),
    }


def brief_pod(
    pod: Pod, status: PodStatus | None, document: JsonObject, now: Timestamp
) -> JsonObject:
    """Return what a table shows of a pod. What a v1 Pod has too is where it has it.

    ``document`` is the pod with ``status`` in brief, or what is told of one without.
    """
    metadata, shown = document.get("metadata") or {}, document.get("status") or {}
    annotations = metadata.get("annotations") or {}
    told = {name: metadata[name] for name in _METADATA if name in metadata}
    if notes := {name: annotations[name] for name in _ANNOTATIONS if name in annotations}:
        told["annotations"] = notes
    return {
        "metadata": told,
        "spec": {"nodeName": (document.get("spec") or {}).get("nodeName", "")},
        "status": {name: shown[name] for name in _STATUS if name in shown},
        "summary": pod_summary(pod, status, document, now),
    }


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

    Before the ``statuses`` are known, no containers are named.
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
