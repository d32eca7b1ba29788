"""No crash, of anybody, at any moment, leaves a pod with another Secret than it would have without it."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from manifests.change_hooks import ON_OBJECT_CHANGE
from messages.objects import ObjectKind
from messages.pods import Pod
from settings.cluster import ChangeDetection
from tests.support.builders import make_pod
from tests.support.canary import hidden
from tests.support.crash_matrix import Matrix
from tests.support.worlds.cluster_objects import ClusterObjectsWorld
from tests.support.worlds.objects import NODE, Wanted

Action: TypeAlias = Callable[[ClusterObjectsWorld], object]

SEEDS = range(2)
EVERY = int(os.environ.get("CRASH_EVERY", "240"))
"""Of all blows between two messages every 240th, others on each of the schedules; of those at a message,
which are few and hit more, every sixth: some 1,000. ``CRASH_EVERY=1`` takes all of them, which takes a
quarter of an hour."""
EVERY_MESSAGE = max(1, EVERY // 40)

NAMESPACE = "default"
IDLE = 301.0
"""Seconds: more than nobody may read an object while it is watched."""
UNTIL_LIST_IS_LOST = 75.0
"""Seconds: a list beside the watch that gets lost in a crash is asked for again. Only immutable objects
need it: of others the watch tells everything, since it begins anew with a list."""


def together(*actions: Action) -> Action:
    """Return them as one action: the agent has no time in between."""

    def action(world: ClusterObjectsWorld) -> None:
        for each in actions:
            each(world)

    return action


# The API server's side.


def pod(name: str, *secrets: str, config_maps: tuple[str, ...] = (), hook: str = "") -> Pod:
    """Return a pod of this node that mounts these objects."""
    volumes: list[dict[str, Any]] = [{"name": s, "secret": {"secretName": s}} for s in secrets]
    volumes += [{"name": c, "configMap": {"name": c}} for c in config_maps]
    spec = {"nodeName": NODE, "volumes": volumes}
    return make_pod(name, source="", spec=spec, annotations={ON_OBJECT_CHANGE: hook})


def bind(name: str, *secrets: str, config_maps: tuple[str, ...] = (), hook: str = "") -> Action:
    """Have a pod be bound that mounts these objects."""
    bound = pod(name, *secrets, config_maps=config_maps, hook=hook)
    return lambda world: world.bind(bound.document)


def delete(name: str) -> Action:
    """Have a pod be deleted."""
    return lambda world: world.store.remove("pods", NAMESPACE, name)


def finish(name: str) -> Action:
    """Have a pod run to its end."""
    return lambda world: world.store.change("pods", NAMESPACE, name, status={"phase": "Succeeded"})


def put(name: str, value: str, *, immutable: bool = False) -> Action:
    """Have a Secret be created."""
    metadata = {"namespace": NAMESPACE, "name": name}
    document = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **_data(value)}
    if immutable:
        document["immutable"] = True
    return lambda world: world.store.add(document)


def edit(name: str, value: str, **fields: Any) -> Action:
    """Have a Secret be edited."""
    return lambda world: world.store.change("secrets", NAMESPACE, name, **_data(value), **fields)


def remove(name: str) -> Action:
    """Have a Secret be deleted."""
    return lambda world: world.store.remove("secrets", NAMESPACE, name)


def put_config_map(name: str, value: str) -> Action:
    """Have a ConfigMap be created."""
    metadata = {"namespace": NAMESPACE, "name": name}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return lambda world: world.store.add({**document, "data": {"level": value}})


def edit_config_map(name: str, value: str) -> Action:
    """Have a ConfigMap be edited."""
    return lambda world: world.store.change("configmaps", NAMESPACE, name, data={"level": value})


def _data(value: str) -> dict[str, Any]:
    return {"data": {"password": b64encode(hidden(value).encode()).decode()}}


def go_away(world: ClusterObjectsWorld) -> None:
    """Have the API server be away."""
    world.api_goes_away()


def come_back(world: ClusterObjectsWorld) -> None:
    """Have the API server be back."""
    world.api_comes_back()


def lag(world: ClusterObjectsWorld) -> None:
    """Have the watches lag."""
    world.watches_lag()


def catch_up(world: ClusterObjectsWorld) -> None:
    """Have the watches lag no more."""
    world.watches_catch_up()


def lists_take_long(world: ClusterObjectsWorld) -> None:
    """Have lists of Secrets find what there is, and be under way until later."""
    world.lists_take_long()


def lists_arrive(world: ClusterObjectsWorld) -> None:
    """Have them arrive, and those that follow take no time."""
    world.lists_arrive()


# The agent's side.


def follow(world: ClusterObjectsWorld) -> None:
    """Have somebody follow all objects."""
    world.follow()


def unfollow(world: ClusterObjectsWorld) -> None:
    """Have nobody follow them."""
    world.unfollow()


def read(pod: str, name: str, kind: ObjectKind = ObjectKind.SECRET) -> Action:
    """Have a pod read an object."""
    return lambda world: world.read(Wanted(pod, kind, name))


def hold(name: str, *secrets: str) -> Action:
    """Have somebody hold a pod that mounts these, whatever the API server says of it."""
    held = pod(name, *secrets)
    return lambda world: world.register(held)


def let_go(name: str) -> Action:
    """Have nobody hold it."""
    return lambda world: world.unregister(name)


def wait(seconds: float) -> Action:
    """Have nothing happen for a while."""
    return lambda world: world.play.advance(seconds)


STORIES: dict[str, tuple[Action, ...]] = {
    "pods come, share and go": (
        follow,
        put("db", "1"),
        bind("web", "db"),
        put("tls", "1"),
        together(bind("shop", "db", "tls"), read("web", "db")),
        delete("web"),
        finish("shop"),
        bind("web", "db", "tls"),
        read("web", "db"),
    ),
    "the last reference goes, and another comes": (
        put("db", "1"),
        bind("web", "db"),
        follow,
        together(delete("web"), bind("shop", "db")),
        delete("shop"),
        bind("web", "db"),
        together(edit("db", "2"), delete("web")),
        together(edit("db", "3"), bind("shop", "db")),
        read("shop", "db"),
    ),
    "a Secret changes, goes and is made anew": (
        follow,
        bind("web", "db", hook="signal:SIGHUP"),
        put("db", "1"),
        edit("db", "2"),
        together(edit("db", "3"), edit("db", "4")),
        remove("db"),
        read("web", "db"),
        put("db", "5"),
        together(remove("db"), put("db", "6")),
        read("web", "db"),
    ),
    "an immutable Secret is made anew": (
        follow,
        put("db", "1", immutable=True),
        bind("web", "db", hook="restart"),
        together(remove("db"), put("db", "2", immutable=True)),
        together(bind("shop", "db"), wait(UNTIL_LIST_IS_LOST)),
        read("shop", "db"),
        together(remove("db"), put("db", "3")),
        together(bind("mail", "db"), wait(UNTIL_LIST_IS_LOST)),
        edit("db", "4", immutable=True),
        remove("db"),
        bind("job", "db"),
        read("job", "db"),
    ),
    "the API server is away for a while": (
        follow,
        put("db", "1"),
        bind("web", "db", hook="restart"),
        go_away,
        together(edit("db", "2"), read("web", "db")),
        together(put("tls", "1"), bind("shop", "db", "tls")),
        hold("mail", "db"),
        read("mail", "db"),
        come_back,
        read("shop", "tls"),
        let_go("mail"),
    ),
    "the watches lag": (
        follow,
        put("db", "1"),
        bind("web", "db", hook="restart"),
        lag,
        edit("db", "2"),
        hold("mail", "db"),
        read("mail", "db"),
        together(remove("db"), bind("shop", "db")),
        put("db", "3"),
        catch_up,
        read("shop", "db"),
        let_go("mail"),
    ),
    "lists take long": (
        follow,
        put("db", "1"),
        lists_take_long,
        bind("web", "db", hook="restart"),
        edit("db", "2"),
        together(lists_arrive, lists_take_long),
        bind("shop", "db"),
        edit("db", "3"),
        read("shop", "db"),
        remove("db"),
        lists_arrive,
        put("db", "4"),
        read("shop", "db"),
        lists_take_long,
        together(bind("mail", "db"), delete("web")),
        together(delete("mail"), delete("shop")),
        bind("shop", "db"),
        lists_arrive,
    ),
    "nobody reads for long": (
        together(put("db", "1"), put("tls", "1")),
        bind("web", "db", "tls"),
        wait(IDLE),
        together(edit("db", "2"), remove("tls")),
        read("web", "db"),
        read("web", "tls"),
        wait(IDLE),
        bind("shop", "db"),
        edit("db", "3"),
        follow,
        wait(IDLE),
        edit("db", "4"),
        unfollow,
        wait(IDLE),
        read("web", "db"),
    ),
    "nobody reads in the end": (
        together(put("db", "1"), put("tls", "1")),
        bind("web", "db", "tls"),
        wait(IDLE),
        bind("shop", "db"),
        together(edit("db", "2"), remove("tls")),
        wait(IDLE),
        together(read("web", "tls"), delete("web")),
        wait(IDLE),
    ),
    "references change": (
        follow,
        together(put("db", "1"), put("tls", "1")),
        bind("web", "db", "tls"),
        hold("mail", "db"),
        hold("mail", "tls"),
        delete("web"),
        bind("web", "tls"),
        edit("tls", "2"),
        read("mail", "tls"),
        let_go("mail"),
        delete("web"),
    ),
    "Secrets and ConfigMaps": (
        follow,
        put_config_map("db", "1"),
        bind("web", "db", config_maps=("db",), hook="signal:SIGHUP,splay=10s"),
        put("db", "1"),
        edit_config_map("db", "2"),
        read("web", "db", ObjectKind.CONFIG_MAP),
        delete("web"),
    ),
}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("detection", [ChangeDetection.WATCH, ChangeDetection.CACHE])
@pytest.mark.timeout(900)  # for ``CRASH_EVERY=1``
def test_pods_have_the_same_objects_in_the_end_whoever_crashes_wherever(
    tmp_path: Path, name: str, detection: ChangeDetection
) -> None:
    make_world = partial(ClusterObjectsWorld, detection=detection)
    matrix = Matrix(make_world, tmp_path, STORIES[name])
    matrix.run(SEEDS, EVERY, EVERY_MESSAGE)
    assert matrix.differences == []
    # So that the matrix does not shrink unnoticed: a crash of nobody proves nothing.
    assert matrix.reached >= 10
