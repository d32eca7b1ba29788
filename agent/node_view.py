"""What the settings mean for the node: its resources, and how admission sees it before anybody else does."""

from __future__ import annotations

import os

from actors.node.document import default_labels
from actors.node.machine import MachineFacts
from actors.node.resources import NodeResources, allocatable
from actors.pods.node_fit import NodeView
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
        stated={} if settings.runtime is None else settings.runtime.hollow.capacity,
        is_machine=told.is_machine,
        reserved=told.reserved,
        thresholds=told.thresholds,
    )


def own_label(settings: Settings) -> tuple[str, str] | None:
    """Return the label without which a Node that exists is left alone; None if any Node is taken over."""
    runtime = settings.runtime
    is_picky = (
        runtime is not None and runtime.kind is RuntimeKind.HOLLOW and not runtime.hollow.is_forced
    )
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
