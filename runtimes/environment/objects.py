"""What a container's environment needs of Secrets, ConfigMaps and others, and why it cannot be. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from typing_extensions import override

from manifests.references import object_of
from manifests.texts import as_bytes
from messages.cluster import ClusterService
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pod_runtime import UsedObject
from messages.pods import JsonObject, Pod


class UnusableEnvironmentError(Exception):
    """The environment cannot be made now. The text says why, in a kubelet's words, without any value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSituation:
    """Everything that the environment of one container depends on."""

    pod: Pod
    container: JsonObject = field(repr=False)
    """The container of the pod's specification."""
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    """Secrets and ConfigMaps, as far as they are there."""
    pod_ips: Sequence[str] | None = None
    """The addresses of its sandbox, the first one of the primary family. A pod in the node's own network
    has none there: the node's are its own. None where nobody can know them."""
    host_ips: Sequence[str] | None = None
    """The node's addresses, in the same order. None where nobody can know them."""
    allocatable: Mapping[str, str] | None = None
    """What the node has for pods, as quantities. None where nobody can know it."""
    services: Sequence[ClusterService] = ()
    """The Services of the pod's namespace, and ``kubernetes`` in ``default``. Others are left out."""


class SkippedNames(NamedTuple):
    """Keys of one object that no variable can have as its name."""

    kind: ObjectKind
    object_name: str
    """``<namespace>/<name>``."""
    names: tuple[str, ...]

    @property
    def message(self) -> str:
        """Return what a kubelet's event InvalidEnvironmentVariableNames says."""
        kind = "secret" if self.kind is ObjectKind.SECRET else "configMap"
        names = ", ".join(each if each.isprintable() else ascii(each) for each in self.names)
        return (
            f"Keys [{names}] from the EnvFrom {kind} {self.object_name} were skipped since they are"
            " considered invalid environment variable names."
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Environment:
    """What a container is started with. The ``repr`` shows no value."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """In order. Bytes that are no UTF-8 are in them as in ``os.environ``, by ``surrogateescape``."""
    command: tuple[str, ...] = ()
    """Empty for the image's."""
    args: tuple[str, ...] = ()
    """Empty for the image's, unless there is a command."""
    skipped: tuple[SkippedNames, ...] = ()
    failure: str = ""
    """Why it cannot be made, in a kubelet's words: the message of a CreateContainerConfigError. Everything
    else is empty then. Empty if nothing is wrong."""

    def encoded(self) -> Iterator[tuple[str, bytes]]:
        """Yield the variables as a process gets them, in order."""
        for name, value in self.variables.items():
            yield name, as_bytes(value)

    @override
    def __repr__(self) -> str:
        return f"Environment(names={list(self.variables)!r}, failure={self.failure!r})"


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
    for name, kind in _WHOLE:
        if reference := source.get(name):
            return NeededValue(kind, reference.get("name") or "", "", _is_optional(reference))
    return None


def one_value(origin: JsonObject) -> NeededValue | None:
    """Return the value that a ``valueFrom`` names in an object, if it names one."""
    for one, kind in _ONE:
        if reference := origin.get(one):
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
