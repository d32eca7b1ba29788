"""What the agent is told of the node's resources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from manifests.requests import Amounts
from manifests.thresholds import DEFAULT_THRESHOLDS, Thresholds

NO_LIMIT_OF_PODS: Final = 2**31 - 1
"""The greatest number that ``maxPods`` can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSettings:
    """What the node has for pods, beside what the machine shows."""

    max_pods: int
    """Pods that the node takes."""
    pods_per_core: int = 0
    """Pods for each core, where that is less; 0 for no such limit."""
    reserved: Amounts = field(default_factory=dict)
    """What system and agent need: ``systemReserved`` and ``kubeReserved`` together."""
    thresholds: Thresholds = field(default_factory=lambda: DEFAULT_THRESHOLDS)
    """What has to stay free, by signal: ``evictionHard``."""
    hollow_capacity: Amounts = field(default_factory=dict)
    """``--hollow-capacity``: amounts that count in place of the machine's."""
    is_machine: bool = True
    """What the machine has limits what pods may request. So it is wherever the amounts are told to a
    scheduler. A node by itself whose pods need nothing of the machine has no such limit."""
