"""Each rule of the oracle is broken by what it forbids, and silent where something excuses it."""

from __future__ import annotations

from typing import Final

import pytest

from tests.environment.oracle.oracle import RULES
from tests.environment.oracle.rule import Rule
from tests.simulation.rules import (
    cluster,
    deadlines,
    hooks,
    objects,
    probes,
    runtimes,
    shown,
    starts,
    stops,
)
from tests.simulation.rules.by_hand import OneRule, Stories, Story

STORIES: Final[Stories] = {
    **starts.STORIES,
    **stops.STORIES,
    **hooks.STORIES,
    **probes.STORIES,
    **shown.STORIES,
    **cluster.STORIES,
    **objects.STORIES,
    **runtimes.STORIES,
    **deadlines.STORIES,
}


@pytest.mark.parametrize(
    ("rule", "said", "story"),
    [
        pytest.param(rule, said, story, id=f"{rule.__name__}-{story.__name__}")
        for (rule, said), stories in STORIES.items()
        for story in stories
    ],
)
def test_a_rule_is_silent_while_all_is_fine_and_says_what_is_broken_when_it_is_not(
    rule: type[Rule], said: str, story: Story
) -> None:
    fine, broken = OneRule(rule), OneRule(rule)
    story(fine, is_fine=True)
    story(broken, is_fine=False)
    assert broken.judgements.judged
    assert not fine.broken
    assert [said in each for each in broken.broken] == [True], broken.broken


def test_each_rule_has_a_story() -> None:
    assert {rule for rule, _ in STORIES} == set(RULES)
