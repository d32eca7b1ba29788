"""What ``fieldRef`` and ``resourceFieldRef`` tell a container of its pod, its requests and its limits. Pure.

A limit that is not set, or zero, is the pod's as a whole, and else what the node has for pods: more the
container cannot get. Amounts are divided by the divisor, and rounded up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import chain
from typing import Final

from manifests.quantities import amount, is_quantity
from manifests.requests import CPU, MEMORY, STORAGE, units
from messages.pods import JsonObject, Pod

_FIELD: Final = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)")
_OF_PODS: Final = frozenset({CPU, MEMORY})
"""What a pod can have limits of as a whole, that its containers get a part of."""
_OF_NODES: Final = frozenset({CPU, MEMORY, STORAGE})

SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]", re.DOTALL)
"""One label or annotation."""
OLD_NAMES: Final = {"spec.host": "spec.nodeName"}
"""Fields that are still known by a name from before v1."""


class UnknownAmountError(Exception):
    """An amount of a container's resources cannot be told. The text says why, in a kubelet's words."""


def amount_value(
    pod: Pod,
    reference: JsonObject,
    *,
    container: JsonObject | None,
    allocatable: Mapping[str, str] | None,
) -> str:
    """Return a request or a limit of a container of ``pod``. Raises UnknownAmountError.

    It is of ``container`` if the reference names none. ``allocatable`` is what the node has for pods, as
    quantities; None where nobody can know it.
    """
    wanted = str(reference.get("resource") or "")
    found = _FIELD.fullmatch(wanted)
    if found is None:
        raise UnknownAmountError(f"unsupported container resource : {wanted}")
    kind, resource = found[1], found[2]
    named = str(reference.get("containerName") or "")
    whose = container if container is not None and not named else _container(pod, named)
    value = _units(resource, _quantities(whose, kind))
    if not value and kind == "limits":
        value = _default_limit(pod, resource, allocatable)
    divisor = _units(resource, {resource: reference.get("divisor") or "0"})
    return str(-(-value // (divisor or units(resource, Fraction(1)))))


def _container(pod: Pod, name: str) -> JsonObject:
    spec: JsonObject = pod.document.get("spec") or {}
    containers = chain(spec.get("containers") or (), spec.get("initContainers") or ())
    for container in containers:
        if container.get("name") == name:
            return dict(container)
    raise UnknownAmountError(f"container {name} not found")


def _default_limit(pod: Pod, resource: str, allocatable: Mapping[str, str] | None) -> int:
    spec: JsonObject = pod.document.get("spec") or {}
    whole = _units(resource, _quantities(spec, "limits")) if resource in _OF_PODS else 0
    if whole or resource not in _OF_NODES:
        return whole
    if allocatable is None:
        raise UnknownAmountError(f"what the node has of {resource} is not known here")
    return _units(resource, allocatable)


def _quantities(place: JsonObject, kind: str) -> JsonObject:
    return (place.get("resources") or {}).get(kind) or {}


def _units(resource: str, quantities: Mapping[str, object]) -> int:
    text = str(quantities.get(resource) or "0")
    return units(resource, amount(text)) if is_quantity(text) else 0


def metadata_value(pod: Pod, path: str) -> str | None:
    """Return a text of the pod's metadata; None if ``path`` names none that can be told.

    A label or an annotation that is not there is an empty text.
    """
    match path:
        case "metadata.name":
            return pod.name
        case "metadata.namespace":
            return pod.namespace
        case "metadata.uid":
            return pod.uid
        case _:
            return _subscript(pod, path)


def _subscript(pod: Pod, path: str) -> str | None:
    found = SUBSCRIPT.fullmatch(path)
    if found is None:
        return None
    values: JsonObject = (pod.document.get("metadata") or {}).get(found[1]) or {}
    return str(values.get(found[2], ""))
