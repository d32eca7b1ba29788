"""What an agent that joins a cluster was told beside the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from messages.pods import JsonObject
from messages.units import Seconds


class ChangeDetection(StrEnum):
    """How changes of Secrets and ConfigMaps are noticed, in the configuration file's words."""

    WATCH = "Watch"
    """The API server tells of each change at once."""
    CACHE = "Cache"
    """What is read is fetched anew when it is too old: the Node's annotation says how old that is."""
    GET = "Get"
    """What is read is fetched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How this agent is a node of a cluster."""

    kubeconfig: Path | None
    """How to get to the API server. ``None``: as the service account of the pod that we run in. Read when
    it is needed, again and again: it may appear later, and may change."""
    register_node: bool
    """Create the Node when there is none. Off: somebody else does."""
    node_labels: Mapping[str, str]
    """Labels that the Node gets beside those that every Node has."""
    taints: tuple[JsonObject, ...]
    """Taints of the Node, when this agent creates it; later they are the cluster's business."""
    node_ips: tuple[str, ...]
    """Addresses of the Node; empty for the one that the default route leaves from."""
    qps: int
    """Requests a second to the API server, on average; negative for as many as there are."""
    burst: int
    """Requests that may be sent at once after a pause."""
    status_update_frequency: Seconds
    """Time between two looks at the machine."""
    status_report_frequency: Seconds
    """Time between two reports of a status that does not change."""
    lease_duration: Seconds
    """For how long a renewal of the Lease is good; renewed at a quarter of it."""
    change_detection: ChangeDetection
    """``configMapAndSecretChangeDetectionStrategy``; Watch as in a kubelet."""
