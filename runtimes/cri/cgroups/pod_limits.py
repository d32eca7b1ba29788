"""What limits the cgroups of pods, of their classes and of all of them have. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from files.cgroups.conversions import LEAST_SHARES, UNLIMITED, quota_of, shares_of
from files.cgroups.limits import CgroupLimits
from files.cgroups.options import CgroupOptions
from manifests.qos import QosClass, qos_class
from manifests.requests import CPU, MEMORY, Amounts, pod_limits, pod_requests
from messages.pods import JsonObject, Pod
from runtimes.cri.cgroups.amounts import amounts_in, huge_pages

_PID = "pid"


def limits_of_pod(pod: Pod, options: CgroupOptions, page_sizes: Iterable[int] = ()) -> CgroupLimits:
    """Return the limits of a pod's own cgroup.

    A resource is limited if each container limits it, or the pod as a whole does. Huge pages of the sizes
    that the machine has are not used unasked.
    """
    spec = pod.document.get("spec") or {}
    pids = options.pods_pids if options.pods_pids > 0 else UNLIMITED
    limits = pod_limits(spec)
    cpu, memory = (limits.get(name, 0) if is_limited(spec, name) else 0 for name in (CPU, MEMORY))
    best_effort = qos_class(spec) is QosClass.BEST_EFFORT
    return CgroupLimits(
        cpu_shares=LEAST_SHARES if best_effort else shares_of(pod_requests(spec).get(CPU, 0)),
        cpu_quota=quota_of(cpu if options.has_cpu_quota else 0, options.period),
        cpu_period=options.period,
        memory=memory or UNLIMITED,
        pids=pids,
        huge_pages={**dict.fromkeys(page_sizes, 0), **_pages_of_pod(spec)},
    )


def limits_of_levels(pods: Iterable[Pod]) -> dict[QosClass, CgroupLimits]:
    """Return the limits of the cgroups that pods of a class are in.

    Burstable pods have the shares of all their requests together, since they compete with guaranteed ones as
    a group. Pods that have ended request nothing.
    """
    requested = sum(
        pod_requests(spec).get(CPU, 0)
        for pod in pods
        if not pod.is_terminal
        and qos_class(spec := pod.document.get("spec") or {}) is QosClass.BURSTABLE
    )
    return {
        QosClass.BURSTABLE: CgroupLimits(cpu_shares=shares_of(requested)),
        QosClass.BEST_EFFORT: CgroupLimits(cpu_shares=LEAST_SHARES),
    }


def limits_of_all_pods(options: CgroupOptions) -> CgroupLimits:
    """Return the limits of the cgroup that all pods are in. What the node has not said is not limited."""
    amounts = options.for_pods
    return CgroupLimits(
        cpu_shares=shares_of(amounts[CPU]) if CPU in amounts else None,
        memory=amounts.get(MEMORY),
        pids=amounts.get(_PID),
        huge_pages=huge_pages(amounts),
    )


def wider(one: CgroupLimits, other: CgroupLimits) -> CgroupLimits:
    """Return limits that keep nobody from what either of the two allows.

    Containers may have no more than their pod. So a pod has these while its containers are being resized.
    """
    pages = one.huge_pages.keys() | other.huge_pages.keys()
    return CgroupLimits(
        cpu_shares=_larger(one.cpu_shares, other.cpu_shares),
        cpu_quota=_larger(one.cpu_quota, other.cpu_quota),
        cpu_period=other.cpu_period,
        memory=_larger(one.memory, other.memory),
        pids=_larger(one.pids, other.pids),
        huge_pages={
            size: max(one.huge_pages.get(size, 0), other.huge_pages.get(size, 0)) for size in pages
        },
    )


def _larger(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return UNLIMITED if UNLIMITED in {one, other} else max(one, other)


def is_limited(spec: JsonObject, resource: str) -> bool:
    """Return whether the pod limits this resource as a whole, or each of its containers does."""
    whole = amounts_in((spec.get("resources") or {}).get("limits"))
    if whole.get(resource, 0) > 0:
        return True
    each = [amounts_in((one.get("resources") or {}).get("limits")) for one in _containers(spec)]
    return bool(each) and all(limits.get(resource, 0) > 0 for limits in each)


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    for kind in ("initContainers", "containers"):
        yield from spec.get(kind) or ()


def _pages_of_pod(spec: JsonObject) -> Mapping[int, int]:
    """Return the huge pages of a pod: of it as a whole, or of all its containers together."""
    total: Amounts = {}
    for one in _containers(spec):
        limits = amounts_in((one.get("resources") or {}).get("limits"))
        total = {**total, **{name: total.get(name, 0) + limits[name] for name in limits}}
    whole = huge_pages(amounts_in((spec.get("resources") or {}).get("limits")))
    return {**huge_pages(total), **whole}
