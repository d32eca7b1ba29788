"""The order in which pods that are listed together are looked at (rule L8). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from messages.pods import Pod


def by_creation(pods: Iterable[Pod]) -> list[Pod]:
    """Return ``pods`` from the oldest to the newest. Those without a moment come first, as they are."""
    return sorted(pods, key=_created)


def _created(pod: Pod) -> str:
    moment = (pod.document.get("metadata") or {}).get("creationTimestamp")
    return moment if isinstance(moment, str) else ""
