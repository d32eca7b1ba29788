"""A watcher that crashes at any moment of a story: it ends as it would have ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from messages.api import FailureKind
from tests.support.crash_matrix import Matrix
from tests.support.objects.watcher_stage import WHERE, secret
from tests.support.worlds.watcher import WatcherWorld

Action: TypeAlias = Callable[[WatcherWorld], object]


def refer(count: int) -> Action:
    return lambda world: world.refers(count)


def read(world: WatcherWorld) -> None:
    world.reads()


def add(value: str, *, immutable: bool = False) -> Action:
    return lambda world: world.api.store.add(secret(immutable=immutable, a=value))


def change(value: str) -> Action:
    return lambda world: world.api.store.change(*WHERE, data={"a": value})


def remove(world: WatcherWorld) -> None:
    world.api.store.remove(*WHERE)


def go_away(world: WatcherWorld) -> None:
    world.api.go_away()


def come_back(world: WatcherWorld) -> None:
    world.api.come_back()


def fail_lists(world: WatcherWorld) -> None:
    world.api.watches.fail_lists(FailureKind.SERVER_ERROR, times=2)


def wait(seconds: float) -> Action:
    return lambda world: world.play.advance(seconds)


STORIES: dict[str, tuple[Action, ...]] = {
    "it comes, changes and goes": (
        refer(1),
        read,
        add("1"),
        read,
        change("Mg=="),
        read,
        remove,
        add("3"),
    ),
    "pods come and go": (
        add("1"),
        refer(1),
        read,
        refer(2),
        read,
        refer(0),
        refer(1),
        read,
    ),
    "it is immutable, and made anew": (
        add("1", immutable=True),
        refer(1),
        read,
        remove,
        add("2", immutable=True),
        refer(2),
        read,
        remove,
        refer(3),
        add("3"),
        read,
    ),
    "the API server goes away and comes back": (
        add("1"),
        refer(1),
        go_away,
        change("Mg=="),
        read,
        refer(2),
        read,
        come_back,
        read,
    ),
    # That a list of the watch is tried again is the keeper's part, which ``come_back`` plays.
    "lists fail": (add("1"), refer(1), fail_lists, refer(2), read, come_back, change("Mg==")),
    "it becomes idle": (add("1"), refer(1), wait(61.0), change("Mg=="), read, read),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_a_crash_at_any_moment_changes_no_end(story: tuple[Action, ...], tmp_path: Path) -> None:
    matrix = Matrix(WatcherWorld, tmp_path, story)
    matrix.run(range(1))
    assert matrix.differences == []
    assert matrix.reached > 20
