"""Checks of what is said of real containers. Each complaint is a ``UsageError`` with one sentence."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final

from settings.cgroup_checks import check_cgroups_told
from settings.configuration.schema import KubeletConfiguration
from settings.errors import UsageError

ANY_NUMBER_OF_PIDS: Final = -1
FEWEST_LOGS: Final = 2
SHORTEST_LOG_INTERVAL: Final = 3.0
"""Seconds. A kubelet takes no fewer either."""
IDS_OF_POD: Final = 65536
"""User ids of a pod are a multiple of these, as in a kubelet."""
MOST_IDS_OF_POD: Final = 2**20
LONGEST_DOMAIN: Final = 253
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def check_containers(configuration: KubeletConfiguration) -> None:
    """Raise ``UsageError`` for the first value that is none."""
    _check_dns(configuration)
    _check_paths(configuration)
    _check_logs(configuration)
    _check_numbers(configuration)
    check_cgroups_told(configuration)


def _check_dns(configuration: KubeletConfiguration) -> None:
    for address in configuration.clusterDNS:
        try:
            ip_address(address)
        except ValueError:
            raise UsageError(
                f"clusterDNS {address[:64]!r} should be an IP address", at="clusterDNS"
            ) from None
    domain = configuration.clusterDomain
    labels = domain.removesuffix(".").split(".")
    if domain and not (len(domain) <= LONGEST_DOMAIN and all(map(_LABEL.fullmatch, labels))):
        raise UsageError(
            f"clusterDomain {domain[:64]!r} should be a domain in lower case", at="clusterDomain"
        )


def _check_paths(configuration: KubeletConfiguration) -> None:
    logs = configuration.podLogsDir
    if not logs.startswith("/") or ".." in logs.split("/") or not logs.strip("/"):
        raise UsageError(
            f"podLogsDir {logs[:128]!r} should be an absolute path below /", at="podLogsDir"
        )
    for name in ("podLogsDir", "resolvConf", "containerRuntimeEndpoint", "imageServiceEndpoint"):
        path: str = getattr(configuration, name)
        if not path.isprintable():
            raise UsageError(
                f"{name} {path[:128]!r} has characters that no path here may have", at=name
            )


def _check_logs(configuration: KubeletConfiguration) -> None:
    if configuration.containerLogMaxFiles < FEWEST_LOGS:
        raise UsageError(
            f"containerLogMaxFiles {configuration.containerLogMaxFiles} should be at least "
            f"{FEWEST_LOGS}: the log and one that was rotated",
            at="containerLogMaxFiles",
        )
    workers = configuration.value_of("containerLogMaxWorkers")
    if workers < 1:
        raise UsageError(
            f"containerLogMaxWorkers {workers} should be at least 1", at="containerLogMaxWorkers"
        )
    if configuration.value_of("containerLogMonitorInterval") < SHORTEST_LOG_INTERVAL:
        raise UsageError(
            "containerLogMonitorInterval should be at least 3s", at="containerLogMonitorInterval"
        )


def _check_numbers(configuration: KubeletConfiguration) -> None:
    pids = configuration.podPidsLimit
    if pids < ANY_NUMBER_OF_PIDS:
        raise UsageError(
            f"podPidsLimit {pids} should be a number of processes, or -1 for any", at="podPidsLimit"
        )
    ids = configuration.userNamespaces.value_of("idsPerPod")
    if ids % IDS_OF_POD or not IDS_OF_POD <= ids <= MOST_IDS_OF_POD:
        raise UsageError(
            f"userNamespaces.idsPerPod {ids} should be a multiple of {IDS_OF_POD}, "
            f"up to {MOST_IDS_OF_POD}",
            at="userNamespaces.idsPerPod",
        )
