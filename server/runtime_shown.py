"""What runs the pods, in one line for people. Pure."""

from __future__ import annotations

from messages.container_runtime_health import ContainerRuntimeDescribed
from messages.pod_runtime import RuntimeDescribed
from messages.pods import JsonObject
from server.answers import Unanswered

HOLLOW = "hollow"
PRETENDS = "hollow: nothing really runs"


def runtime_shown(
    kind: str,
    runtime: RuntimeDescribed | Unanswered | None,
    containers: ContainerRuntimeDescribed | Unanswered | None,
) -> JsonObject | None:
    """Return what the command and the page show of the runtime of this ``kind``; None without one."""
    if kind == HOLLOW:
        return {"kind": kind, "text": PRETENDS, "ok": True}
    told = containers or runtime
    if told is None:
        return None
    if isinstance(told, Unanswered):
        return {"kind": kind, "text": told.reason, "ok": False}
    name = named(told)
    text = ": ".join(filter(None, (name, told.trouble)))
    return {"kind": kind, "text": text, "ok": not told.trouble}


def named(runtime: ContainerRuntimeDescribed | RuntimeDescribed) -> str:
    """Return which runtime it is, and where; empty while that is not known."""
    endpoint = runtime.endpoint if isinstance(runtime, ContainerRuntimeDescribed) else ""
    at = f"at {endpoint}" if endpoint and runtime.name else ""
    return " ".join(filter(None, (runtime.name, runtime.version, at)))
