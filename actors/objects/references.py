"""Which Secrets and ConfigMaps a pod names (rules R1 to R7), found by one walk over its JSON.

The names are ones in the pod's own namespace. What a pod needs by detours is none of it (rule R4): the
Secrets of its persistent volumes and service accounts, and tokens that are made for it. Lenient: fields
of a wrong type name nothing. Whether an object of such a name can exist is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from actors.messages.objects import ObjectKind
from actors.messages.pods import JsonObject

Path: TypeAlias = tuple[str | int, ...]
"""Steps from the top of the pod's JSON: field names and list indices."""


class Use(StrEnum):
    """What a pod needs an object for."""

    ENV = "env"
    """Variables of a container, which are read when it starts."""
    VOLUME = "volume"
    """Files of a volume, or what a volume is mounted with."""
    PULL = "pull"
    """Pulling images. A container that runs has no use for it any more."""


class PodReference(NamedTuple):
    """The field at ``path`` names an object."""

    kind: ObjectKind
    name: str
    use: Use
    path: Path


_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

_ENV_FROM = {"secretRef": ObjectKind.SECRET, "configMapRef": ObjectKind.CONFIG_MAP}
_VALUE_FROM = {"secretKeyRef": ObjectKind.SECRET, "configMapKeyRef": ObjectKind.CONFIG_MAP}
_PROJECTIONS = {"secret": ObjectKind.SECRET, "configMap": ObjectKind.CONFIG_MAP}

_NAMING_VOLUMES = {
    "azureFile": (ObjectKind.SECRET, "secretName"),
    "configMap": (ObjectKind.CONFIG_MAP, "name"),
    "secret": (ObjectKind.SECRET, "secretName"),
}
"""Kinds of volume that name an object themselves: what it is, and the field that does."""

_MOUNT_SECRETS = {
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "csi": "nodePublishSecretRef",
    "flexVolume": "secretRef",
    "iscsi": "secretRef",
    "rbd": "secretRef",
    "scaleIO": "secretRef",
    "storageos": "secretRef",
}
"""Kinds of volume that are mounted with a Secret, which an object of their own names: its field."""

_VOLUME_KINDS = tuple(sorted({*_NAMING_VOLUMES, *_MOUNT_SECRETS, "projected"}))
"""Of a volume that is of several kinds, which no API server accepts, the first of these counts: the
first in the alphabet (rule R7)."""


class _Place(NamedTuple):
    """A JSON object and where it stands. What is absent, or of a wrong type, is an empty one."""

    value: JsonObject
    path: Path

    def child(self, name: str) -> _Place:
        value = self.value.get(name)
        return _Place(value if isinstance(value, Mapping) else {}, (*self.path, name))

    def each(self, name: str) -> Iterator[_Place]:
        values = self.value.get(name)
        for index, value in enumerate(values if isinstance(values, list | tuple) else ()):
            if isinstance(value, Mapping):
                yield _Place(value, (*self.path, name, index))

    def named(self, kind: ObjectKind, use: Use, field: str = "name") -> Iterator[PodReference]:
        """Yield the reference in ``field``: an empty name is none."""
        name = self.value.get(field)
        if name and isinstance(name, str):
            yield PodReference(kind, name, use, (*self.path, field))

    def refer(self, fields: Mapping[str, ObjectKind], use: Use) -> Iterator[PodReference]:
        """Yield the references that those of the ``fields`` hold which are there."""
        for field, kind in fields.items():
            if field in self.value:
                yield from self.child(field).named(kind, use)


def pod_references(document: JsonObject) -> Iterator[PodReference]:
    """Yield every field of the pod's JSON that names a Secret or a ConfigMap. Never raises.

    Always in one order: pull secrets; the containers that run first, the others, the ephemeral ones, each
    with its ``envFrom`` before its ``env``; the volumes. An object that is named twice comes twice.
    """
    spec = _Place(document, ()).child("spec")
    for secret in spec.each("imagePullSecrets"):
        yield from secret.named(ObjectKind.SECRET, Use.PULL)
    for containers in _CONTAINER_LISTS:
        for container in spec.each(containers):
            yield from _in_container(container)
    for volume in spec.each("volumes"):
        yield from _in_volume(volume)


def _in_container(container: _Place) -> Iterator[PodReference]:
    for origin in container.each("envFrom"):
        yield from origin.refer(_ENV_FROM, Use.ENV)
    for variable in container.each("env"):
        yield from variable.child("valueFrom").refer(_VALUE_FROM, Use.ENV)


def _in_volume(volume: _Place) -> Iterator[PodReference]:
    for kind in _VOLUME_KINDS:
        if isinstance(volume.value.get(kind), Mapping):
            return _in_source(kind, volume.child(kind))
    return iter(())


def _in_source(volume_kind: str, source: _Place) -> Iterator[PodReference]:
    if volume_kind == "projected":
        yield from _in_projections(source)
    elif volume_kind in _MOUNT_SECRETS:
        secret = source.child(_MOUNT_SECRETS[volume_kind])
        yield from secret.named(ObjectKind.SECRET, Use.VOLUME)
    else:
        kind, field = _NAMING_VOLUMES[volume_kind]
        yield from source.named(kind, Use.VOLUME, field)


def _in_projections(projected: _Place) -> Iterator[PodReference]:
    for source in projected.each("sources"):
        yield from source.refer(_PROJECTIONS, Use.VOLUME)
