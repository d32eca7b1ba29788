"""What may never be of two statuses of one object, the one after the other.

Restart counts never fall (4). A terminal phase stays, ``startTime`` is fixed, and an instance that ended does
not run again (6).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from messages.pods import TERMINAL_PHASES, JsonObject

_LISTS: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


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
