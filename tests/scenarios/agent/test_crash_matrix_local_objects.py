"""No crash, of anybody, at any moment, leaves a static pod with another Secret than without it."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from manifests.change_hooks import ON_OBJECT_CHANGE
from messages.objects import ObjectKind
from messages.pods import JsonObject
from tests.support.builders import make_pod
from tests.support.canary import hidden
from tests.support.crash_matrix import Matrix
from tests.support.worlds.local_objects import LocalObjectsWorld
from tests.support.worlds.objects import Wanted

Action: TypeAlias = Callable[[LocalObjectsWorld], object]

SEEDS = range(2)
EVERY = int(os.environ.get("CRASH_EVERY", "240"))
"""As for objects of the API server: some 100 blows."""
EVERY_MESSAGE = max(1, EVERY // 40)

NAMESPACE = "default"


def write(name: str, *secrets: str, hook: str = "") -> Action:
    """Write the manifest of a pod that mounts these."""
    volumes: list[dict[str, Any]] = [{"name": s, "secret": {"secretName": s}} for s in secrets]
    annotations = {ON_OBJECT_CHANGE: hook}
    pod = make_pod(name, source="", spec={"volumes": volumes}, annotations=annotations)
    document = pod.document
    return lambda world: world.write_pod(document)


def withdraw(name: str) -> Action:
    """Remove a manifest."""
    return lambda world: world.remove_pod(name)


def put(name: str, value: str) -> Action:
    """Write the file of a Secret."""
    metadata = {"namespace": NAMESPACE, "name": name}
    data = {"password": b64encode(hidden(value).encode()).decode()}
    document: JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "data": data,
    }
    return lambda world: world.write_object(document)


def break_(name: str) -> Action:
    """Make the file of a Secret unusable."""
    return lambda world: world.break_object(name)


def remove(name: str) -> Action:
    """Remove the file of a Secret."""
    return lambda world: world.remove_object(name)


def follow(world: LocalObjectsWorld) -> None:
    """Have somebody follow all objects."""
    world.follow()


def vanish(world: LocalObjectsWorld) -> None:
    """Have the directory of Secrets be gone."""
    world.directory_goes()


def reappear(world: LocalObjectsWorld) -> None:
    """Have it be there again."""
    world.directory_comes_back()


def read(name: str, secret: str) -> Action:
    """Have a pod read a Secret."""
    return lambda world: world.read(Wanted(name, ObjectKind.SECRET, secret))


STORIES: dict[str, tuple[Action, ...]] = {
    "files are written, edited and removed": (
        follow,
        write("web", "db", hook="signal:SIGHUP"),
        put("db", "1"),
        put("db", "2"),
        read("web", "db"),
        break_("db"),
        put("tls", "1"),
        write("shop", "db", "tls"),
        read("shop", "db"),
        put("db", "3"),
        remove("db"),
        put("db", "4"),
        withdraw("web"),
        read("shop", "tls"),
    ),
    "the directory vanishes and comes back": (
        follow,
        put("db", "1"),
        write("web", "db", hook="restart"),
        vanish,
        read("web", "db"),
        write("shop", "db", "tls"),
        reappear,
        put("tls", "1"),
        write("web", "tls", hook="restart"),
        put("db", "2"),
    ),
}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.timeout(900)  # for ``CRASH_EVERY=1``
def test_static_pods_have_the_same_objects_in_the_end_whoever_crashes_wherever(
    tmp_path: Path, name: str
) -> None:
    matrix = Matrix(LocalObjectsWorld, tmp_path, STORIES[name])
    matrix.run(SEEDS, EVERY, EVERY_MESSAGE)
    assert matrix.differences == []
    assert matrix.reached >= 10
