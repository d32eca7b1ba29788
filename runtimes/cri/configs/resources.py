"""Resources in the words of the runtime's interface. Pure."""

from __future__ import annotations

from runtimes.cri.cgroups.container_limits import LinuxResources
from runtimes.cri.wire import cri_pb2 as cri


def linux_resources(resources: LinuxResources) -> cri.LinuxContainerResources:
    """Return what a runtime is told of ``resources``."""
    return cri.LinuxContainerResources(
        cpu_shares=resources.cpu_shares,
        cpu_quota=resources.cpu_quota,
        cpu_period=resources.cpu_period,
        memory_limit_in_bytes=resources.memory_limit,
        memory_swap_limit_in_bytes=resources.memory_swap_limit,
        oom_score_adj=resources.oom_score_adj,
        hugepage_limits=[
            cri.HugepageLimit(page_size=size, limit=limit) for size, limit in resources.huge_pages
        ],
        unified=resources.unified,
    )
