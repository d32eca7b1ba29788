"""The resources of a pod's containers: read from one version of it, and set in another. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from messages.pods import JsonObject, Pod

ContainerResources: TypeAlias = Mapping[str, JsonObject]
"""What containers request and may use at most, by their names; empty for one that says nothing."""

_LISTS: Final = ("initContainers", "containers")


def resources_of(pod: Pod) -> dict[str, JsonObject]:
    """Return the resources of each container that can have any."""
    spec = pod.document.get("spec") or {}
    return {each["name"]: each.get("resources") or {} for each in _containers(spec)}


def with_resources(pod: Pod, resources: ContainerResources) -> Pod:
    """Return ``pod`` with these resources. A container that they do not name keeps its own."""
    spec = pod.document["spec"]
    changed = {
        name: [_with(each, resources) for each in spec[name]] for name in _LISTS if spec.get(name)
    }
    return Pod.of({**pod.document, "spec": {**spec, **changed}})


def _with(container: JsonObject, resources: ContainerResources) -> JsonObject:
    return {
        **container,
        "resources": resources.get(container["name"], container.get("resources") or {}),
    }


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    for name in _LISTS:
        yield from spec.get(name) or ()
