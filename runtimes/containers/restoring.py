"""How a pod is stopped of which nobody has the specification any more. Pure.

A manifest was removed, or a pod deleted, while no agent ran. Its containers say what it takes to stop them
well: their hooks before SIGTERM, and which of them are sidecars. Those of a kubelet do not say the latter.
"""

from __future__ import annotations

from typing import Any

from messages.pod_runtime import ContainerObserved
from messages.pods import JsonObject, Pod
from messages.units import Seconds
from runtimes.containers.contents import Contents
from runtimes.containers.shape import PodShape, bounded_grace, shape_of
from runtimes.containers.situation import newest_instances


def restored_shape(contents: Contents) -> PodShape | None:
    """Return what containers say of their pod's specification; None if they say nothing."""
    newest = newest_instances(contents)
    if all(one.stop_terms is None for one in newest.values()):
        return None
    places = {name: _sidecar(one) for name, one in newest.items()}
    sidecars = sorted((place, name) for name, place in places.items() if place is not None)
    spec: JsonObject = {
        "initContainers": [
            {**_container(newest[name]), "restartPolicy": "Always"} for _, name in sidecars
        ],
        "containers": [_container(one) for name, one in newest.items() if places[name] is None],
    }
    return shape_of(Pod.of({"spec": spec}))


def written_grace(contents: Contents) -> Seconds | None:
    """Return the grace of a pod, as its containers say it; None if they say nothing."""
    graces = (
        one.stop_terms.grace
        for each in contents
        for one in each.containers
        if one.stop_terms is not None and one.stop_terms.grace is not None
    )
    grace = next(graces, None)
    return None if grace is None else bounded_grace(grace)


def _sidecar(one: ContainerObserved) -> int | None:
    return one.stop_terms.sidecar if one.stop_terms is not None else None


def _container(one: ContainerObserved) -> JsonObject:
    container: dict[str, Any] = {"name": one.name, "image": one.image}
    if one.stop_terms is not None and one.stop_terms.pre_stop is not None:
        container["lifecycle"] = {"preStop": one.stop_terms.pre_stop}
        container["ports"] = [*one.stop_terms.ports]
    return container
