"""Pods are run, edited, stopped and killed, with a crash of each actor at each step and each message.

Whoever crashes: the same containers run in the end, none was started or stopped once more for it, every pod
has the status that it would have had, and there are workers for exactly the pods that need one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from manifests.change_hooks import ON_OBJECT_CHANGE, ROLLOUT_GROUP
from messages.objects import ChangeAction, ObjectKind
from messages.pods import API, FILE, Pod, SourceName
from messages.statuses import PodFailure
from tests.support.builders import make_pod
from tests.support.crash_matrix import Matrix
from tests.support.pod_lives.lives_stage import api_pod
from tests.support.services.service_stage import service
from tests.support.worlds.pod_lives import PodLivesWorld

Action: TypeAlias = Callable[[PodLivesWorld], object]

EVICTED = PodFailure(reason="Evicted", message="The node was low on memory")
JOB = api_pod("job", spec={"restartPolicy": "Never"})
ENDED_JOB = api_pod("job", spec={"restartPolicy": "Never"}, deleting=True)
KEYS = {"name": "keys", "secret": {"secretName": "keys"}}
NEEDY = api_pod("needy", spec={"containers": [{"name": "main"}], "volumes": [KEYS]})


def lists(source: SourceName, *pods: Pod) -> Action:
    return lambda world: world.lists(source, *pods)


def exits(pod: Pod, code: int = 0) -> Action:
    return lambda world: world.lives.exits(pod, code)


def kills(pod: Pod) -> Action:
    return lambda world: world.lives.kills(pod, EVICTED)


def is_stubborn(pod: Pod) -> Action:
    return lambda world: world.lives.machine.stubborn.add(pod.uid)


def secret(world: PodLivesWorld) -> None:
    world.lives.world.objects.put(ObjectKind.SECRET, "keys", key="value")


def has_service(name: str) -> Action:
    def puts(world: PodLivesWorld) -> None:
        watches = world.lives.world.watches
        assert watches is not None
        watches.put(service(name))

    return puts


def wait(seconds: float) -> Action:
    return lambda world: world.play.advance(seconds)


def version(number: int) -> Pod:
    return make_pod("web", uid=f"version-{number}", image=f"web:{number}")


def member(name: str) -> Pod:
    """Return a pod of a group that is restarted when its ConfigMap changes."""
    reference = {"configMapKeyRef": {"name": "settings", "key": "level"}}
    main = {"name": "main", "env": [{"name": "LEVEL", "valueFrom": reference}]}
    annotations = {ON_OBJECT_CHANGE: "restart", ROLLOUT_GROUP: "web"}
    return api_pod(name, spec={"containers": [main]}, annotations=annotations)


def changes_settings(level: str) -> Action:
    def puts(world: PodLivesWorld) -> None:
        objects = world.lives.world.objects
        objects.decides = ChangeAction.RESTART
        objects.put(ObjectKind.CONFIG_MAP, "settings", level=level)

    return puts


GROUP = (member("a"), member("b"))

STORIES: dict[str, tuple[Action, ...]] = {
    "pods of both kinds come and go": (
        lists(FILE, make_pod("a"), make_pod("b")),
        lists(API, api_pod("c")),
        lists(FILE, make_pod("b")),
        lists(API, api_pod("c", deleting=True)),
        lists(API),
    ),
    "a static pod is edited twice while it stops": (
        is_stubborn(version(1)),
        lists(FILE, version(1)),
        lists(FILE, version(2)),
        lists(FILE, version(3)),
        wait(30.0),
    ),
    "a pod of a fixed UID is removed and added again": (
        is_stubborn(make_pod("web", uid="fixed")),
        lists(FILE, make_pod("web", uid="fixed")),
        lists(FILE),
        lists(FILE, make_pod("web", uid="fixed", labels={"a": "b"})),
        wait(30.0),
    ),
    "a job ends and is deleted": (
        lists(API, JOB),
        exits(JOB),
        lists(API, ENDED_JOB),
        lists(API),
    ),
    "a pod is killed for the node's sake": (
        lists(API, api_pod("web"), api_pod("other")),
        wait(6.0),  # a question to the runtime that was lost is asked again
        kills(api_pod("web")),
        exits(api_pod("other"), 1),
        lists(API, api_pod("web", deleting=True), api_pod("other")),
    ),
    "a pod waits for its Secret": (lists(API, NEEDY), secret, lists(API)),
    "pods of a group are restarted since their settings change": (
        changes_settings("info"),
        lists(API, *GROUP),
        wait(10.0),  # what is lost before they run, they begin with
        changes_settings("debug"),
        wait(70.0),  # a question for a turn that was lost is asked again
    ),
    "pods are told of Services": (
        lists(API, api_pod("a"), api_pod("b", namespace="shop")),
        has_service("x"),
        lists(FILE, make_pod("c", namespace="shop")),
        lists(API, api_pod("b", namespace="shop")),
        has_service("y"),
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_crash_at_any_moment_changes_no_life(name: str, tmp_path: Path) -> None:
    matrix = Matrix(PodLivesWorld, tmp_path, STORIES[name])
    matrix.run(range(2), every=3, every_message=2)
    assert matrix.differences == []
    assert matrix.reached > 40
