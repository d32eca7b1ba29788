"""The SELinux label of a pod or of a container. Pure."""

from __future__ import annotations

from messages.pods import JsonObject
from runtimes.cri.wire import cri_pb2 as cri


def selinux_options(given: JsonObject | None) -> cri.SELinuxOption | None:
    """Return the label's parts as ``seLinuxOptions`` gives them; None where it gives none."""
    if not given:
        return None
    return cri.SELinuxOption(
        user=given.get("user") or "",
        role=given.get("role") or "",
        type=given.get("type") or "",
        level=given.get("level") or "",
    )
