"""The settings of the node's actors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from actors.node.resources import NodeResources
from kernel import Backoff
from messages.pods import JsonObject
from messages.units import Seconds

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
