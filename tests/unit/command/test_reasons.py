"""Why a pod does not run, as the agent says it; and how containers ended."""

from __future__ import annotations

from typing import Any

import pytest

from command.failures import StrangeAnswerError
from command.reasons import WhyNot, ending, reasons


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
