"""What ``fieldRef`` tells a container of its pod. Pure."""

from __future__ import annotations

import re
from typing import Final

from messages.pods import JsonObject, Pod
from runtimes.environment.errors import UnusableEnvironmentError
from runtimes.environment.situation import EnvironmentSituation

_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]", re.DOTALL)
_OLD_NAMES: Final = {"spec.host": "spec.nodeName"}
"""Fields that are still known by a name from before v1."""


def field_value(situation: EnvironmentSituation, reference: JsonObject) -> str:
    """Return the value of a field of the pod. Raises UnusableEnvironmentError."""
    version, path = reference.get("apiVersion") or "v1", str(reference.get("fieldPath") or "")
    if version != "v1":
        raise UnusableEnvironmentError(f"unsupported pod version: {version}")
    path = _OLD_NAMES.get(path, path)
    if path.startswith("status."):
        return _address(situation, path)
    return _of_pod(situation.pod, path)


def _of_pod(pod: Pod, path: str) -> str:
    spec: JsonObject = pod.document.get("spec") or {}
    match path:
        case "metadata.name":
            return pod.name
        case "metadata.namespace":
            return pod.namespace
        case "metadata.uid":
            return pod.uid
        case "spec.nodeName":
            return str(spec.get("nodeName") or "")
        case "spec.serviceAccountName":
            return str(spec.get("serviceAccountName") or "")
        case _:
            return _subscript(pod, path)


def _subscript(pod: Pod, path: str) -> str:
    found = _SUBSCRIPT.fullmatch(path)
    if found is None:
        raise UnusableEnvironmentError(f"field label not supported: {path}")
    values: JsonObject = (pod.document.get("metadata") or {}).get(found[1]) or {}
    return str(values.get(found[2], ""))


def _address(situation: EnvironmentSituation, path: str) -> str:
    match path:
        case "status.hostIP" | "status.hostIPs":
            addresses = situation.host_ips
        case "status.podIP" | "status.podIPs":
            addresses = _pod_ips(situation)
        case _:
            raise UnusableEnvironmentError(f"field label not supported: {path}")
    if addresses is None:
        raise UnusableEnvironmentError(f"field {path} is not known here")
    return ",".join(addresses if path.endswith("s") else addresses[:1])


def _pod_ips(situation: EnvironmentSituation) -> tuple[str, ...] | None:
    spec: JsonObject = situation.pod.document.get("spec") or {}
    in_host_network = not situation.pod_ips and spec.get("hostNetwork") is True
    addresses = situation.host_ips if in_host_network else situation.pod_ips
    return None if addresses is None else tuple(addresses)
