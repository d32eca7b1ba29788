"""The settings that only a node of a cluster has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from messages.units import Seconds
from settings.checks import at_least
from settings.kinds import ADDRESSES, DURATION, INTEGER, NUMBER, PAUSE, SWITCH, choice
from settings.rows import Section, ToldValues, row
from settings.situation import Where


class ChangeDetection(StrEnum):
    """How changes of Secrets and ConfigMaps are noticed, in the configuration file's words."""

    WATCH = "Watch"
    """The API server tells of each change at once."""
    CACHE = "Cache"
    """An object is fetched again when it is read and too old. The Node's annotation says how old that is."""
    GET = "Get"
    """An object is fetched each time it is read."""


def _report_frequency(told: ToldValues) -> Any:
    """Return what was said of reports or, by rule N2, what was said of looks alone."""
    given = told.given
    follows = "nodeStatusReportFrequency" not in given and "nodeStatusUpdateFrequency" in given
    return told["nodeStatusUpdateFrequency" if follows else "nodeStatusReportFrequency"]


_row = partial(row, section=Section.CLUSTER, where=Where.CLUSTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How this agent is a node of a cluster."""

    kubeconfig: Path | None
    """How to get to the API server. ``None``: as the service account of the pod that the agent runs in. Read
    each time it is needed, since it may appear later and may change."""
    register_node: bool = _row(
        SWITCH,
        "registerNode",
        default=True,
        flag="--register-node",
        says="Create the Node if there is none",
    )
    """If off, somebody else has to create the Node."""
    node_ips: tuple[str, ...] = _row(
        ADDRESSES,
        flag="--node-ip",
        says="Addresses of the Node",
        default_says="that of the default route",
    )
    """Addresses of the Node; empty for that of the default route."""
    qps: int = _row(
        NUMBER,
        "kubeAPIQPS",
        50,
        flag="--kube-api-qps",
        says="Requests a second to the API server",
        zero_is_default=True,
    )
    """On average; negative for no limit."""
    burst: int = _row(
        NUMBER,
        "kubeAPIBurst",
        100,
        flag="--kube-api-burst",
        says="Requests at once after a pause",
        zero_is_default=True,
    )
    event_qps: int = _row(
        NUMBER,
        "eventRecordQPS",
        50,
        flag="--event-qps",
        says="Events a second to the API server; 0 for any",
        settle=at_least(0),
    )
    """Events a second that are posted, on average; 0 is a limit that was taken away."""
    event_burst: int = _row(
        NUMBER,
        "eventBurst",
        100,
        flag="--event-burst",
        says="Events at once after a pause",
        zero_is_default=True,
        settle=at_least(0),
    )
    status_update_frequency: Seconds = _row(
        PAUSE,
        "nodeStatusUpdateFrequency",
        10.0,
        flag="--node-status-update-frequency",
        says="Time between two looks at the machine",
        zero_is_default=True,
    )
    status_report_frequency: Seconds = _row(
        DURATION,
        "nodeStatusReportFrequency",
        300.0,
        says="Time between two reports of a status that does not change; as "
        "`nodeStatusUpdateFrequency` if only that is set",
        zero_is_default=True,
        derive=_report_frequency,
    )
    lease_duration: Seconds = _row(
        INTEGER,
        "nodeLeaseDurationSeconds",
        40,
        says="How long a renewal of the Lease is good",
        zero_is_default=True,
        settle=float,
    )
    """In seconds. The Lease is renewed after a quarter of that."""
    controller_attach_detach: bool = _row(
        SWITCH,
        "enableControllerAttachDetach",
        default=True,
        flag="--enable-controller-attach-detach",
        says="Let a controller attach the Node's volumes",
    )
    """A controller attaches the Node's volumes, and the Node says so."""
    change_detection: ChangeDetection = _row(
        choice("strategy", "Get", "Cache", "Watch"),
        "configMapAndSecretChangeDetectionStrategy",
        "Watch",
        says="How Secrets and ConfigMaps are kept current",
        more="secrets-and-configmaps.md#in-a-cluster",
        zero_is_default=True,
        settle=ChangeDetection,
    )
