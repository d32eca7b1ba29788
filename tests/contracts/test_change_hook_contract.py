"""What pods can rely on that want something done about changes, whatever their objects are read from.

Each story is told over Watch, Cache and the local files, through the real managers. Strategy Get hears of
no changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from manifests.change_hooks import ON_OBJECT_CHANGE
from messages.objects import ChangeDecided, ObjectFact, ObjectKind, ReadVerdict
from messages.pods import JsonObject, Pod
from tests.support.kernel.probe import Probe
from tests.support.objects.stores import ObjectWorld, Store, object_world

IMMUTABLE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"namespace": "shop", "name": "db"},
    "immutable": True,
}


@pytest.fixture(params=[Store.WATCH, Store.CACHE, Store.LOCAL], ids=lambda store: store.value)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectWorld]:
    with object_world(request.param, ObjectKind.SECRET, tmp_path / "objects") as world:
        yield world


def hooked(world: ObjectWorld, name: str) -> Pod:
    """Return a pod that wants to be restarted when its Secret changes."""
    return world.pod(name, "db", annotations={ON_OBJECT_CHANGE: "restart"})


def restarted(follower: Probe[ObjectFact]) -> list[str]:
    """Return the pods that are to be restarted, by what a follower was told since the last look."""
    decided = [fact for fact in follower.drain() if isinstance(fact, ChangeDecided)]
    return [decision.pod_name for decision in decided]


def in_use(world: ObjectWorld, pod: Pod, *, is_read: bool = True) -> Probe[ObjectFact]:
    """Have the Secret be there, ``a=1``, and a pod that has read it; return who follows its changes."""
    world.admin.put("db", a="1")
    world.serves(pod)
    if is_read:
        world.read(pod)
    follower = world.follows()
    if not is_read:
        world.waits()
    return follower


def is_made_anew(world: ObjectWorld, value: str) -> None:
    """Have the Secret be removed and, after a while, written anew."""
    world.admin.remove("db")
    world.waits()
    world.admin.put("db", a=value)
    world.waits()


def test_a_pod_is_not_told_of_the_change_that_it_begins_with(world: ObjectWorld) -> None:
    """As in a rollout: the object is another first, and then the pods are."""
    old, new = hooked(world, "old"), hooked(world, "new")
    follower = in_use(world, old)
    # Nobody has heard of the change when the new pod comes.
    with world.admin.unnoticed():
        world.admin.put("db", a="2")
        world.serves(old, new)
        world.begins_to_read(new)
    world.waits()
    (answer,) = world.answers()
    assert (answer.verdict, answer.is_fresh) == (ReadVerdict.FOUND, True)
    assert restarted(follower) == ["shop/old"]
    # From there on it has something to lose.
    world.admin.put("db", a="3")
    world.waits()
    assert restarted(follower) == ["shop/old", "shop/new"]


def test_a_pod_is_not_told_of_a_change_that_was_there_before_it(world: ObjectWorld) -> None:
    """Whoever deploys writes both in one go; nothing is read for the pod before the change is known."""
    old, new = hooked(world, "old"), hooked(world, "new")
    follower = in_use(world, old)
    with world.admin.unnoticed():
        world.admin.put("db", a="2")
        world.serves(old, new)
    world.waits()
    assert world.read(new).verdict is ReadVerdict.FOUND
    assert restarted(follower) == ["shop/old"]


def test_a_pod_that_never_reads_is_told_of_what_another_ones_first_read_finds(
    world: ObjectWorld,
) -> None:
    old, new = hooked(world, "old"), hooked(world, "new")
    follower = in_use(world, old, is_read=False)
    with world.admin.unnoticed():
        world.admin.put("db", a="2")
        world.serves(old, new)
        world.begins_to_read(new)
    world.waits()
    (answer,) = world.answers()
    assert (answer.verdict, answer.is_fresh) == (ReadVerdict.FOUND, True)
    assert restarted(follower) == ["shop/old"]


def test_no_crash_makes_a_pod_be_told_of_what_was_there_before_it(world: ObjectWorld) -> None:
    old, new = hooked(world, "old"), hooked(world, "new")
    follower = in_use(world, old, is_read=False)
    world.crashes(world.holder)
    world.crashes(world.manager)
    with world.admin.unnoticed():
        world.admin.put("db", a="2")
        world.goes_down(world.holder)
        world.goes_down(world.manager)
        world.serves(old, new)
    world.waits()
    assert restarted(follower) == ["shop/old"]


@pytest.mark.parametrize("store", [Store.WATCH, Store.CACHE], ids=lambda store: store.value)
def test_a_pod_that_begins_with_a_stale_value_is_told_of_the_next(
    store: Store, tmp_path: Path
) -> None:
    with object_world(store, ObjectKind.SECRET, tmp_path / "objects") as world:
        old, new = hooked(world, "old"), hooked(world, "new")
        follower = in_use(world, old)
        world.admin.goes_away()
        world.waits()
        world.admin.put("db", a="2")
        world.serves(old, new)
        assert world.read(new).verdict is ReadVerdict.STALE
        world.admin.comes_back()
        world.waits()
        assert restarted(follower) == ["shop/old", "shop/new"]


def test_a_pod_that_never_reads_is_told_of_what_changes_once_it_is_there(
    world: ObjectWorld,
) -> None:
    """Who runs it may have its values from elsewhere."""
    follower = in_use(world, hooked(world, "old"), is_read=False)
    world.serves(hooked(world, "old"), hooked(world, "new"))
    world.waits()
    world.admin.put("db", a="2")
    world.waits()
    assert restarted(follower) == ["shop/old", "shop/new"]


def test_what_is_made_anew_as_it_was_restarts_nobody(world: ObjectWorld) -> None:
    """As ``kubectl replace --force`` does it."""
    web = hooked(world, "web")
    follower = in_use(world, web)
    is_made_anew(world, "1")
    assert restarted(follower) == []
    # What it becomes later is a change like any other.
    world.admin.put("db", a="2")
    world.waits()
    assert restarted(follower) == ["shop/web"]


def test_what_is_made_anew_with_another_value_restarts_who_has_the_old_one(
    world: ObjectWorld,
) -> None:
    web = hooked(world, "web")
    follower = in_use(world, web)
    is_made_anew(world, "2")
    assert restarted(follower) == ["shop/web"]


def test_what_is_made_anew_as_it_was_restarts_who_found_none(world: ObjectWorld) -> None:
    """It may have begun without, where the object is optional."""
    web, late = hooked(world, "web"), hooked(world, "late")
    follower = in_use(world, web)
    world.admin.remove("db")
    world.waits()
    world.serves(web, late)
    assert world.read(late).verdict is ReadVerdict.NOT_FOUND
    world.admin.put("db", a="1")
    world.waits()
    assert "shop/late" in restarted(follower)


def test_an_immutable_secret_that_was_made_anew_restarts_who_has_the_old_one(
    tmp_path: Path,
) -> None:
    """Nobody watches it: that it is another is only found for a pod that is new."""
    with object_world(Store.WATCH, ObjectKind.SECRET, tmp_path / "objects") as world:
        old, new = hooked(world, "old"), hooked(world, "new")
        world.api.store.add({**IMMUTABLE, "data": {"a": "MQ=="}})
        world.serves(old)
        world.read(old)
        follower = world.follows()
        world.admin.remove("db")
        world.api.store.add({**IMMUTABLE, "data": {"a": "Mg=="}})
        world.serves(old, new)
        assert world.read(new).verdict is ReadVerdict.FOUND
        assert restarted(follower) == ["shop/old"]
