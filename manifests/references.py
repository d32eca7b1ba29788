"""Which Secrets and ConfigMaps a pod references (rules R1 to R7), found by one walk over its JSON.

The names are in the pod's own namespace, at the API server or, for a static pod, in local files. Objects that
a pod needs indirectly are left out (rule R4): the Secrets of its persistent volumes and service accounts, and
tokens that are made for it. Fields of a wrong type name nothing. Whether an object can have such a name is
not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from messages.objects import ObjectId, ObjectKind, Origin
from messages.pods import CONTAINER_LISTS, JsonObject, Pod


def origin_of(pod: Pod) -> Origin:
    """Return where the objects of ``pod`` are read from."""
    return Origin.LOCAL if pod.is_static else Origin.API


def object_of(pod: Pod, kind: ObjectKind, name: str) -> ObjectId:
    """Return the object of that name in the pod's namespace."""
    return ObjectId(kind=kind, namespace=pod.namespace, name=name, origin=origin_of(pod))


Path: TypeAlias = tuple[str | int, ...]
"""Steps from the top of the pod's JSON: field names and list indices."""


class Use(StrEnum):
    """What a pod needs an object for."""

    START = "start"
    """Variables of a container. They stay as they were when it was started."""
    PART = "part"
    """Files that a container mounts by a path in their volume. They stay as they were when it was started."""
    VOLUME = "volume"
    """Files of a volume, which change while the pod runs."""
    MOUNT = "mount"
    """Mounting a volume. Its files hold nothing of the object, and a mounted volume stays mounted."""
    PULL = "pull"
    """Pulling images. A container that runs does not need it any more."""


class PodReference(NamedTuple):
    """The field at ``path`` names an object."""

    kind: ObjectKind
    name: str
    use: Use
    path: Path
    is_optional: bool = False
    """Whether the pod starts without the object, too."""


_ENV_FROM = {"secretRef": ObjectKind.SECRET, "configMapRef": ObjectKind.CONFIG_MAP}
_VALUE_FROM = {"secretKeyRef": ObjectKind.SECRET, "configMapKeyRef": ObjectKind.CONFIG_MAP}
_PROJECTIONS = {"secret": ObjectKind.SECRET, "configMap": ObjectKind.CONFIG_MAP}

_FILE_VOLUMES = {
    "configMap": (ObjectKind.CONFIG_MAP, "name"),
    "secret": (ObjectKind.SECRET, "secretName"),
}
"""Kinds of volume whose files come from an object: its kind, and the field that names it."""

_MOUNT_SECRETS = {
    "azureFile": ("secretName",),
    "cephfs": ("secretRef", "name"),
    "cinder": ("secretRef", "name"),
    "csi": ("nodePublishSecretRef", "name"),
    "flexVolume": ("secretRef", "name"),
    "iscsi": ("secretRef", "name"),
    "rbd": ("secretRef", "name"),
    "scaleIO": ("secretRef", "name"),
    "storageos": ("secretRef", "name"),
}
"""Kinds of volume that are mounted with a Secret: the steps to the field that names it."""

_VOLUME_KINDS = tuple(sorted({*_FILE_VOLUMES, *_MOUNT_SECRETS, "projected"}))
"""If a volume is of several kinds, which no API server accepts, the first of these counts: the first in the
alphabet (rule R7)."""


class _Place(NamedTuple):
    """A JSON object and its path. One that is absent, or of a wrong type, is empty."""

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
        """Yield the reference in ``field``; none for an empty name."""
        name = self.value.get(field)
        if name and isinstance(name, str):
            is_optional = self.value.get("optional") is True
            yield PodReference(kind, name, use, (*self.path, field), is_optional)

    def refer(self, fields: Mapping[str, ObjectKind], use: Use) -> Iterator[PodReference]:
        """Yield the references in those of the ``fields`` that are there."""
        for field, kind in fields.items():
            if field in self.value:
                yield from self.child(field).named(kind, use)


def pod_references(document: JsonObject) -> Iterator[PodReference]:
    """Yield every field of the pod's JSON that names a Secret or a ConfigMap. Never raises.

    The order is always the same: pull secrets; init containers, containers and ephemeral ones, each with its
    ``envFrom`` before its ``env``; volumes. An object that is named twice comes twice.
    """
    spec = _Place(document, ()).child("spec")
    return _references(spec) if _may_refer(spec.value) else iter(())


def volume_references(volume: JsonObject) -> Iterator[PodReference]:
    """Yield every field of one volume that names an object whose files it shows. Never raises."""
    found = _in_volume(_Place(volume, ()), Use.VOLUME)
    return (each for each in found if each.use is Use.VOLUME)


def container_references(container: JsonObject) -> Iterator[PodReference]:
    """Yield every field of one container that names an object that variables are set from. Never raises."""
    return _in_container(_Place(container, ()))


def _may_refer(spec: JsonObject) -> bool:
    """Return whether there is a field that may name an object: most pods of a mass start have none."""
    if spec.get("imagePullSecrets") or spec.get("volumes"):
        return True
    lists = (spec.get(name) or () for name in CONTAINER_LISTS)
    return any(
        isinstance(container, Mapping) and ("env" in container or "envFrom" in container)
        for containers in lists
        if isinstance(containers, list | tuple)
        for container in containers
    )


def _references(spec: _Place) -> Iterator[PodReference]:
    for secret in spec.each("imagePullSecrets"):
        yield from secret.named(ObjectKind.SECRET, Use.PULL)
    for containers in CONTAINER_LISTS:
        for container in spec.each(containers):
            yield from _in_container(container)
    parts = _mounted_in_parts(spec)
    for volume in spec.each("volumes"):
        files = Use.PART if _name(volume) in parts else Use.VOLUME
        yield from _in_volume(volume, files)


def _mounted_in_parts(spec: _Place) -> frozenset[str]:
    """Return the names of the volumes that containers mount in part, and none mounts as a whole.

    A part is mounted when its container starts and never changes while that runs. A whole volume does.
    """
    parts, wholes = set[str](), set[str]()
    for containers in CONTAINER_LISTS:
        for container in spec.each(containers):
            for mount in container.each("volumeMounts"):
                is_part = mount.value.get("subPath") or mount.value.get("subPathExpr")
                (parts if is_part else wholes).add(_name(mount))
    return frozenset(parts - wholes - {""})


def _name(place: _Place) -> str:
    name = place.value.get("name")
    return name if isinstance(name, str) else ""


def _in_container(container: _Place) -> Iterator[PodReference]:
    for origin in container.each("envFrom"):
        yield from origin.refer(_ENV_FROM, Use.START)
    for variable in container.each("env"):
        yield from variable.child("valueFrom").refer(_VALUE_FROM, Use.START)


def _in_volume(volume: _Place, files: Use) -> Iterator[PodReference]:
    for kind in _VOLUME_KINDS:
        if isinstance(volume.value.get(kind), Mapping):
            return _in_source(kind, volume.child(kind), files)
    return iter(())


def _in_source(volume_kind: str, source: _Place, files: Use) -> Iterator[PodReference]:
    if volume_kind == "projected":
        for projection in source.each("sources"):
            yield from projection.refer(_PROJECTIONS, files)
    elif volume_kind in _FILE_VOLUMES:
        kind, field = _FILE_VOLUMES[volume_kind]
        yield from source.named(kind, files, field)
    else:
        *steps, field = _MOUNT_SECRETS[volume_kind]
        for step in steps:
            source = source.child(step)
        yield from source.named(ObjectKind.SECRET, Use.MOUNT, field)
