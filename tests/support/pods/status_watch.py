"""Looks at each status that the API server is given, and notes what may never be.

Restart counts never fall (4). A terminal phase stays, ``startTime`` is fixed, and an instance that ended does
not run again (6). A mirror may show one life of its static pod after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from messages.pods import CONFIG_MIRROR, TERMINAL_PHASES, JsonObject
from tests.support.apiserver.history import Change
from tests.support.apiserver.paths import POD
from tests.support.apiserver.store import ApiStore

_LISTS: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


class StatusWatch:
    """Watches the statuses of all pods of an API server."""

    def __init__(self, store: ApiStore) -> None:
        self.violations: list[str] = []
        store.follow(str(store.history.version), self._see)

    def _see(self, change: Change) -> None:
        if change.kind is not POD or change.before is None or change.is_gone:
            return
        metadata = change.after["metadata"]
        if CONFIG_MIRROR in (metadata.get("annotations") or {}):
            return
        name = metadata["name"]
        found = violations(change.before.get("status") or {}, change.after.get("status") or {})
        self.violations += [f"{name}: {each}" for each in found]


def violations(before: JsonObject, after: JsonObject) -> Iterator[str]:
    """Give what is wrong with the status ``after`` of an object that had the status ``before``."""
    phase, next_phase = before.get("phase"), after.get("phase")
    if phase in set(TERMINAL_PHASES) and next_phase != phase:
        yield f"6: it was {phase} and is {next_phase}"
    if before.get("startTime") not in {None, after.get("startTime")}:
        yield f"6: its start moves from {before['startTime']} to {after.get('startTime')}"
    newer = {each["name"]: each for each in _containers(after)}
    for old in _containers(before):
        new = newer.get(old["name"])
        if new is None:
            yield f"6: the status of {old['name']} is gone"
            continue
        if new["restartCount"] < min(old["restartCount"], 2**31 - 1):  # no more fit
            yield f"4: restarts of {old['name']} fall from {old['restartCount']} to {new['restartCount']}"
        ended = old["state"].get("terminated")
        is_same = old.get("containerID") and old.get("containerID") == new.get("containerID")
        if ended and is_same and "running" in new["state"]:
            yield f"6: {old['name']} runs again as {old['containerID']}"


def _containers(status: JsonObject) -> Iterator[dict[str, Any]]:
    return (each for name in _LISTS for each in status.get(name) or ())


def in_short(status: JsonObject) -> object:
    """Return what a status says, without times, addresses and ids: those differ from run to run."""
    conditions = status.get("conditions") or ()
    return {
        "phase": status.get("phase"),
        "reason": (status.get("reason"), status.get("message")),
        "conditions": {
            each["type"]: (each["status"], each.get("reason"), each.get("message"))
            for each in conditions
        },
        "has": sorted(key for key in status if key in {"podIP", "hostIP", "startTime"}),
        "containers": {each["name"]: _container_in_short(each) for each in _containers(status)},
    }


def _container_in_short(status: dict[str, Any]) -> object:
    parts = {key: status.get(key) for key in ("restartCount", "ready", "started", "image")}
    for state in ("state", "lastState"):
        parts[state] = {
            kind: (details.get("reason"), details.get("exitCode"), details.get("message"))
            for kind, details in (status.get(state) or {}).items()
        }
    return parts
