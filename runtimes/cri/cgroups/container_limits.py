"""The resources and OOM scores of containers and sandboxes, as a runtime is told them. Pure.

An OOM score is an ``oom_score_adj``: from -1000, never killed when memory runs out, to 1000, killed first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple

from files.cgroups.limits import page_size_name, quota_of, shares_of
from files.cgroups.names import CgroupOptions
from manifests.qos import QosClass, is_critical, qos_class
from manifests.requests import CPU, MEMORY, container_requests, pod_limits, pod_requests, units
from manifests.restart_rules import is_sidecar
from messages.pods import JsonObject, Pod
from runtimes.cri.cgroups.pod_limits import amounts_in, complaint, huge_pages

GUARANTEED_SCORE: Final = -997
BEST_EFFORT_SCORE: Final = 1000
_LEAST_BURSTABLE: Final = 1000 + GUARANTEED_SCORE
_MOST_BURSTABLE: Final = BEST_EFFORT_SCORE - 1
_NODE_CRITICAL: Final = "system-node-critical"
_NOTHING: Final = Fraction(0)

_KILLS_ALL: Final = "memory.oom.group"
_SWAP: Final = "memory.swap.max"


def oom_score(pod: Pod, container: JsonObject, capacity: int) -> int:
    """Return the score of a container on a node with ``capacity`` bytes of memory.

    The more of the memory a burstable container requests, the later it is killed. Of a pod's own request each
    container counts an equal part of what its containers do not request. A sidecar is killed no earlier
    than the regular container that requests the least.
    """
    spec = pod.document.get("spec") or {}
    qos = qos_class(spec)
    if qos is QosClass.GUARANTEED or is_node_critical(pod):
        return GUARANTEED_SCORE
    if qos is QosClass.BEST_EFFORT:
        return BEST_EFFORT_SCORE
    requested = _memory_request(container)
    regular = [_memory_request(each) for each in spec.get("containers") or ()]
    if is_sidecar(container) and regular:
        requested = max(requested, min(regular))
    share = 1000 * (requested + _part_of_pod(spec)) // max(capacity, 1)
    return min(max(1000 - share, _LEAST_BURSTABLE), _MOST_BURSTABLE)


def is_node_critical(pod: Pod) -> bool:
    """Return whether the node needs the pod to work.

    Its class must say so, and it must be static, a mirror, or of a priority that only the system has.
    """
    spec = pod.document.get("spec") or {}
    return spec.get("priorityClassName") == _NODE_CRITICAL and is_critical(pod)


def _part_of_pod(spec: JsonObject) -> int:
    """Return what each container gets of the memory that the pod requests beyond its containers."""
    whole = amounts_in((spec.get("resources") or {}).get("requests")).get(MEMORY, 0)
    if not whole:
        return 0
    count = len(spec.get("containers") or ()) + len(spec.get("initContainers") or ())
    requested = units(MEMORY, container_requests(spec).get(MEMORY, _NOTHING))
    return max(0, whole - requested) // max(count, 1)


def _memory_request(container: JsonObject) -> int:
    return amounts_in((container.get("resources") or {}).get("requests")).get(MEMORY, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupFacts:
    """What the cgroups of this machine are capable of."""

    is_unified: bool = False
    """Whether containers are in cgroups of v2."""
    limits_swap: bool = False
    """Whether swap has limits of its own."""
    page_sizes: tuple[int, ...] = ()
    """Bytes of each size of huge pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinuxResources:
    """The resources of one container, as the CRI knows them. 0 and empty say nothing."""

    cpu_shares: int = 0
    cpu_quota: int = 0
    """Microseconds in each ``cpu_period``."""
    cpu_period: int = 0
    """Microseconds."""
    memory_limit: int = 0
    """Bytes."""
    memory_swap_limit: int = 0
    """Bytes of memory and swap together."""
    oom_score_adj: int = 0
    huge_pages: tuple[tuple[str, int], ...] = ()
    """Bytes by the kernel's name of the size of a page, for each size that the machine has."""
    unified: Mapping[str, str] = field(default_factory=dict)
    """Files of cgroup v2 with what is written to them."""


