"""What a pod asks of its node: amounts of resources, and ports of the host. Pure.

Counted as a kubelet counts it. Pods come from the API server too, so a value that cannot be read counts as
absent: the API server has validated it by rules that may be newer than these. The resources of a pod's
containers are read from one version of it, and set in another.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

from manifests.quantities import amount, is_quantity
from manifests.restart_rules import is_sidecar
from messages.pods import JsonObject, Pod

Amounts: TypeAlias = Mapping[str, int]
"""How much of each resource: cpu in thousandths of one, everything else in its unit."""

CPU: Final = "cpu"
MEMORY: Final = "memory"
STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
_HUGEPAGES: Final = "hugepages-"
_MAX_AMOUNT: Final = 2**63 - 1
"""Kubernetes' own limit."""

ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104  # compared, not bound
_NO_AMOUNTS: Final[Amounts] = {}


ContainerResources: TypeAlias = Mapping[str, JsonObject]
"""What containers request and may use at most, by their names; empty for one that says nothing."""

_LISTS: Final = ("initContainers", "containers")


class HostPort(NamedTuple):
    """A port of the host that a pod wants for itself."""

    protocol: str
    port: int
    address: str
    """The host's address; ``0.0.0.0`` for all of them."""


def units(resource: str, value: Fraction) -> int:
    """Return ``value`` of a resource in the whole units that nodes count in, rounded up."""
    return min(_MAX_AMOUNT, math.ceil(value * 1000 if resource == CPU else value))


def amounts_of(quantities: Mapping[str, str]) -> dict[str, int]:
    """Return the amounts of a map of quantities, without those that cannot be read."""
    return {name: units(name, value) for name, value in _readable(quantities).items()}


def is_extended(resource: str) -> bool:
    """Return whether a resource has a vendor's domain. Kubernetes' own names have none, or its own."""
    return "/" in resource and "kubernetes.io/" not in resource


def pod_requests(spec: JsonObject) -> Amounts:
    """Return what a pod requests: its containers together, or it as a whole, and its overhead."""
    total = _with_whole(spec, "requests", container_requests(spec))
    for name, value in _readable(spec.get("overhead") or {}).items():
        total[name] = total.get(name, Fraction(0)) + value
    return _whole_units(total)


def pod_limits(spec: JsonObject) -> Amounts:
    """Return what a pod may use: its containers together, or it as a whole, with its overhead.

    A resource that some container has no limit of is as limited as the others together: whoever needs to
    know must look at that.
    """
    total = _with_whole(spec, "limits", _together(spec, "limits"))
    for name, value in _readable(spec.get("overhead") or {}).items():
        if total.get(name):
            total[name] += value
    return _whole_units(total)


def container_requests(spec: JsonObject) -> dict[str, Fraction]:
    """Return how much of each resource the containers request together.

    Init containers run one after another, before the rest; sidecars among them run beside it all.
    """
    return _together(spec, "requests")


def _together(spec: JsonObject, kind: str) -> dict[str, Fraction]:
    beside: dict[str, Fraction] = defaultdict(Fraction)
    highest: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or ():
        sidecar = is_sidecar(container)
        for name, value in _quantities(container, kind).items():
            highest[name] = max(highest.get(name, Fraction(0)), beside[name] + value)
            beside[name] += value if sidecar else 0
    for container in spec.get("containers") or ():
        for name, value in _quantities(container, kind).items():
            beside[name] += value
    return {name: max(total, highest.get(name, total)) for name, total in beside.items()}


def host_ports(spec: JsonObject) -> frozenset[HostPort]:
    """Return the ports of the host that containers and sidecars want."""
    return frozenset(
        HostPort(
            protocol=port.get("protocol") or "TCP",
            port=port["hostPort"],
            address=port.get("hostIP") or ANY_ADDRESS,
        )
        for container in _lasting_containers(spec)
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )


def _lasting_containers(spec: JsonObject) -> Iterator[JsonObject]:
    yield from spec.get("containers") or ()
    yield from filter(is_sidecar, spec.get("initContainers") or ())


def _quantities(container: JsonObject, kind: str) -> dict[str, Fraction]:
    given = (container.get("resources") or {}).get(kind)
    return _readable(given) if given else {}


def _with_whole(spec: JsonObject, kind: str, total: dict[str, Fraction]) -> dict[str, Fraction]:
    """Return what containers have together, or what the pod has as a whole in place of it."""
    whole = _readable((spec.get("resources") or {}).get(kind) or {})
    return {**total, **{name: value for name, value in whole.items() if _is_for_pods(name)}}


def _whole_units(total: Mapping[str, Fraction]) -> Amounts:
    if not total:
        return _NO_AMOUNTS
    return {name: units(name, value) for name, value in total.items() if value > 0}


def _readable(quantities: Mapping[str, str]) -> dict[str, Fraction]:
    return {name: amount(text) for name, text in quantities.items() if is_quantity(text)}


def _is_for_pods(resource: str) -> bool:
    """Return whether a pod can request the resource as a whole for its containers."""
    return resource in {CPU, MEMORY} or resource.startswith(_HUGEPAGES)


def resources_of(pod: Pod) -> dict[str, JsonObject]:
    """Return the resources of each container that can have any."""
    spec = pod.document.get("spec") or {}
    return {each["name"]: each.get("resources") or {} for each in _containers(spec)}


def with_resources(pod: Pod, resources: ContainerResources) -> Pod:
    """Return ``pod`` with these resources. A container that they do not name keeps its own."""
    spec = pod.document["spec"]
    changed = {
        name: [_with(each, resources) for each in spec[name]] for name in _LISTS if spec.get(name)
    }
    return Pod.of({**pod.document, "spec": {**spec, **changed}})


def _with(container: JsonObject, resources: ContainerResources) -> JsonObject:
    return {
        **container,
        "resources": resources.get(container["name"], container.get("resources") or {}),
    }


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    for name in _LISTS:
        yield from spec.get(name) or ()
