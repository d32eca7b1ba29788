"""Flags of a kubelet, and fields of its file, that have no effect here, and why.

They are taken, so that the flags and the file of a kubelet's unit work unchanged.

Every flag that a kubelet from 1.20 to 1.36 knows on Linux or Windows is here, or in ``settings.table`` if it
is obeyed. The sources are the page "kubelet" of Kubernetes' reference of command line tools, and the code
that registers the flags: ``cmd/kubelet/app/options`` for its own and cAdvisor's, ``component-base/logs`` and
klog for those of logs. Every field that a kubelet up to 1.36 knows and nobody obeys is here too.

The value of a flag is taken as it is. It may be a secret, so it is neither kept nor shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from settings.kinds import (
    AMOUNTS,
    DURATION,
    FLUSH_FREQUENCY,
    FRACTION,
    GATES,
    GRACE_PERIODS,
    INTEGER,
    INTEGERS,
    LONG,
    MEMORY,
    QUANTITY,
    SWITCH,
    TEXT,
    VERBOSITIES,
)
from settings.rows import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutEffect:
    """Flags and fields that have no effect for one reason; flags between spaces, without their dashes."""

    instead: str
    """What is done instead, in words; empty for nothing."""
    fields: tuple[Field, ...] = ()
    """Of a KubeletConfiguration, with a kubelet's defaults: who sets one to that changes nothing."""
    switches: str = ""
    """Flags that take a value behind ``=`` only. What follows one is no value."""
    valued: str = ""
    """Flags that take a value, behind ``=`` or as the next argument."""

    def flags(self) -> frozenset[str]:
        """Return all of them, with their dashes."""
        return _dashed(f"{self.switches} {self.valued}")


def _dashed(names: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in names.split())


