"""The status of a pod as the API has it, made when somebody asks for it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from manifests.qos import qos_class
from manifests.times import rfc3339
from messages.pods import JsonObject, Pod, PodPhase
from messages.statuses import PodCondition, PodStatus
from messages.units import Timestamp
from stores.statuses.conditions import OWNED, READY, VOLUMES_RELEASED
from stores.statuses.container_statuses import ContainerKind, StatusesRenderer
from stores.statuses.shown import (
    ephemeral_containers,
    init_containers,
    is_on_host_network,
)

_FORMATTED: Final = 4096
"""Moments that are kept as text: pods of one second share them."""


def render_status(pod: Pod, status: PodStatus) -> JsonObject:
    """Return ``status.`` of the API's form of ``pod``, as a kubelet writes it. Empty fields are left out."""
    rendered: dict[str, Any] = {"phase": status.phase.value}
    generation = (pod.document.get("metadata") or {}).get("generation")
    if generation:
        rendered["observedGeneration"] = generation
    rendered["conditions"] = [render_condition(each) for each in status.conditions]
    if status.reason:
        rendered["reason"] = status.reason
    if status.message:
        rendered["message"] = status.message
    if not is_refusal(status):
        rendered |= _addresses(pod, status)
    if status.start_time is not None:
        rendered["startTime"] = time_text(status.start_time)
    if not is_refusal(status):
        rendered |= _containers(pod, status)
    rendered["qosClass"] = _qos_class(pod)
    return rendered


def render_brief_status(pod: Pod, status: PodStatus) -> JsonObject:
    """Return what a table shows of the same: a third of it, in a third of the time."""
    rendered: dict[str, Any] = {"phase": status.phase.value}
    if status.reason:
        rendered["reason"] = status.reason
    if status.start_time is not None:
        rendered["startTime"] = time_text(status.start_time)
    rendered["conditions"] = [
        {"type": each.type, "status": each.status}
        for each in status.conditions
        if each.type in {READY, VOLUMES_RELEASED}
    ]
    if not is_refusal(status):
        if address := _addresses(pod, status).get("podIP"):
            rendered["podIP"] = address
        renderer = StatusesRenderer(pod, status, time_text)
        if init_containers(pod):
            rendered["initContainerStatuses"] = renderer.brief_statuses(ContainerKind.INIT)
        rendered["containerStatuses"] = renderer.brief_statuses(ContainerKind.REGULAR)
    rendered["qosClass"] = _qos_class(pod)
    return rendered


def _qos_class(pod: Pod) -> str:
    # The API server says it once and never changes it.
    told = (pod.document.get("status") or {}).get("qosClass")
    return told or qos_class(pod.document["spec"]).value


def with_status(pod: Pod, status: PodStatus | None) -> JsonObject:
    """Return the document of ``pod`` with this status, and with the conditions of others that it has."""
    if status is None:
        return pod.document
    before = pod.document.get("status") or {}
    rendered = render_status(pod, status)
    others = [each for each in before.get("conditions") or () if each.get("type") not in OWNED]
    shown = {**rendered, "conditions": [*rendered["conditions"], *others]} if others else rendered
    return {**pod.document, "status": shown}


def with_brief_status(pod: Pod, status: PodStatus | None) -> JsonObject:
    """Return the document of ``pod`` with what a table shows of this status."""
    if status is None:
        return pod.document
    return {**pod.document, "status": render_brief_status(pod, status)}


def is_refusal(status: PodStatus) -> bool:
    """Return whether the pod was never taken on: then it has a reason and nothing else (rule Y12)."""
    return status.observed is None and status.phase is PodPhase.FAILED and bool(status.reason)


def render_condition(condition: PodCondition) -> dict[str, Any]:
    """Return the API's form of a condition."""
    rendered: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "lastProbeTime": None,
        "lastTransitionTime": time_text(condition.since),
    }
    if condition.reason:
        rendered["reason"] = condition.reason
    if condition.message:
        rendered["message"] = condition.message
    return rendered


@lru_cache(maxsize=_FORMATTED)
def _second_text(second: int) -> str:
    return rfc3339(Timestamp(second))


def time_text(moment: Timestamp) -> str:
    """Return ``moment`` in whole seconds (rule V2)."""
    return _second_text(int(moment))


def _addresses(pod: Pod, status: PodStatus) -> Mapping[str, Any]:
    rendered: dict[str, Any] = {}
    if status.host_ips:
        rendered["hostIP"] = status.host_ips[0]
        rendered["hostIPs"] = [{"ip": each} for each in status.host_ips]
    sandbox = None if status.observed is None else status.observed.sandbox
    ips = () if sandbox is None else sandbox.ips
    if is_on_host_network(pod):
        ips = ips or status.host_ips  # also before there is a sandbox
    if ips:
        rendered["podIP"] = ips[0]
        rendered["podIPs"] = [{"ip": each} for each in ips]
    return rendered


def _containers(pod: Pod, status: PodStatus) -> Mapping[str, Any]:
    renderer = StatusesRenderer(pod, status, time_text)
    rendered: dict[str, Any] = {}
    if init_containers(pod):
        rendered["initContainerStatuses"] = renderer.statuses(ContainerKind.INIT)
    rendered["containerStatuses"] = renderer.statuses(ContainerKind.REGULAR)
    if ephemeral_containers(pod):
        rendered["ephemeralContainerStatuses"] = renderer.statuses(ContainerKind.EPHEMERAL)
    return rendered
