"""All pods of the runtime, as others ask for them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from messages.pod_runtime import ContainerState, RuntimePod
from runtimes.provider.memory import VirtualMemory
from runtimes.provider.observing import runtime_pod
from runtimes.provider.pod_provider import PodReport
from runtimes.provider.reports import Nonsense


def is_stranger(report: PodReport | Nonsense) -> bool:
    """Whether a pod that nobody commanded does not say whose it is. Else it may have outlived the agent."""
    return not isinstance(report, PodReport) or not (report.name and report.namespace)


def listed(memory: VirtualMemory) -> tuple[RuntimePod, ...]:
    """Return all pods that the last observation told of, without those that nobody knows."""
    return tuple(
        runtime_pod(uid, report, memory.pods.get(uid))
        for uid, report in memory.readings.items()
        if isinstance(report, PodReport)
        and (uid in memory.pods or not is_stranger(report))
        and uid not in memory.forgotten
    )


def counted(memory: VirtualMemory) -> Mapping[ContainerState, int]:
    """Return how many containers are in each state."""
    states: Counter[ContainerState] = Counter()
    for it in memory.pods.values():
        histories = it.state.containers.values() if it.state is not None else ()
        states.update(each.current.state for each in histories if each.current is not None)
    return states
