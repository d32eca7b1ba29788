"""Which pods of ``/pods`` somebody wants, and how much of each. Pure.

Ten thousand pods are 23 MB. A table of them needs a tenth of that, and most questions are about a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from messages.pods import JsonObject, Pod, PodUid
from messages.statuses import PodStatus
from messages.units import Timestamp
from server.json_answers import is_told
from server.pod_summary import is_well, phase_of, pod_summary

Statuses = Mapping[PodUid, PodStatus]

_METADATA: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")
_ANNOTATIONS: Final = ("kubernetes.io/config.source", "kubernetes.io/config.seen")
_STATUS: Final = ("phase", "reason", "startTime", "podIP", "qosClass")


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
