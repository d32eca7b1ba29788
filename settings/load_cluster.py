"""Makes the settings of a node of a cluster: flags over the configuration over defaults."""

from __future__ import annotations

from messages.pods import JsonObject
from messages.units import Seconds
from settings.cluster import ChangeDetection, ClusterSettings
from settings.configuration.schema import KubeletConfiguration
from settings.errors import UsageError
from settings.flags.command_line import CommandLine

SERVED_IN_A_CLUSTER = frozenset({
    "registerNode",
    "syncFrequency",
    "configMapAndSecretChangeDetectionStrategy",
    "kubeAPIQPS",
    "kubeAPIBurst",
    "eventRecordQPS",
    "eventBurst",
    "nodeStatusUpdateFrequency",
    "nodeStatusReportFrequency",
    "nodeLeaseDurationSeconds",
    "enableControllerAttachDetach",
})  # fmt: skip
"""Fields of the configuration file that have an effect once there is a cluster."""
FLAGS_OF_A_CLUSTER = ("--node-ip",)
"""Flags that set no field, and have an effect once there is a cluster."""


def fields_of_a_cluster(configuration: KubeletConfiguration) -> JsonObject:
    """Return the fields of ``SERVED_IN_A_CLUSTER`` in JSON, as a node of a cluster obeys them."""
    obeyed = {
        name: configuration.value_of(name)
        for name in SERVED_IN_A_CLUSTER
        if not isinstance(getattr(configuration, name), bool)  # false is no request for the default
    }
    obeyed["eventRecordQPS"] = (
        configuration.eventRecordQPS
    )  # 0 is no request for the default either
    obeyed["nodeStatusReportFrequency"] = _report_frequency(configuration)
    shown = configuration.model_copy(update=obeyed).model_dump(
        mode="json", by_alias=True, include=set(SERVED_IN_A_CLUSTER)
    )
    return dict(shown)


def _report_frequency(configuration: KubeletConfiguration) -> float:
    given = configuration.model_fields_set
    follows = "nodeStatusReportFrequency" not in given and "nodeStatusUpdateFrequency" in given
    # Rule N2.
    name = "nodeStatusUpdateFrequency" if follows else "nodeStatusReportFrequency"
    frequency: float = configuration.value_of(name)
    return frequency


def cluster_settings_of(
    line: CommandLine, configuration: KubeletConfiguration
) -> ClusterSettings | None:
    """Return how to be a node of a cluster; None for a standalone agent. Raises ``UsageError``."""
    for name in ("eventRecordQPS", "eventBurst"):
        if getattr(configuration, name) < 0:
            raise UsageError(f"{name} {getattr(configuration, name)} should be at least 0", at=name)
    if not line.kubeconfig and not line.in_cluster:
        return None
    value = configuration.value_of
    return ClusterSettings(
        kubeconfig=line.kubeconfig,
        register_node=configuration.registerNode,
        node_ips=line.node_ip,
        controller_attach_detach=configuration.enableControllerAttachDetach,
        qps=value("kubeAPIQPS"),
        burst=value("kubeAPIBurst"),
        event_qps=configuration.eventRecordQPS,  # 0 is a limit that was taken away
        event_burst=value("eventBurst"),
        status_update_frequency=Seconds(value("nodeStatusUpdateFrequency")),
        status_report_frequency=Seconds(_report_frequency(configuration)),
        lease_duration=Seconds(float(value("nodeLeaseDurationSeconds"))),
        change_detection=ChangeDetection(value("configMapAndSecretChangeDetectionStrategy")),
    )
