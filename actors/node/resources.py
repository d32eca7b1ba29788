"""What the Node has, and what of it pods may request together. Pure.

As a kubelet: allocatable is the capacity without what is reserved, and without what has to stay free so that
nothing is evicted. Huge pages are counted apart from memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from actors.node.machine import MachineFacts
from manifests.requests import CPU, MEMORY, PODS, STORAGE, Amounts
from manifests.thresholds import (
    DEFAULT_THRESHOLDS,
    MEMORY_FREE,
    NO_THRESHOLD,
    STORAGE_FREE,
    Thresholds,
)

HUGEPAGES: Final = "hugepages-"
"""Prefix of resource names; the size of the pages follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResources:
    """What is told of the Node's resources, beside what the machine shows."""

    max_pods: int | None = 110
    """None for no limit."""
    pods_per_core: int = 0
    """Limits the pods in addition; 0 for no such limit."""
    stated: Amounts = field(default_factory=dict)
    """Amounts that count in place of the machine's."""
    is_machine: bool = True
    """What is not stated is the machine's. Otherwise there is no limit of it."""
    reserved: Amounts = field(default_factory=dict)
    """What the system and the agent need for themselves."""
    thresholds: Thresholds = field(default_factory=lambda: DEFAULT_THRESHOLDS)


def capacity(told: NodeResources, facts: MachineFacts) -> dict[str, int]:
    """Return how much of each resource the Node has. What is missing has no limit."""
    machine = {
        CPU: facts.cpus * 1000,
        MEMORY: facts.memory,
        **({STORAGE: facts.storage} if facts.storage is not None else {}),
        **{f"{HUGEPAGES}{_binary(size)}": every for size, every in facts.hugepages.items()},
    }
    found = {**(machine if told.is_machine else {}), **facts.stated, **told.stated}
    pods = _pods(told, found, facts)
    return found if pods is None else {**found, PODS: pods}


def allocatable(told: NodeResources, facts: MachineFacts) -> dict[str, int]:
    """Return how much of each resource pods may request together. What is missing has no limit."""
    found = capacity(told, facts)
    kept = {
        MEMORY: told.thresholds.get(MEMORY_FREE, NO_THRESHOLD).of(found.get(MEMORY))
        + sum(amount for name, amount in found.items() if name.startswith(HUGEPAGES)),
        STORAGE: told.thresholds.get(STORAGE_FREE, NO_THRESHOLD).of(found.get(STORAGE)),
    }
    return {
        name: max(0, amount - kept.get(name, 0) - told.reserved.get(name, 0))
        for name, amount in found.items()
    }


def written(amounts: Amounts) -> dict[str, str]:
    """Return amounts as the API writes quantities."""
    return {name: _quantity(name, amount) for name, amount in amounts.items()}


def _pods(told: NodeResources, found: Amounts, facts: MachineFacts) -> int | None:
    if PODS in found:
        return found[PODS]
    cpu = found.get(CPU, facts.cpus * 1000)
    by_cores = told.pods_per_core * (cpu // 1000) if told.pods_per_core else None
    limits = [limit for limit in (told.max_pods, by_cores) if limit is not None]
    return min(limits, default=None)


def _quantity(name: str, amount: int) -> str:
    if name == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if name.startswith(HUGEPAGES):
        return _binary(amount)
    if name in {MEMORY, STORAGE} and amount % 1024 == 0:
        return f"{amount // 1024}Ki"
    return str(amount)


def _binary(number: int) -> str:
    """Return ``number`` in the largest unit in which it is whole: ``2Mi``, ``0``."""
    units = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
    while number and number % 1024 == 0 and len(units) > 1:
        number //= 1024
        units.pop(0)
    return f"{number}{units[0]}"
