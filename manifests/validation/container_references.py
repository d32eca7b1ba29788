"""Whether the containers exist that fields of a pod refer to.

The API server takes a ``resourceFieldRef`` to a container that the pod does not have. The pod then waits
forever for a variable or a file that nobody can fill in.
"""

from __future__ import annotations

from collections.abc import Iterator

from manifests.places import Place

_CONTAINER_LISTS = ("initContainers", "containers")


def warn_of_missing_containers(spec: Place) -> None:
    """Warn of each ``containerName`` in ``spec`` that no container of it has."""
    names = {container.get("name") for container in _containers(spec)}
    for holder in _holders(spec):
        if reference := holder.child("resourceFieldRef"):
            # Without a name it means its own container. In a volume, that is refused elsewhere.
            name = reference.get("containerName")
            if name and name not in names:
                reference.warn("is the name of no container of the pod", "containerName")


def _containers(spec: Place) -> Iterator[Place]:
    for name in _CONTAINER_LISTS:
        yield from spec.each(name)


def _holders(spec: Place) -> Iterator[Place]:
    """Yield what can hold a ``resourceFieldRef``: variables and files of volumes."""
    for container in _containers(spec):
        for variable in container.each("env"):
            if source := variable.child("valueFrom"):
                yield source
    for volume in spec.each("volumes"):
        yield from _items(volume)
        if projected := volume.child("projected"):
            for source in projected.each("sources"):
                yield from _items(source)


def _items(holder: Place) -> Iterator[Place]:
    if downward := holder.child("downwardAPI"):
        yield from downward.each("items")
