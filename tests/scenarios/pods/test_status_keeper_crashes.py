"""A keeper of statuses that crashes at any moment of a story: it ends as it would have ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from messages.api import FailureKind, Verb
from messages.pod_runtime import ContainerHistory
from tests.support.apiserver.fake_api import asks
from tests.support.crash_matrix import Matrix
from tests.support.pods.observations import exited, running, waiting
from tests.support.worlds.statuses import StatusWorld

Action: TypeAlias = Callable[[StatusWorld], object]


def bind(name: str = "web") -> Action:
    return lambda world: world.binds(name)


def tell(*histories: ContainerHistory, name: str = "web", **fields: Any) -> Action:
    return lambda world: world.tells(name, *histories, **fields)


def delete(grace: int, name: str = "web") -> Action:
    return lambda world: world.api.store.remove("pods", "default", name, grace=grace)


def forget(name: str = "web") -> Action:
    return lambda world: world.forgets(name)


def write_over(world: StatusWorld) -> None:
    world.api.store.change("pods", "default", "web", status={"phase": "Unknown"})


def hold(world: StatusWorld) -> None:
    world.api.calls.hold()


def release(world: StatusWorld) -> None:
    world.api.calls.release()


def lose_answers(world: StatusWorld) -> None:
    world.api.calls.lose_answers(times=2)


def refuse(world: StatusWorld) -> None:
    world.api.calls.fail(FailureKind.INVALID, when=asks(Verb.PATCH), times=2)


def go_away(world: StatusWorld) -> None:
    world.api.go_away()


def come_back(world: StatusWorld) -> None:
    world.api.come_back()


def follow(world: StatusWorld) -> None:
    world.follows()


STORIES: dict[str, tuple[Action, ...]] = {
    "a pod runs, is deleted, and goes": (
        follow,
        bind(),
        tell(waiting()),
        tell(running()),
        delete(30),
        tell(exited(code=137), is_finished=True),
        forget(),
    ),
    "somebody writes over a status, and another pod comes": (
        bind(),
        tell(running()),
        write_over,
        bind("shop"),
        tell(waiting(), name="shop"),
        tell(running(attempt=1)),
        tell(running(), name="shop"),
    ),
    "answers are late, lost, and refusals": (
        bind(),
        hold,
        tell(waiting()),
        tell(running()),
        release,
        lose_answers,
        tell(running(attempt=1)),
        refuse,
        tell(running(attempt=2)),
    ),
    "the API server is away when a pod ends and is deleted": (
        bind(),
        tell(running()),
        delete(30),
        go_away,
        tell(exited(), is_finished=True),
        come_back,
    ),
    "a pod is created again under its name": (
        bind(),
        tell(running()),
        delete(0),
        forget(),
        bind(),
        tell(waiting()),
        tell(running()),
    ),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_no_crash_changes_how_a_story_ends(tmp_path: Path, story: tuple[Action, ...]) -> None:
    matrix = Matrix(StatusWorld, tmp_path, story)
    matrix.run(range(2))
    assert matrix.differences == []
    assert matrix.reached > 30


def test_the_stories_end_as_one_would_think(tmp_path: Path) -> None:
    matrix = Matrix(StatusWorld, tmp_path, STORIES["a pod runs, is deleted, and goes"])
    _, outcome = matrix._tell(0, None)
    assert outcome.observed == {
        "shown": {},
        "followed": {"web": "Failed"},
        "kept": [],
        "waiting": [],
        "errors": [],
    }
