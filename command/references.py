"""Which Secrets and ConfigMaps a pod names, and where. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from command.reading import Document, flag, part, parts, text

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


class PlacedReference(NamedTuple):
    """One place of a pod that names an object."""

    kind: str
    name: str
    is_optional: bool
    place: str
    """Who needs it, in words: ``volume config``, ``container web``."""


def references(pod: Document) -> Iterator[PlacedReference]:
    """Yield what the pod names, in the order of its document."""
    for each in parts(pod, "spec", "imagePullSecrets"):
        yield PlacedReference(
            "Secret", text(each, "name"), is_optional=True, place="pulling images"
        )
    for volume in parts(pod, "spec", "volumes"):
        place = f"volume {text(volume, 'name')}"
        yield from _of_volume(volume, place)
        for source in parts(volume, "projected", "sources"):
            yield from _of_volume(source, place)
    for group in CONTAINERS:
        for container in parts(pod, "spec", group):
            yield from _of_container(container, f"container {text(container, 'name')}")


def _of_volume(volume: Document, place: str) -> Iterator[PlacedReference]:
    for field, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
        found = part(volume, field)
        name = text(found, "secretName") or text(found, "name")
        if name:
            yield PlacedReference(kind, name, flag(found, "optional"), place)


def _of_container(container: Document, place: str) -> Iterator[PlacedReference]:
    for field, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
        for each in parts(container, "envFrom"):
            if name := text(each, field, "name"):
                yield PlacedReference(kind, name, flag(each, field, "optional"), place)
    for field, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
        for each in parts(container, "env"):
            if name := text(each, "valueFrom", field, "name"):
                yield PlacedReference(kind, name, flag(each, "valueFrom", field, "optional"), place)
