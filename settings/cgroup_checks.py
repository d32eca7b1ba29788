"""Checks of what is said of cgroups. Each complaint is a ``UsageError`` with one sentence."""

from __future__ import annotations

from typing import Final

from messages.cgroup_roots import is_root
from settings.configuration.schema import KubeletConfiguration
from settings.errors import UsageError

DRIVERS: Final = ("cgroupfs", "systemd")
SHORTEST_PERIOD: Final = 0.001
LONGEST_PERIOD: Final = 1.0
"""Seconds. The Linux kernel takes no other ones."""
_PODS: Final = "pods"
_NOTHING: Final = "none"


def check_cgroups_told(configuration: KubeletConfiguration) -> None:
    """Raise ``UsageError`` for the first value that is none."""
    driver, root = configuration.cgroupDriver, configuration.cgroupRoot or "/"
    if driver not in DRIVERS:
        raise UsageError(
            f"cgroupDriver {driver[:32]!r} should be {' or '.join(DRIVERS)}", at="cgroupDriver"
        )
    _check_enforced(configuration)
    period = configuration.value_of("cpuCFSQuotaPeriod")
    if not SHORTEST_PERIOD <= period <= LONGEST_PERIOD:
        raise UsageError(
            f"cpuCFSQuotaPeriod must be from 1ms to 1s, not {period} s", at="cpuCFSQuotaPeriod"
        )
    if not is_root(root):
        raise UsageError(
            f"cgroupRoot must be an absolute path of plain names, not {root[:256]!r}",
            at="cgroupRoot",
        )


def _check_enforced(configuration: KubeletConfiguration) -> None:
    name = "enforceNodeAllocatable"
    enforced = {*configuration.enforceNodeAllocatable}
    if _NOTHING in enforced and len(configuration.enforceNodeAllocatable) > 1:
        raise UsageError(f"{name} has none, and something else beside it", at=name)
    for each in sorted(enforced - {_PODS, _NOTHING}):
        raise UsageError(
            f"{name}: {each[:64]} is not supported: only pods are held to their share", at=name
        )
    if enforced - {_NOTHING} and not configuration.cgroupsPerQOS:
        raise UsageError(
            f"{name} needs cgroupsPerQOS: without it there is no cgroup of all pods",
            at="cgroupsPerQOS",
        )
