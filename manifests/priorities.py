"""Which pods a node must run before others. Pure."""

from __future__ import annotations

from typing import Final

from messages.pods import Pod

CRITICAL_PRIORITY: Final = 2_000_000_000
"""From here on a priority is one of the system's own."""


def priority_of(pod: Pod) -> int | None:
    """Return the pod's priority; None if it has none, which compares with no other."""
    priority: int | None = (pod.document.get("spec") or {}).get("priority")
    return priority


def is_critical(pod: Pod) -> bool:
    """Return whether the node must run the pod: it is static, a mirror, or the system's own."""
    return pod.is_static or pod.is_mirror or (priority_of(pod) or 0) >= CRITICAL_PRIORITY
