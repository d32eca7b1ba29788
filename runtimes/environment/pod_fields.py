"""What ``fieldRef`` tells a container of its pod. Pure."""

from __future__ import annotations

from typing import Final

from manifests.downward.metadata import metadata_value
from messages.pods import JsonObject, Pod
from runtimes.environment.errors import UnusableEnvironmentError
from runtimes.environment.situation import EnvironmentSituation

_OF_SPEC: Final = {
    "spec.nodeName": "nodeName",
    "spec.serviceAccountName": "serviceAccountName",
}
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
    if path in _OF_SPEC:
        spec: JsonObject = pod.document.get("spec") or {}
        return str(spec.get(_OF_SPEC[path]) or "")
    value = metadata_value(pod, path)
    if value is None:
        raise UnusableEnvironmentError(f"field label not supported: {path}")
    return value


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
