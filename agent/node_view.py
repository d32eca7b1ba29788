"""What the settings and the machine mean for the node: resources, addresses, and how admission sees it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from actors.node.document import default_labels
from actors.node.machine import MachineFacts
from actors.node.rules import NodeResources, allocatable
from actors.pods.node_fit import NodeView
from messages.units import Seconds
from settings.agent import Settings
from settings.resources import NO_LIMIT_OF_PODS
from settings.runtime import HOLLOW_LABEL_VALUE, RUNTIME_LABEL
from settings.situation import RuntimeKind


def node_resources(settings: Settings) -> NodeResources:
    """Return what the node has for pods, as the settings say."""
    told = settings.resources
    return NodeResources(
        max_pods=None if told.max_pods == NO_LIMIT_OF_PODS else told.max_pods,
        pods_per_core=told.pods_per_core,
        stated=settings.runtime.hollow.capacity,
        is_machine=told.is_machine,
        reserved=told.reserved,
        thresholds=told.thresholds,
    )


def own_label(settings: Settings) -> tuple[str, str] | None:
    """Return the label without which a Node that exists is left alone; None if any Node is taken over."""
    runtime = settings.runtime
    is_picky = runtime.kind is RuntimeKind.HOLLOW and not runtime.hollow.is_forced
    return (RUNTIME_LABEL, HOLLOW_LABEL_VALUE) if is_picky else None


def configured_node(settings: Settings, facts: MachineFacts) -> NodeView:
    """Return the node as it is without an API server, on a machine with these facts."""
    return NodeView(
        name=settings.node_name,
        labels={
            **default_labels(settings.node_name, facts.architecture),
            **facts.labels,
            **settings.node_labels,
        },
        taints=facts.taints if settings.taints is None else settings.taints,
        allocatable=allocatable(node_resources(settings), facts),
    )


def machine_memory() -> int:
    """Return the memory of this machine, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")


LOOK_EVERY: Final = Seconds(5.0)


class CurrentAddresses:
    """The addresses of a few seconds ago at the oldest. On any thread, and without blocking.

    While the machine has none, between two leases say, those that it had last count. Each look replaces one
    value, so two threads that look at the same time do no harm.
    """

    def __init__(
        self,
        look: Callable[[], tuple[str, ...]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``look`` returns the addresses as they are, the most important one first."""
        self._look = look
        self._monotonic = monotonic
        self._seen: tuple[float, tuple[str, ...]] | None = None
        """When they were looked up last, and what they were."""

    def __call__(self) -> tuple[str, ...]:
        """Return the addresses, the most important one first."""
        now, seen = self._monotonic(), self._seen
        if seen is not None and now < seen[0] + LOOK_EVERY:
            return seen[1]
        addresses = self._look() or (seen[1] if seen is not None else ())
        self._seen = now, addresses
        return addresses
