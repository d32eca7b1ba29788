"""A pod in the words of the tables."""

from __future__ import annotations

from typing import Any

import pytest

from command.pod_words import is_well, readiness, restarts, since, state
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
