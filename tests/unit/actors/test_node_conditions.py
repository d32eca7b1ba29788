"""The Node's conditions: thresholds, words, and the two times of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from actors.node.conditions import (
    Availability,
    ConditionStatus,
    ConditionType,
    NodeCondition,
    PressureSignals,
    condition_documents,
    conditions_differ,
    current_conditions,
    lasting_pressures,
    pressures,
)
from manifests.times import rfc3339
from messages.units import Seconds, Timestamp

MEMORY, DISK, PID, READY = ConditionType
MIB = 2**20
FINE = PressureSignals(
    memory_free=1000 * MIB,
    storage=Availability(free=50, total=100),
    inodes=Availability(free=50, total=100),
    pids=Availability(free=50, total=100),
)
THEN, NOW = Timestamp(1_700_000_000.0), Timestamp(1_700_000_060.9)


def ready(
    status: ConditionStatus = ConditionStatus.TRUE, reason: str = "AgentReady"
) -> NodeCondition:
    return NodeCondition(type=READY, status=status, reason=reason, message="")


@pytest.mark.parametrize(
    ("signals", "pressed"),
    [
        pytest.param(FINE, {}, id="nothing"),
        pytest.param(replace(FINE, memory_free=100 * MIB), {}, id="memory at the threshold"),
        pytest.param(replace(FINE, memory_free=100 * MIB - 1), {MEMORY: True}, id="memory"),
        pytest.param(replace(FINE, memory_free=0), {MEMORY: True}, id="no memory at all"),
        pytest.param(replace(FINE, memory_free=None), {MEMORY: None}, id="unknown memory"),
        pytest.param(
            replace(FINE, storage=Availability(free=10, total=100)), {}, id="disk at 10 %"
        ),
        pytest.param(
            replace(FINE, storage=Availability(free=9, total=100)), {DISK: True}, id="disk"
        ),
        pytest.param(replace(FINE, inodes=Availability(free=5, total=100)), {}, id="inodes at 5 %"),
        pytest.param(
            replace(FINE, inodes=Availability(free=4, total=100)), {DISK: True}, id="inodes"
        ),
        pytest.param(
            replace(FINE, inodes=Availability(free=0, total=0)),
            {},
            id="a filesystem without inodes",
        ),
        pytest.param(
            replace(FINE, storage=Availability(), inodes=Availability(free=4, total=100)),
            {DISK: True},
            id="inodes of an unknown disk",
        ),
        pytest.param(
            replace(FINE, storage=Availability(), inodes=Availability()), {DISK: None}, id="no disk"
        ),
        pytest.param(
            replace(FINE, pids=Availability(free=5, total=100)), {}, id="process IDs at 5 %"
        ),
        pytest.param(
            replace(FINE, pids=Availability(free=4, total=100)), {PID: True}, id="process IDs"
        ),
        pytest.param(replace(FINE, pids=Availability(free=4)), {PID: None}, id="no limit known"),
    ],
)
def test_what_the_signals_mean(
    signals: PressureSignals, pressed: dict[ConditionType, bool | None]
) -> None:
    assert pressures(signals) == {MEMORY: False, DISK: False, PID: False, **pressed}


@pytest.mark.parametrize(
    ("seen", "last_seen", "lasts"),
    [
        (True, {}, True),
        (False, {}, False),
        (None, {}, None),
        (False, {MEMORY: Seconds(10.0)}, False),
        (False, {MEMORY: Seconds(10.1)}, True),
        (None, {MEMORY: Seconds(10.1)}, True),
        (None, {MEMORY: Seconds(10.0)}, None),
        (False, {DISK: Seconds(309.0)}, False),
    ],
)
def test_rule_e4_a_pressure_lasts_until_it_was_absent_for_a_while(
    seen: bool | None,  # noqa: FBT001  # a table of three values
    last_seen: dict[ConditionType, Seconds],
    lasts: bool | None,  # noqa: FBT001  # the same
) -> None:
    now, period = Seconds(310.0), Seconds(300.0)
    assert lasting_pressures({MEMORY: seen}, last_seen, now, period) == {MEMORY: lasts}


def test_rule_n4_the_conditions_come_in_order() -> None:
    found = current_conditions(pressures(FINE), ())
    assert [finding.type for finding in found] == [MEMORY, DISK, PID, READY]
    assert [finding.status for finding in found] == ["False", "False", "False", "True"]


def test_what_is_not_measured_is_not_called_fine() -> None:
    found = current_conditions(pressures(PressureSignals()), ())
    assert {finding.status for finding in found[:3]} == {ConditionStatus.UNKNOWN}
    assert found[0].message == "agent cannot measure how much of its memory is free"


def test_a_pressure_says_so() -> None:
    (memory, *_) = current_conditions(pressures(replace(FINE, memory_free=0)), ())
    assert (memory.status, memory.reason) == (ConditionStatus.TRUE, "AgentHasInsufficientMemory")
    assert memory.message == "agent has too little memory available"


def test_failing_loops_are_named_in_order() -> None:
    *_, readiness = current_conditions(pressures(FINE), ("source/file", "pod-manager"))
    assert (readiness.status, readiness.reason) == (ConditionStatus.FALSE, "ActorsFailed")
    assert readiness.message.endswith(": pod-manager, source/file")


def test_a_first_report_has_changed_now() -> None:
    (told,) = condition_documents([ready()], [], NOW)
    assert told["lastTransitionTime"] == told["lastHeartbeatTime"] == "2023-11-14T22:14:20Z"


def test_the_same_status_keeps_its_time_of_change_and_another_reason_does_not_count() -> None:
    before = condition_documents([ready()], [], THEN)
    (told,) = condition_documents([ready(reason="Other")], before, NOW)
    assert told["lastTransitionTime"] == rfc3339(THEN)
    assert told["lastHeartbeatTime"] == rfc3339(NOW)
    assert told["reason"] == "Other"


def test_another_status_has_changed_now() -> None:
    before = condition_documents([ready()], [], THEN)
    (told,) = condition_documents([ready(ConditionStatus.FALSE)], before, NOW)
    assert told["lastTransitionTime"] == rfc3339(NOW)


def test_what_has_no_time_of_change_gets_one() -> None:
    (told,) = condition_documents([ready()], [{"type": "Ready", "status": "True"}], NOW)
    assert told["lastTransitionTime"] == rfc3339(NOW)


def test_conditions_of_others_are_neither_sent_nor_news() -> None:
    foreign = {"type": "NetworkUnavailable", "status": "True"}
    before = [foreign, *condition_documents([ready()], [], THEN)]
    assert [told["type"] for told in condition_documents([ready()], before, NOW)] == ["Ready"]
    assert not conditions_differ([ready()], before)


@pytest.mark.parametrize(
    "change",
    [{"status": ConditionStatus.FALSE}, {"reason": "Other"}, {"message": "other"}],
    ids=["status", "reason", "message"],
)
def test_everything_but_a_heartbeat_is_news(change: dict[str, str]) -> None:
    before = condition_documents([ready()], [], THEN)
    assert not conditions_differ([ready()], before)
    assert conditions_differ([replace(ready(), **change)], before)  # type: ignore[arg-type]  # a table of any field


def test_a_condition_that_is_missing_is_news() -> None:
    assert conditions_differ([ready()], [])
