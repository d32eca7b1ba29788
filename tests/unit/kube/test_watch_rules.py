"""What watch streams go by, where it depends on the machine."""

from __future__ import annotations

import pytest

from kube.streams.rules import MEBIBYTE, WatchRules, unfinished_within

GIBIBYTE = 1024 * MEBIBYTE


@pytest.mark.parametrize(
    ("memory", "most"),
    [
        (64 * MEBIBYTE, 16 * MEBIBYTE),
        (512 * MEBIBYTE, 64 * MEBIBYTE),
        (GIBIBYTE, 128 * MEBIBYTE),
        (2 * GIBIBYTE, 256 * MEBIBYTE),
        (64 * GIBIBYTE, 256 * MEBIBYTE),
    ],
)
def test_unfinished_answers_take_an_eighth_of_a_small_machine_and_never_more_than_the_rule(
    memory: int, most: int
) -> None:
    assert unfinished_within(memory) == most


def test_a_machine_with_memory_for_it_has_the_rule_itself() -> None:
    rules = WatchRules(user_agent="test")
    assert unfinished_within(64 * GIBIBYTE) == rules.most_unfinished_bytes