class ResourcesRefused(NamedTuple):
    """Resources that mean nothing. The container cannot be created with them."""

    reason: str
    """For people."""


def container_resources(
    pod: Pod, container: JsonObject, options: CgroupOptions, facts: CgroupFacts
) -> LinuxResources | ResourcesRefused:
    """Return what the runtime is told of a container, when it is created and when it is resized.

    A container without a limit of its own has that of its pod. Amounts that the kernel does not take are
    the nearest that it takes; one that is negative or no amount is refused.
    """
    spec = pod.document.get("spec") or {}
    own, whole = container.get("resources") or {}, spec.get("resources") or {}
    wrong = complaint(own) or complaint(whole)
    if wrong:
        return ResourcesRefused(wrong)
    requests, limits = amounts_in(own.get("requests")), amounts_in(own.get("limits"))
    limits = _with_those_of_pod(limits, amounts_in(whole.get("limits")))
    memory = limits.get(MEMORY, 0)
    return LinuxResources(
        cpu_shares=shares_of(requests.get(CPU, limits.get(CPU, 0))),
        cpu_quota=_quota(limits, options),
        cpu_period=options.period if options.has_cpu_quota else 0,
        memory_limit=memory,
        memory_swap_limit=memory if facts.limits_swap and not facts.is_unified else 0,
        oom_score_adj=oom_score(pod, container, options.capacity.get(MEMORY, 0)),
        huge_pages=_pages(limits, facts),
        unified=_unified(options, facts),
    )


def sandbox_resources(pod: Pod, options: CgroupOptions) -> tuple[LinuxResources, LinuxResources]:
    """Return what the runtime is told of all containers together, and of the sandbox's overhead.

    Runtimes that start a virtual machine for a pod need them before its containers are there.
    """
    spec = pod.document.get("spec") or {}
    overhead = amounts_in(spec.get("overhead"))
    containers = {**spec, "overhead": None}
    return (
        _of_amounts(pod_requests(containers), pod_limits(containers), options),
        _of_amounts(overhead, overhead, options) if overhead else LinuxResources(),
    )


def _of_amounts(
    requests: Mapping[str, int], limits: Mapping[str, int], options: CgroupOptions
) -> LinuxResources:
    return LinuxResources(
        cpu_shares=shares_of(requests.get(CPU, 0)),
        cpu_quota=_quota(limits, options),
        cpu_period=options.period if options.has_cpu_quota else 0,
        memory_limit=limits.get(MEMORY, 0),
    )


def _with_those_of_pod(limits: Mapping[str, int], whole: Mapping[str, int]) -> Mapping[str, int]:
    if not whole:
        return limits
    return {**whole, **{name: amount for name, amount in limits.items() if amount}}


def _quota(limits: Mapping[str, int], options: CgroupOptions) -> int:
    """Return the quota of a limit of cpu; 0, which says nothing, without one."""
    if not options.has_cpu_quota or not limits.get(CPU):
        return 0
    return quota_of(limits[CPU], options.period)


def _pages(limits: Mapping[str, int], facts: CgroupFacts) -> tuple[tuple[str, int], ...]:
    """Return a limit for each size that the machine has. Without one, huge pages are not allowed."""
    asked = huge_pages(limits)
    return tuple((page_size_name(size), asked.get(size, 0)) for size in facts.page_sizes)


def _unified(options: CgroupOptions, facts: CgroupFacts) -> Mapping[str, str]:
    if not facts.is_unified:
        return {}
    files = {} if options.is_one_killed_alone else {_KILLS_ALL: "1"}
    return {**files, _SWAP: "0"} if facts.limits_swap else files
