"""A reviewer that crashes at any moment of a story: nobody is let in by that, and it goes on as before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.crash_matrix import Matrix
from tests.support.worlds.reviews import ReviewerWorld

Action: TypeAlias = Callable[[ReviewerWorld], object]


def knows(token: str) -> Action:
    return lambda world: world.knows(token)


def grants(user: str) -> Action:
    return lambda world: world.grants(user)


def whose(token: str) -> Action:
    return lambda world: world.whose(token)


def may(user: str) -> Action:
    return lambda world: world.may(user)


def hold(world: ReviewerWorld) -> None:
    world.api.calls.hold()


def answer(world: ReviewerWorld) -> None:
    world.api.calls.release()


def go_away(world: ReviewerWorld) -> None:
    world.api.go_away()


def come_back(world: ReviewerWorld) -> None:
    world.api.come_back()


def pass_time(seconds: float) -> Action:
    return lambda world: world.play.advance(seconds)


STORIES: dict[str, tuple[Action, ...]] = {
    "some are known and may, others not": (
        knows("anna"),
        grants("anna"),
        whose("anna"),
        whose("otto"),
        may("anna"),
        may("otto"),
        may("anna"),
    ),
    "several wait for one answer": (
        knows("anna"),
        grants("anna"),
        hold,
        whose("anna"),
        whose("anna"),
        may("anna"),
        may("otto"),
        may("anna"),
        answer,
    ),
    "the API server is away": (
        knows("anna"),
        grants("anna"),
        may("anna"),
        may("otto"),
        pass_time(350.0),
        go_away,
        may("anna"),
        may("otto"),
        whose("anna"),
        pass_time(1.0),
        come_back,
        whose("anna"),
    ),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_no_crash_lets_anybody_in_or_changes_what_is_decided_later(
    tmp_path: Path, story: tuple[Action, ...]
) -> None:
    matrix = Matrix(ReviewerWorld, tmp_path, story)
    matrix.run(range(2))
    assert matrix.differences == []
    assert matrix.reached > 10
