"""What commands of hollow containers are understood as."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.hollow.commands import outcome_of, run
from runtimes.hollow.rules import Said


def outcome(*words: str) -> tuple[float | None, int] | None:
    """Return how long the command runs, and its exit code."""
    found = run(words)
    return None if found is None else (found.seconds, found.exit_code)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sleep", "5"], (5.0, 0)),
        (["/bin/sleep", "1.5m"], (90.0, 0)),
        (["sleep", "infinity"], (None, 0)),
        (["true"], (0.0, 0)),
        (["/bin/false"], (0.0, 1)),
        (["sh", "-c", "sleep 5; exit 3"], (5.0, 3)),
        (["/bin/sh", "-c", "sleep 1 && sleep 2\nsleep 3\n"], (6.0, 0)),
        (["bash", "-ec", "exit 258"], (0.0, 2)),
        (["sh", "-c", "true; false"], (0.0, 1)),
        (["sh", "-c", "sleep infinity; exit 3"], (None, 0)),
        (["sh", "-c", "exit 3; sleep 5"], (0.0, 3)),
        (["sh", "-c", ""], (0.0, 0)),
        (["sh", "-c", "echo 'a; b' # why"], (0.0, 0)),
    ],
)
def test_a_plain_command_is_understood(
    words: list[str], expected: tuple[float | None, int]
) -> None:
    assert outcome(*words) == expected


@pytest.mark.parametrize(
    "words",
    [
        ["nginx"],
        ["sleep"],
        ["sleep", "1", "2"],
        ["sleep", "soon"],
        ["sleep", "-1"],
        ["sleep", "9999999999"],
        ["exit", "x"],
        ["sh"],
        ["sh", "-c"],
        ["sh", "-x", "exit 1"],
        ["sh", "-c", "while true; do sleep 1; done"],
        ["sh", "-c", "sleep $TIME"],
        ["sh", "-c", "echo a > b"],
        ["sh", "-c", "sleep 1 | true"],
        ["sh", "-c", "sleep 1 || exit 1"],
        ["sh", "-c", "sleep 1 & exit 1"],
        ["sh", "-c", "false; sleep 1"],
        ["sh", "-c", "echo `date`"],
        ["sh", "-c", "(exit 1)"],
        ["sh", "-c", "echo 'open"],
        ["sh", "-c", "echo " + "x" * 5000],
    ],
)
def test_anything_else_is_not_understood_as_a_whole(words: list[str]) -> None:
    assert outcome(*words) is None


def test_what_it_echoes_is_said_when_it_does() -> None:
    found = run(("sh", "-c", "echo hello  'wide  world'; sleep 2; echo done"))
    assert found is not None
    assert found.says == (Said(0.0, "hello wide  world"), Said(2.0, "done"))


@pytest.mark.parametrize(
    ("container", "is_understood"),
    [
        ({"command": ["sleep"], "args": ["5"]}, True),
        ({"args": ["sleep", "5"]}, False),  # of the image's command nothing is known
        ({}, False),
        ({"command": []}, False),
    ],
)
def test_command_and_arguments_count_together(
    container: dict[str, Any], *, is_understood: bool
) -> None:
    assert (outcome_of(container) is not None) == is_understood