TABLE: Final[Sequence[WithoutEffect]] = (
    WithoutEffect(
        instead="logs go to standard error, as --logging-format and --v say",
        fields=(
            Field(FLUSH_FREQUENCY, "logging.flushFrequency", 5.0),
            Field(VERBOSITIES, "logging.vmodule"),
            Field(SWITCH, "logging.options.text.splitStream"),
            Field(QUANTITY, "logging.options.text.infoBufferSize", "0"),
            Field(SWITCH, "logging.options.json.splitStream"),
            Field(QUANTITY, "logging.options.json.infoBufferSize", "0"),
        ),
        switches="""
            add-dir-header alsologtostderr experimental-logging-sanitization log-json-split-stream
            log-text-split-stream logtostderr one-output skip-headers skip-log-headers
            """,
        valued="""
            log-backtrace-at log-dir log-file log-file-max-size log-flush-frequency
            log-json-info-buffer-size log-text-info-buffer-size stderrthreshold vmodule
            """,
    ),
    WithoutEffect(
        instead="swap is not looked at",
        fields=(
            Field(SWITCH, "failSwapOn", default=True),
            Field(TEXT, "memorySwap.swapBehavior"),
        ),
        switches="fail-swap-on",
    ),
    WithoutEffect(
        instead="the kernel's settings are not looked at",
        fields=(
            Field(SWITCH, "protectKernelDefaults"),
            Field(SWITCH, "failCgroupV1", default=True),
        ),
        switches="fail-cgroupv1 protect-kernel-defaults",
    ),
    WithoutEffect(
        instead="networks of pods are the container runtime's",
        fields=(
            Field(TEXT, "hairpinMode", "promiscuous-bridge"),
            Field(SWITCH, "makeIPTablesUtilChains", default=True),
            Field(INTEGER, "iptablesMasqueradeBit", 14),
            Field(INTEGER, "iptablesDropBit", 15),
        ),
        switches="make-iptables-util-chains",
        valued="""
            cni-bin-dir cni-cache-dir cni-conf-dir hairpin-mode iptables-drop-bit
            iptables-masquerade-bit network-plugin network-plugin-mtu non-masquerade-cidr
            """,
    ),
    WithoutEffect(
        instead="the container runtime names the image of sandboxes, which is never removed",
        valued="pod-infra-container-image",
    ),
    WithoutEffect(
        instead="each call has a deadline of its own: minutes where one that is cut off does harm",
        fields=(Field(DURATION, "runtimeRequestTimeout", 120.0),),
        valued="runtime-request-timeout",
    ),
    WithoutEffect(
        instead="--runtime and --container-runtime-endpoint say what runs pods",
        switches="experimental-dockershim redirect-container-streaming",
        valued="""
            container-runtime docker-endpoint experimental-dockershim-root-directory
            image-pull-progress-deadline
            """,
    ),
    WithoutEffect(
        instead="dead containers are removed as soon as their successors run",
        valued="""
            maximum-dead-containers maximum-dead-containers-per-container
            minimum-container-ttl-duration
            """,
    ),
    WithoutEffect(
        instead="not served yet",
        fields=(
            Field(DURATION, "volumeStatsAggPeriod", 60.0),
            Field(TEXT, "kubeletCgroups"),
            Field(TEXT, "systemCgroups"),
            Field(TEXT, "cpuManagerPolicy", "none"),
            Field(AMOUNTS, "cpuManagerPolicyOptions"),
            Field(DURATION, "cpuManagerReconcilePeriod", 10.0),
            Field(DURATION, "draManagerReconcilePeriod", 60.0),
            Field(TEXT, "memoryManagerPolicy", "None"),
            Field(TEXT, "topologyManagerPolicy", "none"),
            Field(TEXT, "topologyManagerScope", "container"),
            Field(AMOUNTS, "topologyManagerPolicyOptions"),
            Field(AMOUNTS, "qosReserved"),
            Field(AMOUNTS, "evictionSoft"),
            Field(AMOUNTS, "evictionSoftGracePeriod"),
            Field(DURATION, "evictionPressureTransitionPeriod", 300.0),
            Field(INTEGER, "evictionMaxPodGracePeriod"),
            Field(AMOUNTS, "evictionMinimumReclaim"),
            Field(TEXT, "reservedSystemCPUs"),
            Field(TEXT, "volumePluginDir", "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"),
            Field(SWITCH, "kernelMemcgNotification"),
            Field(DURATION, "shutdownGracePeriod"),
            Field(DURATION, "shutdownGracePeriodCriticalPods"),
            Field(GRACE_PERIODS, "shutdownGracePeriodByPodPriority"),
            Field(MEMORY, "reservedMemory"),
            Field(FRACTION, "memoryThrottlingFactor", 0.9),
            Field(TEXT, "memoryReservationPolicy", "None"),
            Field(TEXT, "tracing.endpoint"),
            Field(INTEGER, "tracing.samplingRatePerMillion"),
            Field(SWITCH, "localStorageCapacityIsolation", default=True),
        ),
        switches="""
            experimental-allocatable-ignore-eviction
            experimental-check-node-capabilities-before-mount
            experimental-kernel-memcg-notification keep-terminated-pod-volumes
            kernel-memcg-notification local-storage-capacity-isolation
            """,
        valued="""
            azure-container-registry-config bootstrap-checkpoint-path cpu-manager-policy
            cpu-manager-policy-options cpu-manager-reconcile-period
            eviction-max-pod-grace-period eviction-minimum-reclaim
            eviction-pressure-transition-period eviction-soft eviction-soft-grace-period
            experimental-mounter-path kubelet-cgroups master-service-namespace
            memory-manager-policy qos-reserved reserved-cpus reserved-memory runtime-cgroups
            seccomp-profile-root system-cgroups topology-manager-policy
            topology-manager-policy-options topology-manager-scope volume-plugin-dir
            volume-stats-agg-period
            """,
    ),
    WithoutEffect(
        instead="only pods have cgroups of the agent's",
        fields=(
            Field(TEXT, "systemReservedCgroup"),
            Field(TEXT, "kubeReservedCgroup"),
        ),
        valued="kube-reserved-cgroup system-reserved-cgroup",
    ),
    WithoutEffect(
        instead="the Node does not say it",
        fields=(
            Field(INTEGER, "nodeStatusMaxImages", 50),
            Field(TEXT, "providerID"),
        ),
        switches="register-schedulable",
        valued="cloud-config cloud-provider node-status-max-images provider-id",
    ),
    WithoutEffect(
        instead="the TLS server does not do that yet",
        fields=(
            Field(INTEGERS, "tlsCurvePreferences"),
            Field(SWITCH, "serverTLSBootstrap"),
            Field(SWITCH, "enableContentionProfiling"),
            Field(DURATION, "streamingConnectionIdleTimeout", 14400.0),
            Field(TEXT, "showHiddenMetricsForVersion"),
            Field(SWITCH, "enableSystemLogHandler", default=True),
            Field(SWITCH, "enableSystemLogQuery"),
            Field(SWITCH, "enableProfilingHandler", default=True),
            Field(SWITCH, "enableDebugFlagsHandler", default=True),
        ),
        switches="""
            contention-profiling enable-cadvisor-json-endpoints rotate-server-certificates
            """,
        valued="""
            show-hidden-metrics-for-version streaming-connection-idle-timeout
            tls-curve-preferences
            """,
    ),
    WithoutEffect(
        instead="credentials are those of --kubeconfig, read again when they change",
        fields=(Field(SWITCH, "rotateCertificates"),),
        switches="rotate-certificates",
        valued="bootstrap-kubeconfig experimental-bootstrap-kubeconfig",
    ),
    WithoutEffect(
        instead="requests are JSON",
        fields=(Field(TEXT, "contentType", "application/vnd.kubernetes.protobuf"),),
        valued="kube-api-content-type",
    ),
    WithoutEffect(
        instead="what starts the agent can set it, such as a systemd unit",
        fields=(
            Field(INTEGER, "oomScoreAdj", -999),
            Field(LONG, "maxOpenFiles", 1000000),
        ),
        valued="max-open-files oom-score-adj windows-priorityclass",
    ),
    WithoutEffect(
        instead="a --root-dir is always for one agent only",
        switches="exit-on-lock-contention",
        valued="lock-file",
    ),
    WithoutEffect(
        instead="there are no feature gates",
        fields=(Field(GATES, "featureGates"),),
        valued="feature-gates",
    ),
    WithoutEffect(
        instead="what has ended is cleared away at once, not every so often",
        fields=(Field(DURATION, "podHousekeepingPeriod", 2.0),),
    ),
    WithoutEffect(
        instead="there is no cAdvisor",
        switches="docker-only docker-tls enable-load-reader log-cadvisor-usage storage-driver-secure",
        valued="""
            application-metrics-count-limit boot-id-file container-hints containerd
            containerd-namespace docker docker-env-metadata-whitelist docker-root docker-tls-ca
            docker-tls-cert docker-tls-key event-storage-age-limit event-storage-event-limit
            global-housekeeping-interval housekeeping-interval machine-id-file
            storage-driver-buffer-duration storage-driver-db storage-driver-host
            storage-driver-password storage-driver-table storage-driver-user
            """,
    ),
    WithoutEffect(
        instead="",
        fields=(Field(SWITCH, "runOnce"),),
        switches="really-crash-for-testing runonce windows-service",
        valued="chaos-chance dynamic-config-dir",
    ),
)

SWITCHES: Final = frozenset[str]().union(*(_dashed(row.switches) for row in TABLE))
VALUED: Final = frozenset[str]().union(*(_dashed(row.valued) for row in TABLE))
REASONS: Final = {each.field: row.instead or "not served" for row in TABLE for each in row.fields}
"""Why each field has no effect that nobody obeys."""


def told(flags: Iterable[str]) -> str:
    """Return ``flags`` with what is done instead, for a sentence. Those with one reason are together."""
    given = list(dict.fromkeys(flags))
    parts = []
    for row in TABLE:
        names = ", ".join(name for name in given if name in row.flags())
        if names:
            parts.append(f"{names} ({row.instead})" if row.instead else names)
    return "; ".join(parts)
