"""A keeper of tokens that crashes at any moment of a story: it ends as it would have ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from messages.api import FailureKind
from messages.tokens import TokenNeeded
from tests.support.crash_matrix import Matrix
from tests.support.volumes.token_stage import TOKEN, VAULT
from tests.support.worlds.tokens import TokenWorld

Action: TypeAlias = Callable[[TokenWorld], object]


def want(name: str, *needed: TokenNeeded) -> Action:
    return lambda world: world.wants(name, *needed)


def release(name: str) -> Action:
    return lambda world: world.releases(name)


def hold(world: TokenWorld) -> None:
    world.api.calls.hold()


def answer(world: TokenWorld) -> None:
    world.api.calls.release()


def refuse(world: TokenWorld) -> None:
    world.api.calls.fail(FailureKind.FORBIDDEN, times=2)


def go_away(world: TokenWorld) -> None:
    world.api.go_away()


def come_back(world: TokenWorld) -> None:
    world.api.come_back()


def pass_time(seconds: float) -> Action:
    return lambda world: world.play.advance(seconds)


STORIES: dict[str, tuple[Action, ...]] = {
    "pods come, want other tokens, and go": (
        want("web"),
        want("shop", TOKEN, VAULT),
        want("web", VAULT),
        release("shop"),
        want("last"),
    ),
    "answers are late, and refusals": (
        hold,
        want("web", TOKEN, VAULT),
        want("shop"),
        release("shop"),
        answer,
        refuse,
        want("late"),
        pass_time(5.0),
    ),
    "the API server is away": (
        want("web"),
        go_away,
        want("shop"),
        pass_time(3.0),
        come_back,
    ),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_no_crash_changes_how_a_story_of_tokens_ends(
    tmp_path: Path, story: tuple[Action, ...]
) -> None:
    matrix = Matrix(TokenWorld, tmp_path, story)
    matrix.run(range(2))
    assert matrix.differences == []
    assert matrix.reached > 10
