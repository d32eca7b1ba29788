"""What only a mirror shows of an earlier process: how often containers were restarted."""

from __future__ import annotations

from typing import Any

import pytest

from actors.pods.keeper_parts import POD_KEEPER
from messages.pods import API, FILE, JsonObject, Pod
from tests.support.builders import make_mirror, make_pod
from tests.support.pod_lives.lives_stage import LivesStage

WEB = make_pod("web", uid="1", config_hash="1")


def shows(restarts: int, phase: str = "Running") -> JsonObject:
    """Return the status of a pod whose container was restarted so often."""
    container = {
        "name": "main",
        "containerID": "plain://earlier",
        "restartCount": restarts,
        "image": "registry.example/web:1",
        "imageID": "",
        "ready": True,
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    }
    return {"phase": phase, "containerStatuses": [container]}


def restarts_of(lives: LivesStage, pod: Pod) -> int:
    observed = lives.status(pod).observed
    assert observed is not None
    current = observed.containers["main"].current
    assert current is not None
    return current.attempt


@pytest.mark.parametrize("comes_first", [True, False])
def test_restarts_of_a_static_pod_are_counted_on_from_its_mirror(
    lives: LivesStage,
    comes_first: bool,  # noqa: FBT001  # parametrized
) -> None:
    mirror = make_mirror(WEB, status=shows(4))
    if comes_first:
        lives.lists(API, mirror)
    lives.lists(FILE, WEB)
    lives.lists(API, mirror)
    assert restarts_of(lives, WEB) == 5
    lives.exits(WEB, code=1)
    assert restarts_of(lives, WEB) == 6
    # What the node itself has written there since says nothing new.
    lives.lists(API, make_mirror(WEB, status=shows(40)))
    lives.crashes(POD_KEEPER.path)
    assert restarts_of(lives, WEB) == 6


@pytest.mark.parametrize(
    ("status", "spec"),
    [
        (shows(4, phase="Failed"), {}),
        (shows(4), {"restartPolicy": "OnFailure"}),
        ({}, {}),
    ],
)
def test_a_mirror_that_says_nothing_of_restarts_to_come_changes_nothing(
    lives: LivesStage, status: JsonObject, spec: dict[str, Any]
) -> None:
    web = make_pod("web", uid="1", config_hash="1", spec=spec)
    lives.lists(API, make_mirror(web, status=status))
    lives.lists(FILE, web)
    assert restarts_of(lives, web) == 0


def test_the_mirror_of_another_version_changes_nothing(lives: LivesStage) -> None:
    lives.lists(API, make_mirror(WEB, status=shows(4), mirror="another"))
    lives.lists(FILE, WEB)
    assert restarts_of(lives, WEB) == 0
