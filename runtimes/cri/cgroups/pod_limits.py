"""The limits of the cgroups of a pod, of its class and of all pods. Pure.

Pods come from the API server too, so their documents may have any value as an amount: it is read within
bounds, or refused with a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from files.cgroups.limits import LEAST_SHARES, UNLIMITED, CgroupLimits, quota_of, shares_of
from files.cgroups.names import CgroupOptions
from manifests.qos import QosClass, qos_class
from manifests.quantities import amount, is_quantity
from manifests.requests import CPU, MEMORY, Amounts, amounts_of, pod_limits, pod_requests
from messages.pods import JsonObject, Pod

_HUGE_PAGES: Final = "hugepages-"
_NO_AMOUNTS: Final[dict[str, int]] = {}
_LARGEST_PAGE: Final = 2**40

_PID = "pid"


def amounts_in(quantities: Mapping[str, Any] | None) -> Mapping[str, int]:
    """Return the amounts of a map of quantities. What is negative or unreadable is not among them."""
    if not quantities:
        return _NO_AMOUNTS
    readable = {name: text for name, text in quantities.items() if isinstance(text, str)}
    return {name: value for name, value in amounts_of(readable).items() if value >= 0}


def huge_pages(amounts: Mapping[str, int]) -> dict[int, int]:
    """Return how many bytes there are of each size of huge pages, by that size in bytes."""
    sizes = {name: _page_size(name) for name in amounts}
    return {size: amounts[name] for name, size in sizes.items() if size}


def complaint(resources: JsonObject) -> str:
    """Return what is wrong with requests and limits, for people; empty if nothing is."""
    return next(_complaints(resources), "")


def _complaints(resources: JsonObject) -> Iterator[str]:
    for kind in ("requests", "limits"):
        for name, text in (resources.get(kind) or {}).items():
            if name not in {CPU, MEMORY} and not name.startswith(_HUGE_PAGES):
                continue
            wrong = _wrong(text) or _wrong_page(name)
            if wrong:
                yield f"resources.{kind}.{name}: {wrong}"


def _wrong(text: Any) -> str:
    if not isinstance(text, str) or not is_quantity(text):
        return f"{str(text)[:40]!r} is not a quantity"
    return f"{text[:40]} is negative" if amount(text) < 0 else ""


def _wrong_page(resource: str) -> str:
    if resource.startswith(_HUGE_PAGES) and not _page_size(resource):
        return "not a size of huge pages"
    return ""


def _page_size(resource: str) -> int:
    """Return the size of the huge pages that a resource means, in bytes; 0 if it means none."""
    text = resource.removeprefix(_HUGE_PAGES)
    if text == resource or not is_quantity(text):
        return 0
    size = amount(text)
    return int(size) if 0 < size <= _LARGEST_PAGE and size.denominator == 1 else 0


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
    """Return limits that allow everything that either of the two allows.

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
