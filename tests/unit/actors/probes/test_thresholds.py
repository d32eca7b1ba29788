"""What the answers of a probe come to."""

from __future__ import annotations

import pytest

from actors.probes.specs import AnswersNeeded, Count, begin, counted
from messages.probing import ProbeKind, ProbeResult

SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE
WARNING, UNKNOWN = ProbeResult.WARNING, ProbeResult.UNKNOWN
LIVENESS, READINESS, STARTUP = ProbeKind.LIVENESS, ProbeKind.READINESS, ProbeKind.STARTUP


def after(kind: ProbeKind, *answers: ProbeResult, failures: int = 3, successes: int = 1) -> Count:
    count = begin(kind)
    for answer in answers:
        count = counted(count, answer, AnswersNeeded(kind, failures, successes))
    return count


@pytest.mark.parametrize(
    ("kind", "result"), [(LIVENESS, SUCCESS), (READINESS, FAILURE), (STARTUP, UNKNOWN)]
)
def test_before_the_first_answer_a_container_is_alive_and_not_ready(
    kind: ProbeKind, result: ProbeResult
) -> None:
    assert begin(kind) == Count(result)


def test_a_failure_counts_when_enough_of_them_come_in_a_row() -> None:
    assert after(LIVENESS, FAILURE, FAILURE).result is SUCCESS
    assert after(LIVENESS, FAILURE, FAILURE, FAILURE).result is FAILURE
    assert after(LIVENESS, FAILURE, FAILURE, SUCCESS, FAILURE, FAILURE).result is SUCCESS


def test_a_success_counts_when_enough_of_them_come_in_a_row() -> None:
    assert after(READINESS, SUCCESS, SUCCESS, successes=3).result is FAILURE
    assert after(READINESS, SUCCESS, SUCCESS, SUCCESS, successes=3).result is SUCCESS


def test_a_warning_counts_as_a_success() -> None:
    assert after(READINESS, WARNING) == Count(SUCCESS, SUCCESS, 1)


def test_an_unknown_answer_changes_nothing() -> None:
    assert after(LIVENESS, FAILURE, UNKNOWN, FAILURE) == Count(SUCCESS, FAILURE, 2)


def test_liveness_rests_after_a_failure_that_counts() -> None:
    count = after(LIVENESS, FAILURE, failures=1)
    assert count.is_held
    assert counted(count, SUCCESS, AnswersNeeded(LIVENESS, 1, 1)) == count
    assert not after(LIVENESS, SUCCESS).is_held


@pytest.mark.parametrize("answer", [SUCCESS, FAILURE])
def test_startup_rests_after_any_result(answer: ProbeResult) -> None:
    assert after(STARTUP, answer, failures=1).is_held
    assert not after(STARTUP, FAILURE).is_held


def test_readiness_never_rests() -> None:
    assert not after(READINESS, SUCCESS, FAILURE, FAILURE, FAILURE).is_held


def test_what_is_known_of_an_instance_counts_from_the_beginning() -> None:
    assert begin(READINESS, SUCCESS) == Count(SUCCESS)
    assert begin(STARTUP, SUCCESS) == Count(SUCCESS, is_held=True)
    assert begin(LIVENESS, FAILURE) == Count(FAILURE, is_held=True)
