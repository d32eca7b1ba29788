"""What is said of pods with probes, as long as nobody runs these. Pure.

This page goes when there are probes, with the one line of ``worker_news`` that asks it.
"""

from __future__ import annotations

from typing import Final

from messages.pods import Pod
from messages.statuses import PodFailure
from stores.statuses.shown import containers, init_containers

_PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")


def unprobed(pod: Pod) -> PodFailure | None:
    """Return the event that the probes of ``pod`` are not run; None if it has none, or runs no more."""
    if pod.is_terminal or pod.is_deleting:
        return None
    found = [
        f"{probe} of {each['name']}"
        for each in (*init_containers(pod), *containers(pod))
        for probe in _PROBES
        if each.get(probe)
    ]
    if not found:
        return None
    message = f"Probes are not run yet and count as passed: {', '.join(found)}"
    return PodFailure(reason="ProbesNotRun", message=message)
