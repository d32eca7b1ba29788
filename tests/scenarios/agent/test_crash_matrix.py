"""No crash, of anybody, at any moment, loses or invents anything: every story, again and again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from messages.pods import Pod, PodUid
from tests.support.builders import make_pod
from tests.support.crash_matrix import Matrix
from tests.support.sources.file_source_stage import BROKEN, pod_text
from tests.support.worlds.standalone import StandaloneWorld

Action: TypeAlias = Callable[[StandaloneWorld], object]

SEEDS = range(3)
EVERY = int(os.environ.get("CRASH_EVERY", "20"))
"""Of all blows every twentieth, and every fifth of those that are at a message, others on each of the
schedules: some 1,500. ``CRASH_EVERY=1`` takes all of them, which takes five minutes."""


def write(name: str, pod: str, image: str = "web:1", uid: str = "") -> Action:
    """Write a manifest, or edit it."""

    def action(world: StandaloneWorld) -> None:
        world.files.write(name, pod_text(pod, image=image, uid=uid))
        world.notice()

    return action


def write_unnoticed(name: str, pod: str) -> Action:
    """Write a manifest that only the next scan finds."""

    def action(world: StandaloneWorld) -> None:
        world.files.write(name, pod_text(pod))
        world.play.advance(2.0)

    return action


def break_(name: str) -> Action:
    """Make a manifest unusable."""

    def action(world: StandaloneWorld) -> None:
        world.files.write(name, BROKEN)
        world.notice()

    return action


def remove(name: str) -> Action:
    """Remove a file."""

    def action(world: StandaloneWorld) -> None:
        (world.files.path / name).unlink()
        world.notice()

    return action


def rename(old: str, new: str) -> Action:
    """Rename a file."""

    def action(world: StandaloneWorld) -> None:
        (world.files.path / old).rename(world.files.path / new)
        world.notice()

    return action


def vanish(world: StandaloneWorld) -> None:
    """Remove the whole directory."""
    shutil.rmtree(world.files.path)
    world.notice()


def come_back(world: StandaloneWorld) -> None:
    """Make the directory anew, empty."""
    world.files.path.mkdir()
    world.notice()


def other_source_wants(*pods: Pod) -> Action:
    """Have the second source list these pods."""
    return lambda world: world.other_source_wants(*pods)


def somebody_subscribes(world: StandaloneWorld) -> None:
    """Have one more subscriber."""
    world.somebody_subscribes()


def from_other_source(name: str, uid: str, phase: str = "Running") -> Pod:
    """Return a pod whose name a manifest can claim, too."""
    return make_pod(f"{name}-node1", uid=uid, phase=phase)


def poison() -> Pod:
    """Return a pod that crashes PodManager by itself."""
    document = {"metadata": {"name": "bad", "annotations": 5}, "spec": {}}
    return Pod(document=document, uid=PodUid("bad"), namespace="default", name="bad")


STORIES: dict[str, tuple[Action, ...]] = {
    "written, edited, removed": (
        write("web.yaml", "web"),
        write("shop.yaml", "shop"),
        write("web.yaml", "web", image="web:2"),
        write("mail.yaml", "mail", uid="fixed"),
        remove("shop.yaml"),
        write("mail.yaml", "mail", uid="fixed", image="web:2"),
    ),
    "broken, mended, broken, removed": (
        write("web.yaml", "web"),
        break_("web.yaml"),
        write("shop.yaml", "shop"),
        write("web.yaml", "web", image="web:2"),
        break_("shop.yaml"),
        remove("shop.yaml"),
        break_("web.yaml"),
    ),
    "renamed, and found by the scan alone": (
        write("web.yaml", "web"),
        rename("web.yaml", "a.yaml"),
        write_unnoticed("shop.yaml", "shop"),
        rename("shop.yaml", "a.yaml"),
    ),
    "shadowed by another file": (
        write("1.yaml", "web"),
        write("2.yaml", "web", image="web:2"),
        break_("2.yaml"),
        remove("2.yaml"),
    ),
    "shadowed by another source": (
        write("web.yaml", "web"),
        other_source_wants(from_other_source("web", "other"), from_other_source("shop", "s")),
        write("shop.yaml", "shop"),
        remove("web.yaml"),
        write("web.yaml", "web", image="web:2"),
        other_source_wants(from_other_source("shop", "s")),
    ),
    "told by two sources": (
        write("web.yaml", "web", uid="both"),
        other_source_wants(from_other_source("web", "both")),
        write("web.yaml", "web", uid="both", image="web:2"),
        remove("web.yaml"),
    ),
    "vanished and back again": (
        write("web.yaml", "web"),
        write("shop.yaml", "shop"),
        vanish,
        come_back,
        write("web.yaml", "web"),
    ),
    "ran to its end": (
        other_source_wants(from_other_source("job", "j", phase="Pending")),
        other_source_wants(from_other_source("job", "j", phase="Running")),
        other_source_wants(from_other_source("job", "j", phase="Succeeded")),
        other_source_wants(),
    ),
    "poisoned": (
        other_source_wants(from_other_source("shop", "s")),
        write("web.yaml", "web"),
        other_source_wants(poison(), from_other_source("shop", "s"), from_other_source("job", "j")),
        write("web.yaml", "web", image="web:2"),
        other_source_wants(from_other_source("job", "j")),
    ),
    "subscribed late": (
        write("web.yaml", "web"),
        somebody_subscribes,
        other_source_wants(from_other_source("shop", "s")),
        write("web.yaml", "web", image="web:2"),
        somebody_subscribes,
        other_source_wants(),
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_ends_the_same_whoever_crashes_wherever(tmp_path: Path, name: str) -> None:
    matrix = Matrix(StandaloneWorld, tmp_path, STORIES[name])
    matrix.run(SEEDS, EVERY, max(1, EVERY // 4))
    assert matrix.differences == []
    # So that the matrix does not shrink unnoticed: a crash of nobody proves nothing.
    assert matrix.reached >= 120
