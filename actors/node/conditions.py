"""The Node's conditions: what is measured, what it means, and when it changed. Pure.

Four conditions are the agent's own. It never reads, sends or compares others, such as
``NetworkUnavailable`` or those of a node problem detector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from manifests.thresholds import (
    DEFAULT_THRESHOLDS,
    INODES_FREE,
    MEMORY_FREE,
    NO_THRESHOLD,
    PIDS_FREE,
    STORAGE_FREE,
    Threshold,
    Thresholds,
)
from manifests.times import rfc3339
from messages.pods import JsonObject
from messages.units import Seconds, Timestamp


class ConditionType(StrEnum):
    """The agent's own conditions, in the order in which they are reported (rule N4)."""

    MEMORY_PRESSURE = "MemoryPressure"
    DISK_PRESSURE = "DiskPressure"
    PID_PRESSURE = "PIDPressure"
    READY = "Ready"


class ConditionStatus(StrEnum):
    """The status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """How much of a resource there is, and how much is free; ``None`` where that is unknown."""

    free: int | None = None
    total: int | None = None

    def is_below(self, threshold: Threshold) -> bool | None:
        """Return whether less than ``threshold`` of it is free; None if that is unknown."""
        if self.free is None or not self.total:
            return None
        return self.free < threshold.of(self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class PressureSignals:
    """The measurements that pressures are judged by."""

    memory_free: int | None = None
    """Bytes available to programs without swapping."""
    memory: int | None = None
    """Bytes in all."""
    storage: Availability = field(default_factory=Availability)
    """Bytes of the filesystem of the root directory."""
    inodes: Availability = field(default_factory=Availability)
    """Inodes of the same filesystem."""
    pids: Availability = field(default_factory=Availability)


Pressures = Mapping[ConditionType, bool | None]
"""Whether each pressure exists; None where it cannot be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCondition:
    """One condition as it is at present, without its times."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str


def pressures(signals: PressureSignals, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> Pressures:
    """Return which pressures ``signals`` mean. DiskPressure covers both bytes and inodes."""

    def of(name: str) -> Threshold:
        return thresholds.get(name, NO_THRESHOLD)

    free = signals.memory_free
    memory = None if free is None else free < of(MEMORY_FREE).of(signals.memory)
    disk = _any(
        signals.storage.is_below(of(STORAGE_FREE)), signals.inodes.is_below(of(INODES_FREE))
    )
    return {
        ConditionType.MEMORY_PRESSURE: memory,
        ConditionType.DISK_PRESSURE: disk,
        ConditionType.PID_PRESSURE: signals.pids.is_below(of(PIDS_FREE)),
    }


def lasting_pressures(
    measured: Pressures, last_seen: Mapping[ConditionType, Seconds], now: Seconds, period: Seconds
) -> Pressures:
    """Return ``measured``, with each pressure kept until it was absent for ``period`` (rule N4)."""

    def lasts(condition: ConditionType) -> bool:
        return condition in last_seen and now - last_seen[condition] < period

    return {condition: lasts(condition) or seen for condition, seen in measured.items()}


def current_conditions(pressures: Pressures, failed: Sequence[str]) -> tuple[NodeCondition, ...]:
    """Return all four conditions. ``failed`` names the agent's own loops that fail."""
    return (*(_of_pressure(*item) for item in pressures.items()), _of_readiness(failed))


def with_troubles(
    found: Iterable[NodeCondition], troubles: Mapping[str, str], reason: str
) -> tuple[NodeCondition, ...]:
    """Return the conditions, and those bad that the runtime of pods says are bad, for a reason of its own."""

    def told(condition: NodeCondition) -> NodeCondition:
        message = troubles.get(condition.type.value)
        if message is None:
            return condition
        is_good_when_true = condition.type is ConditionType.READY
        bad = ConditionStatus.FALSE if is_good_when_true else ConditionStatus.TRUE
        return NodeCondition(type=condition.type, status=bad, reason=reason, message=message)

    return tuple(map(told, found))


def condition_documents(
    found: Iterable[NodeCondition], previous: Sequence[JsonObject], now: Timestamp
) -> list[JsonObject]:
    """Return the conditions to report at ``now``, as JSON.

    ``lastHeartbeatTime`` is now. ``lastTransitionTime`` is kept from ``previous`` unless the status
    changed; a changed reason does not move it.
    """
    before = by_type(previous)
    stamp = rfc3339(now)
    return [
        {
            "type": finding.type.value,
            "status": finding.status.value,
            "lastHeartbeatTime": stamp,
            "lastTransitionTime": _transition(finding, before.get(finding.type, {})) or stamp,
            "reason": finding.reason,
            "message": finding.message,
        }
        for finding in found
    ]


def conditions_differ(found: Iterable[NodeCondition], previous: Sequence[JsonObject]) -> bool:
    """Return whether ``previous`` differs in status, reason or message."""
    before = by_type(previous)
    return any(
        tuple(before.get(finding.type, {}).get(key) for key in ("status", "reason", "message"))
        != (finding.status, finding.reason, finding.message)
        for finding in found
    )


def by_type(conditions: Iterable[JsonObject]) -> dict[str, JsonObject]:
    """Return conditions by their type."""
    return {condition.get("type", ""): condition for condition in conditions}


def _transition(finding: NodeCondition, before: JsonObject) -> str:
    same = before.get("status") == finding.status
    return (before.get("lastTransitionTime") or "") if same else ""


def _any(*pressed: bool | None) -> bool | None:
    known = [each for each in pressed if each is not None]
    return any(known) if known else None


_PRESSURE_WORDS: Mapping[ConditionType, tuple[str, str, str]] = {
    ConditionType.MEMORY_PRESSURE: ("SufficientMemory", "InsufficientMemory", "memory"),
    ConditionType.DISK_PRESSURE: ("NoDiskPressure", "DiskPressure", "disk space and inodes"),
    ConditionType.PID_PRESSURE: ("SufficientPID", "InsufficientPID", "process IDs"),
}


def _of_pressure(condition: ConditionType, pressed: bool | None) -> NodeCondition:  # noqa: FBT001  # three values
    fine, tight, what = _PRESSURE_WORDS[condition]
    if pressed is None:
        return NodeCondition(
            type=condition,
            status=ConditionStatus.UNKNOWN,
            reason="AgentCannotMeasure",
            message=f"agent cannot measure how much of its {what} is free",
        )
    return NodeCondition(
        type=condition,
        status=ConditionStatus.TRUE if pressed else ConditionStatus.FALSE,
        reason=f"AgentHas{tight if pressed else fine}",
        message=f"agent has {'too little' if pressed else 'enough'} {what} available",
    )


def _of_readiness(failed: Sequence[str]) -> NodeCondition:
    if failed:
        return NodeCondition(
            type=ConditionType.READY,
            status=ConditionStatus.FALSE,
            reason="ActorsFailed",
            message=f"loops of the agent fail again and again: {', '.join(sorted(failed))}",
        )
    return NodeCondition(
        type=ConditionType.READY,
        status=ConditionStatus.TRUE,
        reason="AgentReady",
        message="agent is posting ready status",
    )
