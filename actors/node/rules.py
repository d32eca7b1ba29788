"""What the node's actors were told to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel import Backoff
from messages.pods import JsonObject
from messages.units import Seconds

RETRIES = Backoff(initial=Seconds(0.2), cap=Seconds(7.0), jitter=Seconds(0.1))
"""Between attempts at the API server, as a kubelet's (rules N1, N5): from 0.2 s, doubling to 7 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRules:
    """What the Node was told to be, and when it is looked at."""

    name: str
    version: str
    """The agent's own, such as ``0.1.0``."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of ``--node-labels``; stronger than those every Node has."""
    taints: tuple[JsonObject, ...] = ()
    """Of ``--register-with-taints``: they are set when the Node is created, and never again."""
    register: bool = True
    """Create the Node when there is none, and see to its labels. Its status is reported in any case."""
    max_pods: int = 110
    endpoint_port: int = 0
    """Where the agent serves the API server's requests; 0 while it serves none."""
    status_update_frequency: Seconds = Seconds(10.0)
    """Between two looks at the machine."""
    status_report_frequency: Seconds = Seconds(300.0)
    """A status that stays the same is reported this often all the same."""
    pressure_transition_period: Seconds = Seconds(300.0)
    """How long a pressure must be over before its condition says so: one that comes and goes does not
    move the condition each time (rule E4)."""


def jittered(period: Seconds, share: float) -> Seconds:
    """Return ``period`` and up to ``share`` of it more: what starts together drifts apart."""
    more = Seconds(period * share)
    return Backoff(initial=period, cap=Seconds(period + more), jitter=more).delay(1)
