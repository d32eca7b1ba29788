"""The settings that only a node of a cluster has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from messages.units import Seconds


class ChangeDetection(StrEnum):
    """How changes of Secrets and ConfigMaps are noticed, in the configuration file's words."""

    WATCH = "Watch"
    """The API server tells of each change at once."""
    CACHE = "Cache"
    """An object is fetched again when it is read and too old. The Node's annotation says how old that is."""
    GET = "Get"
    """An object is fetched each time it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How this agent is a node of a cluster."""

    kubeconfig: Path | None
    """How to get to the API server. ``None``: as the service account of the pod that the agent runs in. Read
    each time it is needed, since it may appear later and may change."""
    register_node: bool
    """Create the Node if there is none. If off, somebody else has to."""
    node_ips: tuple[str, ...]
    """Addresses of the Node; empty for that of the default route."""
    controller_attach_detach: bool
    """``enableControllerAttachDetach``: a controller attaches the Node's volumes, and the Node says so."""
    qps: int
    """Requests a second to the API server, on average; negative for no limit."""
    burst: int
    """Requests that may be sent at once after a pause."""
    event_qps: int
    """``eventRecordQPS``: events a second that are posted, on average; 0 for no limit."""
    event_burst: int
    """``eventBurst``: events that may be posted at once after a pause."""
    status_update_frequency: Seconds
    """Time between two looks at the machine."""
    status_report_frequency: Seconds
    """Time between two reports of a status that does not change."""
    lease_duration: Seconds
    """For how long a renewal of the Lease is valid. It is renewed after a quarter of that."""
    change_detection: ChangeDetection
    """``configMapAndSecretChangeDetectionStrategy``."""
