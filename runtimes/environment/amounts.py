"""What ``resourceFieldRef`` tells a container of its requests and limits. Pure.

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
from messages.pods import JsonObject
from runtimes.environment.errors import UnusableEnvironmentError
from runtimes.environment.situation import EnvironmentSituation

_FIELD: Final = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)")
_OF_PODS: Final = frozenset({CPU, MEMORY})
"""What a pod can have limits of as a whole, that its containers get a part of."""
_OF_NODES: Final = frozenset({CPU, MEMORY, STORAGE})


def amount_value(situation: EnvironmentSituation, reference: JsonObject) -> str:
    """Return a request or a limit of a container of the pod. Raises UnusableEnvironmentError."""
    wanted = str(reference.get("resource") or "")
    found = _FIELD.fullmatch(wanted)
    if found is None:
        raise UnusableEnvironmentError(f"unsupported container resource : {wanted}")
    kind, resource = found[1], found[2]
    container = _container(situation, str(reference.get("containerName") or ""))
    value = _units(resource, _quantities(container, kind))
    if not value and kind == "limits":
        value = _default_limit(situation, resource)
    divisor = _units(resource, {resource: reference.get("divisor") or "0"})
    return str(-(-value // (divisor or units(resource, Fraction(1)))))


def _container(situation: EnvironmentSituation, name: str) -> JsonObject:
    if not name:
        return situation.container
    spec: JsonObject = situation.pod.document.get("spec") or {}
    containers = chain(spec.get("containers") or (), spec.get("initContainers") or ())
    for container in containers:
        if container.get("name") == name:
            return dict(container)
    raise UnusableEnvironmentError(f"container {name} not found")


def _default_limit(situation: EnvironmentSituation, resource: str) -> int:
    spec: JsonObject = situation.pod.document.get("spec") or {}
    whole = _units(resource, _quantities(spec, "limits")) if resource in _OF_PODS else 0
    if whole or resource not in _OF_NODES:
        return whole
    if situation.allocatable is None:
        raise UnusableEnvironmentError(f"what the node has of {resource} is not known here")
    return _units(resource, situation.allocatable)


def _quantities(place: JsonObject, kind: str) -> JsonObject:
    return (place.get("resources") or {}).get(kind) or {}


def _units(resource: str, quantities: Mapping[str, object]) -> int:
    text = str(quantities.get(resource) or "0")
    return units(resource, amount(text)) if is_quantity(text) else 0
