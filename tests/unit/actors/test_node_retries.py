"""Waiting before another attempt."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

import pytest

from actors.node.retries import OperationRetries
from kernel import Timer
from kernel.clock import Timers
from messages.api import ApiFailure, FailureKind, Retry
from messages.units import Seconds

FAILURE = ApiFailure(kind=FailureKind.TIMEOUT, retry=Retry.AFTER_DELAY, sentence="no answer")


class NodeOperation(StrEnum):
    DIG = "dig"
    FILL = "fill"


class Waits:
    """The timers that were set, with their delays."""

    def __init__(self) -> None:
        self.timers = Timers()
        self.delays: list[float] = []

    def after(self, delay: Seconds, _operation: NodeOperation) -> Timer:
        self.delays.append(delay)
        return self.timers.add(delay, lambda: None)[0]


def test_each_operation_waits_for_itself() -> None:
    retries = OperationRetries[NodeOperation](Waits().after, "test")
    retries.wait(NodeOperation.DIG, FAILURE)
    assert retries.waits(NodeOperation.DIG)
    assert not retries.waits(NodeOperation.FILL)
    retries.resume(NodeOperation.DIG)
    assert not retries.waits(NodeOperation.DIG)


def test_a_new_wait_replaces_the_one_before() -> None:
    waits = Waits()
    retries = OperationRetries[NodeOperation](waits.after, "test")
    retries.wait_for(NodeOperation.DIG, Seconds(1.0))
    retries.wait_for(NodeOperation.DIG, Seconds(5.0))
    assert len(waits.timers) == 1
    assert waits.timers.next_due() == 5.0


@pytest.mark.parametrize(("longest", "delay"), [(None, 60.0), (10.0, 10.0)])
def test_a_server_s_wish_is_granted_as_far_as_the_operation_can_wait(
    longest: float | None, delay: float
) -> None:
    waits = Waits()
    limit = None if longest is None else Seconds(longest)
    retries = OperationRetries[NodeOperation](waits.after, "test", longest=limit)
    retries.wait(NodeOperation.DIG, replace(FAILURE, retry_after=Seconds(60.0)))
    assert waits.delays == [delay]


def test_success_ends_a_wait_and_forgets_the_failures() -> None:
    waits = Waits()
    retries = OperationRetries[NodeOperation](waits.after, "test")
    assert [retries.failed(NodeOperation.DIG) for _ in range(4)] == [1, 2, 3, 4]
    retries.wait(NodeOperation.DIG, FAILURE)
    assert 1.6 <= waits.delays[-1] <= 1.7

    retries.succeeded(NodeOperation.DIG)
    assert not retries.waits(NodeOperation.DIG)
    assert len(waits.timers) == 0
    assert retries.failed(NodeOperation.DIG) == 1


def test_what_is_wrong_with_the_credentials_is_left_to_who_sends_all_calls(
    logs: list[MutableMapping[str, Any]],
) -> None:
    retries = OperationRetries[NodeOperation](Waits().after, "test")
    retries.show(NodeOperation.DIG, replace(FAILURE, kind=FailureKind.CREDENTIALS))
    retries.succeeded(NodeOperation.DIG)
    assert [line["log_level"] for line in logs] == ["debug"]


def test_a_failure_of_one_kind_is_told_once_and_so_is_its_end(
    logs: list[MutableMapping[str, Any]],
) -> None:
    retries = OperationRetries[NodeOperation](Waits().after, "test")
    retries.show(NodeOperation.DIG, FAILURE)
    retries.show(NodeOperation.DIG, FAILURE)
    retries.succeeded(NodeOperation.DIG)
    assert [(line["log_level"], line["event"]) for line in logs] == [
        ("warning", "cannot dig"),
        ("debug", "cannot dig"),
        ("info", "can dig again"),
    ]
