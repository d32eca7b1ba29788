"""How important a pod is: its priority, and its quality-of-service class. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from manifests.quantities import amount, is_quantity
from manifests.requests import CPU, MEMORY
from messages.pods import JsonObject, Pod

CRITICAL_PRIORITY: Final = 2_000_000_000
"""From here on a priority is one of the system's own."""


def priority_of(pod: Pod) -> int | None:
    """Return the pod's priority; None if it has none, which compares with no other."""
    priority: int | None = (pod.document.get("spec") or {}).get("priority")
    return priority


def is_critical(pod: Pod) -> bool:
    """Return whether the node must run the pod: it is static, a mirror, or the system's own."""
    return pod.is_static or pod.is_mirror or (priority_of(pod) or 0) >= CRITICAL_PRIORITY


class QosClass(StrEnum):
    """The classes, in the API's words."""

    GUARANTEED = "Guaranteed"
    """Each container has limits of cpu and memory, and requests just these."""
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"
    """Nothing of it requests or limits cpu or memory."""


def qos_class(spec: JsonObject) -> QosClass:
    """Return the class of a pod with its defaults, by which each limit is a request too.

    What it has as a whole counts in place of what its containers have.
    """
    pairs = [_amounts(resources) for resources in _resources(spec)]
    if not any(requests or limits for requests, limits in pairs):
        return QosClass.BEST_EFFORT
    fixed = all(limits.keys() == {CPU, MEMORY} and requests == limits for requests, limits in pairs)
    return QosClass.GUARANTEED if fixed else QosClass.BURSTABLE


def _resources(spec: JsonObject) -> Iterator[JsonObject]:
    whole = spec.get("resources") or {}
    if whole.get("requests") or whole.get("limits"):
        yield whole
        return
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            yield container.get("resources") or {}


def _amounts(resources: JsonObject) -> tuple[dict[str, object], dict[str, object]]:
    """Return requests and limits of cpu and memory that are more than 0."""
    return _positive(resources.get("requests") or {}), _positive(resources.get("limits") or {})


def _positive(quantities: Mapping[str, str]) -> dict[str, object]:
    return {
        name: amount(text)
        for name, text in quantities.items()
        if name in {CPU, MEMORY} and is_quantity(text) and amount(text) > 0
    }
