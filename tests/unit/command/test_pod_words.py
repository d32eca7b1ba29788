"""A pod in words, and why it does not run, in the agent's sentences."""

from __future__ import annotations

from typing import Any

import pytest

from command.failures import StrangeAnswerError
from command.pod_words import WhyNot, ending, is_well, readiness, reasons, restarts, since, state
from command.wording import moment
from tests.support.command.agents import pod

NOW = moment("2026-11-22T23:59:28Z") or 0.0


@pytest.mark.parametrize(
    ("name", "word", "how_often"),
    [
        ("loop-edge-1", "CrashLoopBackOff", "8 (2m ago)"),
        ("web-edge-1", "Running", "0"),
    ],
)
def test_a_pod_is_shown_as_its_agent_tells_it(name: str, word: str, how_often: str) -> None:
    given = pod(name)
    assert (state(given), restarts(given, NOW)) == (word, how_often)
    assert since(given).startswith("2026-11-22T23:42:18")
    assert is_well(given) == (word == "Running")


def test_an_agent_that_does_not_tell_how_a_pod_is_may_be_of_another_version() -> None:
    row: dict[str, Any] = {"metadata": {"name": "web"}}
    assert (state(row), readiness(row), is_well(row)) == ("unknown", "", False)


@pytest.mark.parametrize(
    ("created", "started", "expected"),
    [
        ("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", "2026-11-20T00:00:00Z"),
        (None, "2026-11-21T00:00:00Z", "2026-11-21T00:00:00Z"),
        (None, None, "2026-11-22T00:00:00Z"),
    ],
    ids=["of the API server", "static", "not begun"],
)
def test_a_pod_is_as_old_as_the_node_has_had_it_whenever_its_agent_was_started(
    created: str | None, started: str | None, expected: str
) -> None:
    seen = {"kubernetes.io/config.seen": "2026-11-22T00:00:00Z"}
    metadata = {"annotations": seen, "creationTimestamp": created}
    assert since({"metadata": metadata, "status": {"startTime": started}}) == expected


def test_causes_are_those_that_the_agent_tells() -> None:
    told = {"why": [{"text": "The image is away", "advice": "Pull it"}, {"text": "So is the net"}]}
    assert reasons(told) == [WhyNot("The image is away", "Pull it"), WhyNot("So is the net")]
    assert reasons({"why": []}) == []


@pytest.mark.parametrize("told", [{}, {"why": "no"}])
def test_an_agent_that_tells_no_causes_is_of_another_version(told: dict[str, Any]) -> None:
    with pytest.raises(StrangeAnswerError, match="of another version"):
        reasons(told)


@pytest.mark.parametrize(
    ("at", "now", "said"),
    [
        ("1970-01-01T00:05:00Z", 108.0, "It will be again in 3m12s"),
        ("1970-01-01T00:05:00+00:01", 180.0, "It will be again in 1m"),
        ("1970-01-01T00:05:00Z", 298.5, "It will be again in 1s"),
        ("1970-01-01T00:05:00Z", 299.0, "It will be again in 1s"),
        ("1970-01-01T00:05:00Z", 299.001, "It will be again in a moment"),
        ("1970-01-01T00:05:00Z", 300.0, "It will be again in a moment"),
        ("1970-01-01T00:05:00Z", 900.0, "It will be again in a moment"),
        ("", 108.0, "It will be again"),
        ("soon", 108.0, "It will be again"),
    ],
)
def test_a_cause_that_ends_at_a_time_is_told_with_the_time_that_is_left(
    at: str, now: float, said: str
) -> None:
    assert WhyNot("It will be again", at=at).told(now) == said


@pytest.mark.parametrize(
    ("terminated", "said"),
    [
        (
            {"exitCode": 137, "reason": "OOMKilled"},
            "was killed for its memory (OOMKilled)",
        ),
        ({"exitCode": 137, "signal": 9}, "was ended by SIGKILL"),
        ({"exitCode": 150, "signal": 22, "reason": "Error"}, "was ended by signal 22 (Error)"),
        ({"exitCode": 1, "message": "no\nconfiguration\n"}, "ended with 1: no configuration"),
        (
            {"exitCode": 3, "reason": "Error", "finishedAt": "1970-01-01T00:00:40Z"},
            "ended with 3 (Error) 20s ago",
        ),
    ],
)
def test_how_a_container_ended_is_told_in_words(terminated: dict[str, Any], said: str) -> None:
    assert ending(terminated, 60.0) == said
