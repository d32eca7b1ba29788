"""Makes the settings of real containers: flags over the configuration over defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from manifests.quantities import amount, is_quantity
from messages.pods import JsonObject
from settings.configuration.schema import KubeletConfiguration
from settings.container_checks import check_containers
from settings.containers import ContainerSettings
from settings.errors import UsageError
from settings.image_checks import check_images

SERVED_OF_CONTAINERS: Final = frozenset({
    "containerRuntimeEndpoint",
    "imageServiceEndpoint",
    "clusterDNS",
    "clusterDomain",
    "resolvConf",
    "seccompDefault",
    "allowedUnsafeSysctls",
    "cgroupsPerQOS",
    "cgroupRoot",
    "cgroupDriver",
    "podPidsLimit",
    "cpuCFSQuota",
    "cpuCFSQuotaPeriod",
    "singleProcessOOMKill",
    "enforceNodeAllocatable",
    "podLogsDir",
    "containerLogMaxSize",
    "containerLogMaxFiles",
    "containerLogMaxWorkers",
    "containerLogMonitorInterval",
    "serializeImagePulls",
    "maxParallelImagePulls",
    "registryPullQPS",
    "registryBurst",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "imageMinimumGCAge",
    "imageMaximumGCAge",
    "imagePullCredentialsVerificationPolicy",
    "preloadedImagesVerificationAllowlist",
    "userNamespaces.idsPerPod",
})  # fmt: skip
"""Fields that have an effect where real containers run."""

MOST_SERIAL: Final = 2
"""Pulls at the same time from which on they are not serial."""
LONGEST_SOCKET: Final = 107
"""Bytes of the path of a Unix socket, by the kernel's limit."""


def names_endpoint(configuration: KubeletConfiguration) -> bool:
    """Return whether anybody has named the socket of a runtime."""
    return bool(configuration.containerRuntimeEndpoint)


def containers_of(configuration: KubeletConfiguration) -> ContainerSettings:
    """Return how containers are run. Raises ``UsageError``."""
    value = configuration.value_of
    runtime, images = configuration.containerRuntimeEndpoint, configuration.imageServiceEndpoint
    is_serial = _serializes_pulls(configuration)
    check_containers(configuration)
    check_images(configuration, is_serial=is_serial)
    return ContainerSettings(
        container_runtime_endpoint=(
            socket_of("containerRuntimeEndpoint", runtime) if runtime else None
        ),
        image_service_endpoint=socket_of("imageServiceEndpoint", images) if images else None,
        cluster_dns=tuple(configuration.clusterDNS),
        cluster_domain=configuration.clusterDomain,
        resolv_conf=configuration.resolvConf,
        seccomp_default=configuration.seccompDefault,
        allowed_unsafe_sysctls=tuple(configuration.allowedUnsafeSysctls),
        cgroups_per_qos=configuration.cgroupsPerQOS,
        cgroup_root=configuration.cgroupRoot or "/",
        cgroup_driver=configuration.cgroupDriver,
        pod_pids_limit=configuration.podPidsLimit,
        cpu_cfs_quota=configuration.cpuCFSQuota,
        cpu_cfs_quota_period=value("cpuCFSQuotaPeriod"),
        single_process_oom_kill=_said(configuration, "singleProcessOOMKill"),
        enforce_node_allocatable=frozenset(configuration.enforceNodeAllocatable),
        pod_logs_dir=Path(configuration.podLogsDir),
        container_log_max_size=_size(configuration.containerLogMaxSize),
        container_log_max_files=configuration.containerLogMaxFiles,
        container_log_max_workers=value("containerLogMaxWorkers"),
        container_log_monitor_interval=value("containerLogMonitorInterval"),
        ids_per_pod=configuration.userNamespaces.value_of("idsPerPod"),
        serialize_image_pulls=is_serial,
        max_parallel_image_pulls=_said(configuration, "maxParallelImagePulls"),
        registry_pull_qps=configuration.registryPullQPS,
        registry_burst=configuration.registryBurst,
        image_gc_high_threshold_percent=configuration.imageGCHighThresholdPercent,
        image_gc_low_threshold_percent=configuration.imageGCLowThresholdPercent,
        image_minimum_gc_age=value("imageMinimumGCAge"),
        image_maximum_gc_age=value("imageMaximumGCAge"),
        image_pull_credentials_verification_policy=(
            configuration.imagePullCredentialsVerificationPolicy
        ),
        preloaded_images_verification_allowlist=tuple(
            configuration.preloadedImagesVerificationAllowlist
        ),
    )


def socket_of(name: str, endpoint: str) -> Path:
    """Return the path of the socket that ``endpoint`` names, as a URL or as a path. Raises ``UsageError``."""
    parts = urlsplit(endpoint)
    if parts.scheme not in {"", "unix"} or parts.netloc or not parts.path.startswith("/"):
        raise UsageError(
            f"{name} {endpoint[:128]!r} should be unix:// with an absolute path", at=name
        )
    if len(parts.path.encode()) > LONGEST_SOCKET:
        raise UsageError(
            f"{name} is longer than {LONGEST_SOCKET} bytes, which no socket's path can be",
            at=name,
        )
    return Path(parts.path)


def fields_of_containers(
    configuration: KubeletConfiguration, containers: ContainerSettings
) -> JsonObject:
    """Return the fields of ``SERVED_OF_CONTAINERS`` as they are in effect."""
    names = {name.partition(".")[0] for name in SERVED_OF_CONTAINERS}
    shown = configuration.model_dump(mode="json", include=names)
    return {
        **{name: shown[name] for name in sorted(shown)},
        "containerRuntimeEndpoint": _endpoint(containers.container_runtime_endpoint),
        "imageServiceEndpoint": _endpoint(
            containers.image_service_endpoint or containers.container_runtime_endpoint
        ),
        "cgroupRoot": containers.cgroup_root,
        "containerLogMaxWorkers": containers.container_log_max_workers,
        "userNamespaces": {"idsPerPod": containers.ids_per_pod},
        "serializeImagePulls": containers.serialize_image_pulls,
    }


def _endpoint(socket: Path | None) -> str:
    return f"unix://{socket}" if socket is not None else ""


def _size(text: str) -> int:
    if not is_quantity(text):
        raise UsageError(
            f"containerLogMaxSize {text[:32]!r} should be a quantity, such as 10Mi",
            at="containerLogMaxSize",
        )
    size = int(amount(text))
    if size == 0:
        raise UsageError(
            f"containerLogMaxSize {text[:32]!r} should be more than nothing, or below it for no rotation",
            at="containerLogMaxSize",
        )
    return size


def _serializes_pulls(configuration: KubeletConfiguration) -> bool:
    """Return whether images are pulled one after the other: who names a number of pulls wants that many."""
    if "serializeImagePulls" in configuration.model_fields_set:
        return configuration.serializeImagePulls
    return "maxParallelImagePulls" not in configuration.model_fields_set or (
        configuration.maxParallelImagePulls < MOST_SERIAL
    )


def _said(configuration: KubeletConfiguration, name: str) -> Any:
    """Return the value of a field; None where nothing was said."""
    return getattr(configuration, name) if name in configuration.model_fields_set else None
