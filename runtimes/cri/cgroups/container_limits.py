"""What a runtime is told of the resources of a container, and of a pod's sandbox. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from files.cgroups.conversions import page_size_name, quota_of, shares_of
from files.cgroups.options import CgroupOptions
from manifests.requests import CPU, MEMORY, pod_limits, pod_requests
from messages.pods import JsonObject, Pod
from runtimes.cri.cgroups.amounts import amounts_in, complaint, huge_pages
from runtimes.cri.cgroups.oom_scores import oom_score

_KILLS_ALL: Final = "memory.oom.group"
_SWAP: Final = "memory.swap.max"


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
    """Return a limit for each size that the machine has: nobody uses huge pages unasked."""
    asked = huge_pages(limits)
    return tuple((page_size_name(size), asked.get(size, 0)) for size in facts.page_sizes)


def _unified(options: CgroupOptions, facts: CgroupFacts) -> Mapping[str, str]:
    if not facts.is_unified:
        return {}
    files = {} if options.is_one_killed_alone else {_KILLS_ALL: "1"}
    return {**files, _SWAP: "0"} if facts.limits_swap else files
