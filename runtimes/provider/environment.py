"""The environment of a container, from what a provider may ask for. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from manifests.references.identity import object_of
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pods import JsonObject, Pod
from runtimes.environment.assembling import environment_of
from runtimes.environment.objects import named_values
from runtimes.environment.situation import Environment, EnvironmentSituation

Resolve: TypeAlias = Callable[[Pod, str, str], Mapping[str, bytes]]
"""Returns the values of an object of the pod's namespace, by kind and name. Raises LookupError."""


class UnreadObjectError(LookupError):
    """An object cannot be read at present. Nobody knows whether it exists."""


def environment_with(pod: Pod, container: JsonObject, resolve: Resolve) -> Environment:
    """Return the environment of ``container``. Raises LookupError for what is missing, without any value.

    The pod's addresses and what the node has are not known here: a provider has its own.
    """
    objects: dict[ObjectId, ObjectValue] = {}
    for needed in named_values(container):
        wanted = object_of(pod, needed.kind, needed.name)
        try:
            objects[wanted] = _value(needed.kind, resolve(pod, needed.kind.value, needed.name))
        except UnreadObjectError:
            raise  # even an optional one may be there
        except LookupError:
            continue  # whether it may be missing is decided where it is used
    made = environment_of(EnvironmentSituation(pod=pod, container=container, objects=objects))
    if made.failure:
        raise LookupError(made.failure)
    return made


def _value(kind: ObjectKind, data: Mapping[str, bytes]) -> ObjectValue:
    binary = frozenset[str]()
    if kind is ObjectKind.CONFIG_MAP:
        binary = frozenset(key for key, value in data.items() if not _is_text(value))
    return ObjectValue(uid="", resource_version="", data=data, binary_keys=binary)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
