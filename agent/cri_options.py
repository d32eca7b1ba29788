"""What the settings mean for those who run containers and pull images. A part of ``containers``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from actors.logs.layout import LogOptions
from files.cgroups.names import CgroupDriver, CgroupOptions, refusals
from kernel.commands import output_of
from manifests.requests import Amounts
from runtimes.cri.configs.dns import parse_resolv_conf
from runtimes.cri.configs.namespaces import sysctl_trouble
from runtimes.cri.configs.node import CriNode, NodeDns, ResolvConf
from runtimes.cri.disk.node_files import kernel_security, read_resolv_conf
from runtimes.cri.images.node_credentials import loaded_plugins, places
from runtimes.cri.images.options import (
    GarbageOptions,
    ImageOptions,
    NodeCredentials,
    PullOptions,
    VerificationOptions,
    VerificationPolicy,
    parallel_pulls,
)
from runtimes.cri.images.plugins import PluginConfigError
from settings.agent import Settings
from settings.containers import ContainerSettings
from settings.errors import UsageError

POD_LOGS: Final = Path("/var/log/pods")
CONTAINER_LOGS: Final = Path("/var/log/containers")
"""Where log collectors look. Links are made there only for logs in the usual place."""


def cgroup_options(told: ContainerSettings, capacity: Amounts, reserved: Amounts) -> CgroupOptions:
    """Return how cgroups are kept."""
    return CgroupOptions(
        per_qos=told.cgroups_per_qos,
        root=told.cgroup_root,
        driver=CgroupDriver(told.cgroup_driver),
        pods_pids=told.pod_pids_limit,
        has_cpu_quota=told.cpu_cfs_quota,
        cpu_period=told.cpu_cfs_quota_period,
        is_one_killed_alone=told.single_process_oom_kill,
        enforced=told.enforce_node_allocatable,
        capacity=capacity,
        reserved=reserved,
    )


def check_cgroups(options: CgroupOptions, *, is_unified: bool) -> None:
    """Raise ``UsageError`` if cgroups, of v2 or not, cannot be kept like that."""
    for sentence in refusals(options, is_unified=is_unified):
        raise UsageError(sentence)


def cri_node(settings: Settings, told: ContainerSettings, cgroups: CgroupOptions) -> CriNode:
    """Return the node as configurations depend on it, but its addresses. Reads its name servers.

    Raises ``UsageError``.
    """
    for pattern in told.allowed_unsafe_sysctls:
        if trouble := sysctl_trouble(pattern):
            raise UsageError(f"allowedUnsafeSysctls has {pattern[:64]!r}, which {trouble}")
    kernel = kernel_security()
    return CriNode(
        name=settings.node_name,
        root_dir=str(settings.root_dir.absolute()),
        pod_logs_dir=str(told.pod_logs_dir),
        dns=NodeDns(
            cluster_servers=told.cluster_dns,
            cluster_domain=told.cluster_domain,
            node=_resolv_conf(told.resolv_conf),
            file=told.resolv_conf,
            is_of_cluster=settings.cluster is not None,
        ),
        cgroups=cgroups,
        # Without a cluster there are none.
        runtime_classes=None if settings.cluster is not None else {},
        seccomp_default=told.seccomp_default,
        allowed_unsafe_sysctls=told.allowed_unsafe_sysctls,
        has_selinux=kernel.has_selinux,
        has_apparmor=kernel.has_apparmor,
    )


def _resolv_conf(file: str) -> ResolvConf | None:
    if not file:
        return None
    try:
        return parse_resolv_conf(read_resolv_conf(file))
    except OSError as error:
        raise UsageError(f"resolvConf {file} cannot be read: {error}") from None


def log_options(told: ContainerSettings) -> LogOptions:
    """Return where the logs of containers are, and how long they get."""
    return LogOptions(
        pods_directory=told.pod_logs_dir,
        links_directory=CONTAINER_LOGS if told.pod_logs_dir == POD_LOGS else None,
        max_size=told.container_log_max_size,
        max_files=told.container_log_max_files,
        workers=told.container_log_max_workers,
        monitor_interval=told.container_log_monitor_interval,
    )


RECORDS: Final = "image-pulls.json"
"""Below the agent's directory: whose credentials pulled which image."""
KUBELET_RECORDS: Final = "image_manager"
"""Where a kubelet has the same, if the directory is the kubelet's."""


def image_options(settings: Settings, told: ContainerSettings) -> ImageOptions:
    """Return how images are pulled, given and removed. Raises ``UsageError``."""
    root = settings.root_dir.absolute()
    return ImageOptions(
        pulls=_pulls(told),
        credentials=_credentials(root, told),
        verification=_verification(told),
        garbage=_garbage(told),
        records=root / RECORDS,
        kubelet_records=root / KUBELET_RECORDS,
        node=settings.node_name,
    )


def _pulls(told: ContainerSettings) -> PullOptions:
    return PullOptions(
        parallel=parallel_pulls(
            serialize=told.serialize_image_pulls, at_most=told.max_parallel_image_pulls
        ),
        per_second=float(told.registry_pull_qps),
        burst=told.registry_burst,
    )


def _credentials(root: Path, told: ContainerSettings) -> NodeCredentials:
    config, programs = told.image_credential_provider_config, told.image_credential_provider_bin_dir
    home = os.environ.get("HOME")
    try:
        plugins = loaded_plugins(config, programs) if config and programs else ()
    except PluginConfigError as error:
        raise UsageError(f"--image-credential-provider-config {error}") from None
    return NodeCredentials(
        directories=places(root, Path(home) if home else None),
        plugins=plugins,
        plugin_directory=programs,
        environment=os.environ,
        run=output_of,
    )


def _verification(told: ContainerSettings) -> VerificationOptions:
    return VerificationOptions(
        policy=VerificationPolicy(told.image_pull_credentials_verification_policy),
        allowlist=told.preloaded_images_verification_allowlist,
    )


def _garbage(told: ContainerSettings) -> GarbageOptions:
    return GarbageOptions(
        high_percent=told.image_gc_high_threshold_percent,
        low_percent=told.image_gc_low_threshold_percent,
        minimum_age=told.image_minimum_gc_age,
        maximum_age=told.image_maximum_gc_age,
    )
