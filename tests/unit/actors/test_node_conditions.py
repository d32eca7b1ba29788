"""The Node's conditions: thresholds, words, and the two times of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from actors.node.conditions import (
    Condition,
    Finding,
    Signals,
    Status,
    Stock,
    conditions,
    findings,
    lasting,
    news,
    pressures,
)
from manifests.times import rfc3339
from messages.units import Seconds, Timestamp

MEMORY, DISK, PID, READY = Condition
MIB = 2**20
FINE = Signals(
    memory_free=1000 * MIB,
    storage=Stock(free=50, total=100),
    inodes=Stock(free=50, total=100),
    pids=Stock(free=50, total=100),
)
THEN, NOW = Timestamp(1_700_000_000.0), Timestamp(1_700_000_060.9)


def ready(status: Status = Status.TRUE, reason: str = "AgentReady") -> Finding:
    return Finding(type=READY, status=status, reason=reason, message="")


@pytest.mark.parametrize(
    ("signals", "pressed"),
    [
        pytest.param(FINE, {}, id="nothing"),
        pytest.param(replace(FINE, memory_free=100 * MIB), {}, id="memory at the threshold"),
        pytest.param(replace(FINE, memory_free=100 * MIB - 1), {MEMORY: True}, id="memory"),
        pytest.param(replace(FINE, memory_free=0), {MEMORY: True}, id="no memory at all"),
        pytest.param(replace(FINE, memory_free=None), {MEMORY: None}, id="unknown memory"),
        pytest.param(replace(FINE, storage=Stock(free=10, total=100)), {}, id="disk at 10 %"),
        pytest.param(replace(FINE, storage=Stock(free=9, total=100)), {DISK: True}, id="disk"),
        pytest.param(replace(FINE, inodes=Stock(free=5, total=100)), {}, id="inodes at 5 %"),
        pytest.param(replace(FINE, inodes=Stock(free=4, total=100)), {DISK: True}, id="inodes"),
        pytest.param(
            replace(FINE, inodes=Stock(free=0, total=0)), {}, id="a filesystem without inodes"
        ),
        pytest.param(
            replace(FINE, storage=Stock(), inodes=Stock(free=4, total=100)),
            {DISK: True},
            id="inodes of an unknown disk",
        ),
        pytest.param(replace(FINE, storage=Stock(), inodes=Stock()), {DISK: None}, id="no disk"),
        pytest.param(replace(FINE, pids=Stock(free=5, total=100)), {}, id="process IDs at 5 %"),
        pytest.param(replace(FINE, pids=Stock(free=4, total=100)), {PID: True}, id="process IDs"),
        pytest.param(replace(FINE, pids=Stock(free=4)), {PID: None}, id="no limit known"),
    ],
)
def test_what_the_signals_mean(signals: Signals, pressed: dict[Condition, bool | None]) -> None:
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
    last_seen: dict[Condition, Seconds],
    lasts: bool | None,  # noqa: FBT001  # the same
) -> None:
    now, period = Seconds(310.0), Seconds(300.0)
    assert lasting({MEMORY: seen}, last_seen, now, period) == {MEMORY: lasts}


def test_rule_n4_the_conditions_come_in_order() -> None:
    found = findings(pressures(FINE), ())
    assert [finding.type for finding in found] == [MEMORY, DISK, PID, READY]
    assert [finding.status for finding in found] == ["False", "False", "False", "True"]


def test_what_is_not_measured_is_not_called_fine() -> None:
    found = findings(pressures(Signals()), ())
    assert {finding.status for finding in found[:3]} == {Status.UNKNOWN}
    assert found[0].message == "agent cannot measure how much of its memory is free"


def test_a_pressure_says_so() -> None:
    (memory, *_) = findings(pressures(replace(FINE, memory_free=0)), ())
    assert (memory.status, memory.reason) == (Status.TRUE, "AgentHasInsufficientMemory")
    assert memory.message == "agent has too little memory available"


def test_failing_loops_are_named_in_order() -> None:
    *_, readiness = findings(pressures(FINE), ("source/file", "pod-manager"))
    assert (readiness.status, readiness.reason) == (Status.FALSE, "ActorsFailed")
    assert readiness.message.endswith(": pod-manager, source/file")


def test_a_first_report_has_changed_now() -> None:
    (told,) = conditions([ready()], [], NOW)
    assert told["lastTransitionTime"] == told["lastHeartbeatTime"] == "2023-11-14T22:14:20Z"


def test_the_same_status_keeps_its_time_of_change_and_another_reason_does_not_count() -> None:
    before = conditions([ready()], [], THEN)
    (told,) = conditions([ready(reason="Other")], before, NOW)
    assert told["lastTransitionTime"] == rfc3339(THEN)
    assert told["lastHeartbeatTime"] == rfc3339(NOW)
    assert told["reason"] == "Other"


def test_another_status_has_changed_now() -> None:
    before = conditions([ready()], [], THEN)
    (told,) = conditions([ready(Status.FALSE)], before, NOW)
    assert told["lastTransitionTime"] == rfc3339(NOW)


def test_what_has_no_time_of_change_gets_one() -> None:
    (told,) = conditions([ready()], [{"type": "Ready", "status": "True"}], NOW)
    assert told["lastTransitionTime"] == rfc3339(NOW)


def test_conditions_of_others_are_neither_sent_nor_news() -> None:
    foreign = {"type": "NetworkUnavailable", "status": "True"}
    before = [foreign, *conditions([ready()], [], THEN)]
    assert [told["type"] for told in conditions([ready()], before, NOW)] == ["Ready"]
    assert not news([ready()], before)


@pytest.mark.parametrize(
    "change",
    [{"status": Status.FALSE}, {"reason": "Other"}, {"message": "other"}],
    ids=["status", "reason", "message"],
)
def test_everything_but_a_heartbeat_is_news(change: dict[str, str]) -> None:
    before = conditions([ready()], [], THEN)
    assert not news([ready()], before)
    assert news([replace(ready(), **change)], before)  # type: ignore[arg-type]  # a table of any field


def test_a_condition_that_is_missing_is_news() -> None:
    assert news([ready()], [])
