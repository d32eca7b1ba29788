"""What the agent is told of real containers: fields of a KubeletConfiguration, under their own names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from messages.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSettings:
    """How containers are run by a container runtime. Sizes are in bytes."""

    container_runtime_endpoint: Path | None
    """The socket of the runtime. None where nobody has named one: it is looked for."""
    image_service_endpoint: Path | None
    """The socket for images; None for the same."""

    cluster_dns: tuple[str, ...]
    cluster_domain: str
    resolv_conf: str
    """The file with the node's name servers; empty for none."""
    seccomp_default: bool
    allowed_unsafe_sysctls: tuple[str, ...]

    cgroups_per_qos: bool
    cgroup_root: str
    cgroup_driver: str
    pod_pids_limit: int
    cpu_cfs_quota: bool
    cpu_cfs_quota_period: Seconds
    single_process_oom_kill: bool | None
    """None where nothing was said: it depends on the version of cgroups."""
    enforce_node_allocatable: frozenset[str]

    pod_logs_dir: Path
    container_log_max_size: int
    container_log_max_files: int
    container_log_max_workers: int
    """Logs that are rotated, and so compressed, at the same time."""
    container_log_monitor_interval: Seconds

    ids_per_pod: int
    """``userNamespaces.idsPerPod``: user ids of a pod that has users of its own."""

    serialize_image_pulls: bool
    max_parallel_image_pulls: int | None
    """None where nothing was said."""
    registry_pull_qps: int
    registry_burst: int
    image_gc_high_threshold_percent: int
    image_gc_low_threshold_percent: int
    image_minimum_gc_age: Seconds
    image_maximum_gc_age: Seconds
    image_pull_credentials_verification_policy: str
    preloaded_images_verification_allowlist: tuple[str, ...]
    image_credential_provider_config: Path | None = None
    """``--image-credential-provider-config``."""
    image_credential_provider_bin_dir: Path | None = None
    """``--image-credential-provider-bin-dir``."""
