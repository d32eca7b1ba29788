"""What the agent is told of the node's resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from manifests.names import qualified_name
from manifests.quantities import amount, is_quantity
from manifests.requests import CPU, MEMORY, PODS, STORAGE, Amounts, is_extended, units
from manifests.thresholds import DEFAULT_THRESHOLDS, PIDS_FREE, Thresholds, parse_threshold
from settings.kinds import AMOUNTS, COUNT, SWITCH, THRESHOLDS
from settings.rows import Section, ToldValues, row
from settings.situation import RuntimeKind

NO_LIMIT_OF_PODS: Final = 2**31 - 1
"""The greatest number that ``maxPods`` can be."""
MAX_PODS: Final = 110
EVICTION_HARD: Final = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
}
"""A kubelet's, but for images, which have no filesystem of their own here."""
_SIGNALS: Final = frozenset({
    *EVICTION_HARD,
    PIDS_FREE,
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "allocatableMemory.available",
})  # fmt: skip
"""Those of a kubelet. What is said of other filesystems has no effect: there is one."""
_RESERVABLE: Final = frozenset({CPU, MEMORY, STORAGE, "pid"})


def limits_by_machine(told: ToldValues) -> bool:
    """Return whether what the machine has limits what pods may request."""
    return told.situation.is_joined or told.situation.runtime is RuntimeKind.CRI


def _max_pods(told: ToldValues) -> int:
    """Return how many pods the node takes. Where nothing else is limited, only a number that was given is."""
    given: int = told["maxPods"] if "maxPods" in told.given else 0
    return given or (MAX_PODS if limits_by_machine(told) else NO_LIMIT_OF_PODS)


def _eviction_hard(told: ToldValues) -> dict[str, str]:
    """Return the thresholds. A kubelet's rule: whoever sets one of them sets all."""
    default = EVICTION_HARD if told["mergeDefaultEvictionSettings"] else {}
    return {**default, **told["evictionHard"]}


def _thresholds(given: Mapping[str, str]) -> Thresholds:
    found = {PIDS_FREE: DEFAULT_THRESHOLDS[PIDS_FREE]}
    for signal, text in given.items():
        if signal not in _SIGNALS:
            raise ValueError(f"has {signal[:64]!r}, which no kubelet looks at")
        try:
            found[signal] = parse_threshold(text)
        except ValueError as error:
            raise ValueError(f"has {text[:64]!r} for {signal}, which {error}") from None
    return found


def _reserved(given: Mapping[str, str]) -> Amounts:
    for name in given:
        if name not in _RESERVABLE:
            known = ", ".join(sorted(_RESERVABLE))
            raise ValueError(f"has {name[:64]!r}; what can be reserved is {known}")
    return {name: _amount(name, text) for name, text in given.items()}


def hollow_capacity(given: Mapping[str, str]) -> Amounts:
    """Return what a hollow node has. Raises ``ValueError`` with the end of a sentence."""
    for name, text in given.items():
        if not _can_be_had(name):
            raise ValueError(
                f"has {name[:64]!r}; a hollow node has cpu, memory, ephemeral-storage, "
                "pods, hugepages-SIZE, and resources with a domain such as example.com/gpu"
            )
        if name not in {CPU, MEMORY, STORAGE} and _is_part(text):
            raise ValueError(f"has {text[:64]!r} for {name}, which should be a whole number")
    return {name: _amount(name, text) for name, text in given.items()}


def _can_be_had(name: str) -> bool:
    known = name in {CPU, MEMORY, STORAGE, PODS} or name.startswith("hugepages-")
    return not qualified_name(name) and (known or is_extended(name))


def _is_part(text: str) -> bool:
    return is_quantity(text) and amount(text).denominator != 1


def _amount(name: str, text: str) -> int:
    if not is_quantity(text) or amount(text) < 0:
        raise ValueError(
            f"has {text[:64]!r} for {name}, which should be an amount such as 500m or 2Gi"
        )
    return units(name, amount(text))


_row = partial(row, section=Section.NODE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSettings:
    """What the node has for pods, beside what the machine shows."""

    max_pods: int = _row(
        COUNT,
        "maxPods",
        MAX_PODS,
        flag="--max-pods",
        says="Pods that the node takes",
        default_says="110 in a cluster, else any number",
        more="configuration.md#what-pods-may-request",
        derive=_max_pods,
    )
    pods_per_core: int = _row(
        COUNT, "podsPerCore", flag="--pods-per-core", says="Pods for each core, if that is less"
    )
    """0 for no such limit."""
    system_reserved: Amounts = _row(
        AMOUNTS,
        "systemReserved",
        flag="--system-reserved",
        says="What the system needs itself",
        settle=_reserved,
    )
    kube_reserved: Amounts = _row(
        AMOUNTS,
        "kubeReserved",
        flag="--kube-reserved",
        says="What the agent needs itself",
        settle=_reserved,
    )
    thresholds: Thresholds = _row(
        THRESHOLDS,
        "evictionHard",
        EVICTION_HARD,
        flag="--eviction-hard",
        says="What has to stay free",
        default_says="memory.available<100Mi,nodefs.available<10%,...",
        more="configuration.md#what-pods-may-request",
        zero_is_default=True,
        derive=_eviction_hard,
        settle=_thresholds,
    )
    """What has to stay free, by signal."""
    merges_default_thresholds: bool = _row(
        SWITCH,
        "mergeDefaultEvictionSettings",
        says="Thresholds that `evictionHard` does not name keep their defaults; otherwise they are 0, as in "
        "a kubelet",
    )
    """``thresholds`` are merged already."""
    is_machine: bool = True
    """What the machine has limits what pods may request. So it is wherever the amounts are told to a
    scheduler. A node by itself whose pods need nothing of the machine has no such limit."""

    @property
    def reserved(self) -> Amounts:
        """What system and agent need together."""
        both: tuple[Mapping[str, Any], ...] = (self.system_reserved, self.kube_reserved)
        return {name: sum(each.get(name, 0) for each in both) for each in both for name in each}
