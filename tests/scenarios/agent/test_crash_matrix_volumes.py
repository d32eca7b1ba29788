"""No crash, of anybody, at any moment, leaves a pod with other files than without it, or a volume behind."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from tests.support.builders import make_pod
from tests.support.crash_matrix import Matrix
from tests.support.worlds.joined import NODE
from tests.support.worlds.running import VolumesWorld

Action: TypeAlias = Callable[[VolumesWorld], object]

SEEDS = range(1)
EVERY = int(os.environ.get("CRASH_EVERY", "600"))
"""As for pods that run: some 200 blows."""
EVERY_MESSAGE = max(1, EVERY // 20)

KEYS: Final = {"name": "keys", "secret": {"secretName": "keys"}}
ROOM: Final = {"name": "room", "emptyDir": {}}


def bind(name: str) -> Action:
    """Have somebody create a pod that mounts a Secret and has room of its own."""
    mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in (KEYS, ROOM)]
    main = {"name": "main", "image": "web:1", "volumeMounts": mounts}
    spec = {
        "nodeName": NODE,
        "containers": [main],
        "volumes": [KEYS, ROOM],
        "terminationGracePeriodSeconds": 2,
    }
    pod = make_pod(name, source="", spec=spec)
    return lambda world: world.store.add(pod.document)


def delete(name: str) -> Action:
    """Have an administrator delete a pod."""
    return lambda world: world.store.remove("pods", "default", name, grace=None)


def put(value: str) -> Action:
    """Have a user create the Secret, or change it."""
    document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "keys", "namespace": "default"},
        "data": {"key": b64encode(value.encode()).decode()},
    }

    def action(world: VolumesWorld) -> None:
        if value == "one":
            world.store.add(document)
        else:
            world.store.change("secrets", "default", "keys", data=document["data"])

    return action


STORIES: dict[str, tuple[Action, ...]] = {
    "the Secret comes late, and changes": (bind("web"), put("one"), bind("db"), put("two")),
    "one of two pods is deleted": (put("one"), bind("web"), bind("db"), delete("web")),
    "a pod that waits is deleted": (bind("web"), delete("web")),
}


@pytest.mark.timeout(3600)  # for ``CRASH_EVERY=1``
@pytest.mark.parametrize("story", STORIES)
def test_no_crash_changes_what_volumes_show_or_leaves_one_behind(
    tmp_path: Path, story: str
) -> None:
    matrix = Matrix(VolumesWorld, tmp_path, STORIES[story])
    matrix.run(SEEDS, EVERY, EVERY_MESSAGE)
    assert matrix.reached > 0
    assert matrix.differences == []
