"""What the settings mean for those who run containers. A part of ``cri_runtime``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from actors.logs.layout import LogOptions
from files.cgroups.options import CgroupDriver, CgroupOptions, refusals
from manifests.requests import Amounts
from runtimes.cri.configs.dns import parse_resolv_conf
from runtimes.cri.configs.namespaces import sysctl_trouble
from runtimes.cri.configs.node import CriNode, NodeDns, ResolvConf
from runtimes.cri.disk.node_files import kernel_security, read_resolv_conf
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
