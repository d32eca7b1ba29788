"""The settings of the node's actors: what the Node has, what of it pods may request, and what is shown. Pure.

As a kubelet: allocatable is the capacity without what is reserved, and without what has to stay free so that
nothing is evicted. Huge pages are counted apart from memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from actors.node.machine import MachineFacts
from kernel import Backoff
from manifests.requests import CPU, MEMORY, PODS, STORAGE, Amounts
from manifests.thresholds import (
    DEFAULT_THRESHOLDS,
    MEMORY_FREE,
    NO_THRESHOLD,
    STORAGE_FREE,
    Thresholds,
)
from messages.pods import JsonObject
from messages.units import Seconds

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


RETRIES = Backoff(initial=Seconds(0.2), cap=Seconds(7.0), jitter=Seconds(0.1))
"""Waits between attempts at the API server, as a kubelet's (rules N1, N5): 0.2 s, doubling to 7 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRules:
    """What the Node should be, and how often it is reported."""

    name: str
    version: str
    """The agent's own version, such as ``0.1.0``."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """``--node-labels``. They override the default labels."""
    taints: tuple[JsonObject, ...] | None = ()
    """``--register-with-taints``. Set when the Node is created, and never again. None: the runtime's."""
    own_label: tuple[str, str] | None = None
    """A Node that exists without this label is somebody else's, and is left alone. None: none is."""
    register: bool = True
    """Create the Node if there is none, and set its labels and its annotation. Its status is reported in any
    case."""
    has_volumes_attached: bool = True
    """A controller of the cluster attaches the Node's volumes (``enableControllerAttachDetach``)."""
    resources: NodeResources = field(default_factory=NodeResources)
    endpoint_port: int = 0
    """The port where the agent serves the API server's requests; 0 while it serves none."""
    status_update_frequency: Seconds = Seconds(10.0)
    """Between two readings of the machine."""
    status_report_frequency: Seconds = Seconds(300.0)
    """How often an unchanged status is reported."""
    pressure_transition_period: Seconds = Seconds(300.0)
    """How long a pressure must be absent before its condition says so (rule N4). So a pressure that comes
    and goes does not change the condition each time."""


def jittered(period: Seconds, share: float) -> Seconds:
    """Return ``period`` plus a random part of up to ``share`` of it, so that agents do not act in step."""
    more = Seconds(period * share)
    return Backoff(initial=period, cap=Seconds(period + more), jitter=more).delay(1)
