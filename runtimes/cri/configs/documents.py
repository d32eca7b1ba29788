"""Reading what a pod's document says of the pod and of its containers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from manifests.restart_rules import is_sidecar
from messages.pods import JsonObject, Pod

_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


def spec_of(pod: Pod) -> JsonObject:
    """Return the specification of ``pod``."""
    return pod.document.get("spec") or {}


def metadata_of(pod: Pod) -> JsonObject:
    """Return the metadata of ``pod``."""
    return pod.document.get("metadata") or {}


def security_of(holder: JsonObject) -> JsonObject:
    """Return the security context of a pod's specification, or of a container."""
    return holder.get("securityContext") or {}


def volumes_by_name(pod: Pod) -> Mapping[str, JsonObject]:
    """Return the volumes of the specification of ``pod``."""
    return {each.get("name") or "": each for each in spec_of(pod).get("volumes") or ()}


def all_containers(spec: JsonObject) -> Iterator[JsonObject]:
    """Yield all containers of a pod, of every kind."""
    for name in _LISTS:
        yield from spec.get(name) or ()


def lasting_containers(spec: JsonObject) -> Iterator[JsonObject]:
    """Yield the regular containers and the sidecars: those whose ports count."""
    yield from filter(is_sidecar, spec.get("initContainers") or ())
    yield from spec.get("containers") or ()


def effective(pod: Pod, container: JsonObject, name: str) -> Any:
    """Return a field of the security context that a container has, or else its pod; None if neither has."""
    own = security_of(container).get(name)
    return own if own is not None else security_of(spec_of(pod)).get(name)
