"""What a container's environment needs of Secrets and ConfigMaps, and what of that is there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from manifests.references import object_of
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pod_runtime import UsedObject
from messages.pods import JsonObject, Pod
from runtimes.environment.situation import UnusableEnvironmentError

_WHOLE: Final = (("configMapRef", ObjectKind.CONFIG_MAP), ("secretRef", ObjectKind.SECRET))
_ONE: Final = (("configMapKeyRef", ObjectKind.CONFIG_MAP), ("secretKeyRef", ObjectKind.SECRET))


class NeededValue(NamedTuple):
    """A value, or a whole object, that a container's environment names."""

    kind: ObjectKind
    name: str
    key: str = ""
    """Empty for the whole object."""
    is_optional: bool = False
    """Whether the container starts without it, too."""


class ObjectsOfPod:
    """The objects that a pod's environments may use, as far as they are known."""

    __slots__ = ("_objects", "_pod", "_unread")

    def __init__(
        self,
        pod: Pod,
        objects: Mapping[ObjectId, ObjectValue],
        unread: Mapping[ObjectId, str] = MappingProxyType({}),
    ) -> None:
        self._pod = pod
        self._objects = objects
        self._unread = unread

    def all_of(self, needed: NeededValue) -> Mapping[str, bytes]:
        """Return the texts of a whole object, by key. Raises UnusableEnvironmentError."""
        found = self._find(needed)
        if found is None:
            return {}
        if not found.binary_keys:
            return found.data
        return {key: each for key, each in found.data.items() if key not in found.binary_keys}

    def value_of(self, needed: NeededValue) -> bytes | None:
        """Return one value; None if it is missing and optional. Raises UnusableEnvironmentError."""
        found = self._find(needed)
        if found is not None and needed.key in found.data and needed.key not in found.binary_keys:
            return found.data[needed.key]
        if needed.is_optional:
            return None
        whose = f"{needed.kind} {self._pod.namespace}/{needed.name}"
        raise UnusableEnvironmentError(f"couldn't find key {needed.key} in {whose}")

    def _find(self, needed: NeededValue) -> ObjectValue | None:
        wanted = object_of(self._pod, needed.kind, needed.name)
        found = self._objects.get(wanted)
        if found is not None:
            return found
        what = f'{needed.kind.lower()} "{needed.name}"'
        if wanted in self._unread:  # even an optional one may be there
            raise UnusableEnvironmentError(f"{what} {self._unread[wanted]}")
        if not needed.is_optional:
            raise UnusableEnvironmentError(f"{what} not found")
        return None


def named_values(container: JsonObject) -> tuple[NeededValue, ...]:
    """Return what the environment of ``container`` names, in the order in which it is looked up."""
    if not (container.get("env") or container.get("envFrom")):
        return ()
    return tuple(_named(container))


def used_objects(
    pod: Pod, container: JsonObject, objects: Mapping[ObjectId, ObjectValue]
) -> tuple[UsedObject, ...]:
    """Return the objects that the environment of ``container`` is made from, each once. No values."""
    found: dict[ObjectId, UsedObject] = {}
    for each in named_values(container):
        wanted = object_of(pod, each.kind, each.name)
        value = objects.get(wanted)
        version = value.resource_version if value is not None else ""
        found[wanted] = UsedObject(each.kind, each.name, version)
    return tuple(found.values())


def missing_value(
    needed: Iterable[NeededValue],
    pod: Pod,
    objects: Mapping[ObjectId, ObjectValue],
    unread: Mapping[ObjectId, str],
) -> str:
    """Return what is missing first, in a kubelet's words; empty if nothing is.

    ``unread`` says why objects cannot be read of which nobody knows whether they are there.
    """
    known = ObjectsOfPod(pod, objects, unread)
    try:
        for each in needed:
            if each.key:
                known.value_of(each)
            else:
                known.all_of(each)
    except UnusableEnvironmentError as error:
        return str(error)
    return ""


def whole_object(source: JsonObject) -> NeededValue | None:
    """Return the object that an item of ``envFrom`` names, if it names one."""
    for field, kind in _WHOLE:
        if reference := source.get(field):
            return NeededValue(kind, reference.get("name") or "", "", _is_optional(reference))
    return None


def one_value(origin: JsonObject) -> NeededValue | None:
    """Return the value that a ``valueFrom`` names in an object, if it names one."""
    for field, kind in _ONE:
        if reference := origin.get(field):
            name, key = reference.get("name") or "", reference.get("key") or ""
            return NeededValue(kind, name, key, _is_optional(reference))
    return None


def _is_optional(reference: JsonObject) -> bool:
    return reference.get("optional") is True


def _named(container: JsonObject) -> Iterator[NeededValue]:
    sources = map(whole_object, container.get("envFrom") or ())
    origins = (each.get("valueFrom") or {} for each in container.get("env") or ())
    yield from filter(None, sources)
    yield from filter(None, map(one_value, origins))
