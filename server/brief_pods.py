"""Which pods of ``/pods`` somebody wants, and how much of each. Pure.

Ten thousand pods are 23 MB. A table of them needs a tenth of that, and most questions are about a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from messages.pods import JsonObject, Pod, PodUid
from messages.statuses import PodStatus
from server.json_answers import is_told
from stores.statuses.conditions import VOLUMES_RELEASED
from stores.statuses.container_statuses import brief_state
from stores.statuses.rendering import render_brief_status

Statuses = Mapping[PodUid, PodStatus]

_METADATA: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")
_ANNOTATIONS: Final = ("kubernetes.io/config.source", "kubernetes.io/config.seen")
_STATUS: Final = ("phase", "reason", "startTime", "podIP", "qosClass")
_CONTAINER_STATUS: Final = ("name", "ready", "started", "restartCount")
_KINDS: Final = ("initContainerStatuses", "containerStatuses")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsAsked:
    """Which pods somebody wants, and how much of each."""

    is_brief: bool = False
    """In the order of names, and of each what a table shows."""
    namespace: str = ""
    name: str = ""
    """The UID of a pod, or the beginning of its name, with or without its namespace."""
    only_unready: bool = False
    """Without those that are ready, or have succeeded."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> PodsAsked:
        """Return what ``query`` asks for."""
        return cls(
            is_brief=is_told(query, "brief"),
            namespace=query.get("namespace", ""),
            name=query.get("name", ""),
            only_unready=is_told(query, "unready"),
        )


def in_namespace(pods: Sequence[Pod], asked: PodsAsked) -> Sequence[Pod]:
    """Return the pods of the namespace; all of them if none is asked for."""
    if not asked.namespace:
        return pods
    return [pod for pod in pods if pod.namespace == asked.namespace]


def chosen(pods: Sequence[Pod], statuses: Statuses | None, asked: PodsAsked) -> Sequence[Pod]:
    """Return those of ``pods`` that are asked for, in the order in which they are told."""
    found = pods
    if asked.name:
        found = [pod for pod in found if _may_be_meant(pod, asked.name)]
    if asked.only_unready:
        known = statuses or {}
        found = [pod for pod in found if not is_well(pod, known.get(pod.uid))]
    return sorted(found, key=_place) if asked.is_brief else found


def _place(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"


def _may_be_meant(pod: Pod, name: str) -> bool:
    return pod.uid == name or pod.name.startswith(name) or _place(pod).startswith(name)


def is_well(pod: Pod, status: PodStatus | None) -> bool:
    """Return whether nobody has to look at a pod: it is ready, or has succeeded, and nothing holds it."""
    if status is None:
        shown = pod.document.get("status") or {}
        conditions = [
            (each.get("type"), each.get("status")) for each in shown.get("conditions") or ()
        ]
    else:
        conditions = [(each.type, each.status) for each in status.conditions]
    is_held = (VOLUMES_RELEASED, "False") in conditions
    is_over = phase_of(pod, status) == "Succeeded"
    return not is_held and (is_over or ("Ready", "True") in conditions)


def phase_of(pod: Pod, status: PodStatus | None) -> str:
    """Return the phase that the node gives a pod; what its source says if the node says none."""
    if status is not None:
        return status.phase.value
    return str((pod.document.get("status") or {}).get("phase") or "")


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


def brief_pod(pod: Pod, status: PodStatus) -> JsonObject:
    """Return of a pod with this status what a table shows. What is told is where a v1 Pod has it."""
    return _with(pod.document, render_brief_status(pod, status))


def brief(document: JsonObject) -> JsonObject:
    """Return the same of a document that has its status."""
    return _with(document, _status(document.get("status") or {}))


def _with(document: JsonObject, status: JsonObject) -> JsonObject:
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    told = {name: metadata[name] for name in _METADATA if name in metadata}
    if notes := {name: annotations[name] for name in _ANNOTATIONS if name in annotations}:
        told["annotations"] = notes
    return {"metadata": told, "spec": _spec(spec), "status": status}


def _spec(spec: JsonObject) -> JsonObject:
    told: dict[str, Any] = {"nodeName": spec.get("nodeName", "")}
    if inits := spec.get("initContainers"):
        told["initContainers"] = [
            {"name": each["name"], "restartPolicy": each.get("restartPolicy", "")} for each in inits
        ]
    told["containers"] = [{"name": each["name"]} for each in spec.get("containers") or ()]
    return told


def _status(status: JsonObject) -> JsonObject:
    told = {name: status[name] for name in _STATUS if name in status}
    told["conditions"] = [
        {"type": "Ready", "status": each.get("status")}
        for each in status.get("conditions") or ()
        if each.get("type") == "Ready"
    ]
    for kind in _KINDS:
        if kind in status:
            told[kind] = [_container(each) for each in status[kind] or ()]
    return told


def _container(status: JsonObject) -> JsonObject:
    told = {name: status[name] for name in _CONTAINER_STATUS if name in status}
    for name in ("state", "lastState"):
        if state := status.get(name):
            told[name] = brief_state(state)
    return told
