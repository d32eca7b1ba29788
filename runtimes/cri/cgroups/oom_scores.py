"""Whom the kernel kills first when memory runs out: ``oom_score_adj`` of containers. Pure.

From -1000 for never to 1000 for first.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from manifests.priorities import is_critical
from manifests.qos import QosClass, qos_class
from manifests.requests import MEMORY, container_requests, units
from manifests.restart_rules import is_sidecar
from messages.pods import JsonObject, Pod
from runtimes.cri.cgroups.amounts import amounts_in

GUARANTEED_SCORE: Final = -997
BEST_EFFORT_SCORE: Final = 1000
_LEAST_BURSTABLE: Final = 1000 + GUARANTEED_SCORE
_MOST_BURSTABLE: Final = BEST_EFFORT_SCORE - 1
_NODE_CRITICAL: Final = "system-node-critical"
_NOTHING: Final = Fraction(0)


def oom_score(pod: Pod, container: JsonObject, capacity: int) -> int:
    """Return the score of a container on a node with ``capacity`` bytes of memory.

    The more of the memory a burstable container requests, the later it is killed. Of a pod's own request each
    container counts an equal part of what its containers do not request. A sidecar is killed no earlier
    than the regular container that requests the least.
    """
    spec = pod.document.get("spec") or {}
    qos = qos_class(spec)
    if qos is QosClass.GUARANTEED or is_node_critical(pod):
        return GUARANTEED_SCORE
    if qos is QosClass.BEST_EFFORT:
        return BEST_EFFORT_SCORE
    requested = _memory_request(container)
    regular = [_memory_request(each) for each in spec.get("containers") or ()]
    if is_sidecar(container) and regular:
        requested = max(requested, min(regular))
    share = 1000 * (requested + _part_of_pod(spec)) // max(capacity, 1)
    return min(max(1000 - share, _LEAST_BURSTABLE), _MOST_BURSTABLE)


def is_node_critical(pod: Pod) -> bool:
    """Return whether the node itself is no use without the pod.

    Its class must say so, and it must be static, a mirror, or of a priority that only the system has.
    """
    spec = pod.document.get("spec") or {}
    return spec.get("priorityClassName") == _NODE_CRITICAL and is_critical(pod)


def _part_of_pod(spec: JsonObject) -> int:
    """Return what each container gets of the memory that the pod requests beyond its containers."""
    whole = amounts_in((spec.get("resources") or {}).get("requests")).get(MEMORY, 0)
    if not whole:
        return 0
    count = len(spec.get("containers") or ()) + len(spec.get("initContainers") or ())
    requested = units(MEMORY, container_requests(spec).get(MEMORY, _NOTHING))
    return max(0, whole - requested) // max(count, 1)


def _memory_request(container: JsonObject) -> int:
    return amounts_in((container.get("resources") or {}).get("requests")).get(MEMORY, 0)
