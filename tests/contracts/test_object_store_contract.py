"""What all stores of Secrets and ConfigMaps promise, whatever they read them from.

Each story is told over Watch, Cache, Get and the local files, of Secrets and of ConfigMaps, through the
real managers. Where a strategy promises less, the story says so.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from messages.objects import (
    HeldObject,
    ObjectChanged,
    ObjectFact,
    ObjectKind,
    ObjectState,
    ReadVerdict,
    RegisterPod,
    UnregisterPod,
)
from messages.pods import API, FILE, Pod
from tests.support.builders import edited, make_mirror
from tests.support.canary import CANARY, hidden
from tests.support.kernel.probe import Probe
from tests.support.objects.stores import ObjectWorld, Store, object_world

Logs: TypeAlias = list[MutableMapping[str, Any]]

STORES = list(Store)
ABSENT = {**dict.fromkeys(Store, ""), Store.LOCAL: "no file describes it"}
"""The last error of an object that does not exist."""


@pytest.fixture(params=list(ObjectKind), ids=str)
def kind(request: pytest.FixtureRequest) -> ObjectKind:
    kind: ObjectKind = request.param
    return kind


@pytest.fixture(params=STORES, ids=lambda store: store.value)
def world(
    request: pytest.FixtureRequest, kind: ObjectKind, tmp_path: Path
) -> Iterator[ObjectWorld]:
    with object_world(request.param, kind, tmp_path / "objects") as world:
        yield world


def words(follower: Probe[ObjectFact]) -> list[str]:
    """Return what a follower was told since the last look: ``modified db a,b``."""
    facts = [fact for fact in follower.drain() if isinstance(fact, ObjectChanged)]
    return [f"{fact.change} {fact.object.name} {','.join(fact.keys)}" for fact in facts]


def in_use(world: ObjectWorld) -> tuple[Probe[ObjectFact], Pod]:
    """Have a pod that has read the object, ``a=1``; return who follows it, told of that, and the pod."""
    follower, web = world.follows(), world.pod("web", "db")
    world.admin.put("db", a="1")
    world.serves(web)
    assert world.read(web).verdict is ReadVerdict.FOUND
    follower.drain()
    return follower, web


def told(world: ObjectWorld, *changes: str) -> list[str]:
    """Return what a follower is told of ``changes``: nothing by a store that keeps nothing."""
    return list(changes) if world.keeps else []


def troubles(world: ObjectWorld, line: str, reason: str) -> list[str]:
    """Return what people are told of a trouble: no event of a static pod, which has no mirror."""
    return [line] if world.store is Store.LOCAL else [line, reason]


def notices(world: ObjectWorld, pod: Pod, logs: Logs) -> list[str]:
    """Let a store learn what has happened; return the lines, then the reasons of events, since then."""
    logs.clear()
    world.waits()
    world.read(pod)
    return told_by_now(world, logs)


def told_by_now(world: ObjectWorld, logs: Logs) -> list[str]:
    """Return the lines about the object, then the reasons of events, since the last look."""
    world.play.advance(3.0)
    lines = [line["event"] for line in logs if line.get("object") == "shop/db"]
    return [*lines, *(post.reason for post in world.events.drain())]


# --- reading --------------------------------------------------------------------------------------------


def test_an_object_is_found_as_it_is(world: ObjectWorld) -> None:
    world.admin.put("db", user="root", password="pass")
    web = world.pod("web", "db")
    world.serves(web)
    answer = world.read(web)
    assert (answer.verdict, answer.age, answer.reason) == (ReadVerdict.FOUND, None, "")
    assert answer.value is not None
    assert answer.value.data == {
        "user": hidden("root").encode(),
        "password": hidden("pass").encode(),
    }


def test_what_there_is_not_is_not_found(world: ObjectWorld) -> None:
    web = world.pod("web", "db")
    world.serves(web)
    answer = world.read(web)
    assert (answer.verdict, answer.age) == (ReadVerdict.NOT_FOUND, None)
    assert answer.value is None
    assert answer.reason


@pytest.mark.rule("T1", "W2")
def test_what_no_pod_references_is_told_to_nobody(world: ObjectWorld) -> None:
    world.admin.put("db", a="1")
    world.admin.put("tls", a="1")
    web, shop = world.pod("web", "db"), world.pod("shop", "tls")
    world.serves(shop)
    assert world.read(web).verdict is ReadVerdict.NOT_REGISTERED
    assert world.read(shop, "tls").verdict is ReadVerdict.FOUND


def test_a_pod_reads_nothing_of_another_namespace(world: ObjectWorld) -> None:
    world.admin.put("db", a="1")
    web, elsewhere = world.pod("web", "db"), world.pod("web", "db", namespace="other")
    world.serves(web, elsewhere)
    assert world.read(web).verdict is ReadVerdict.FOUND
    assert world.read(elsewhere).verdict is ReadVerdict.NOT_FOUND


# --- changing -------------------------------------------------------------------------------------------


def test_what_is_created_later_is_found(world: ObjectWorld) -> None:
    follower, web = world.follows(), world.pod("web", "db")
    world.serves(web)
    assert world.read(web).verdict is ReadVerdict.NOT_FOUND
    world.admin.put("db", a="1")
    world.waits()
    assert world.read(web).verdict is ReadVerdict.FOUND
    assert words(follower) == told(world, "added db a")


def test_an_update_is_read_and_told(world: ObjectWorld) -> None:
    follower, web = world.follows(), world.pod("web", "db")
    world.admin.put("db", a="1", b="1", c="1")
    world.serves(web)
    before = world.read(web).value
    words(follower)
    world.admin.put("db", a="2", b="1", d="1")
    world.waits()
    after = world.read(web).value
    assert before is not None
    assert after is not None
    assert after.data == {
        "a": hidden("2").encode(),
        "b": hidden("1").encode(),
        "d": hidden("1").encode(),
    }
    assert after.uid == before.uid
    assert after.resource_version != before.resource_version
    assert words(follower) == told(world, "modified db a,c,d")


def test_who_follows_hears_of_what_nobody_reads(world: ObjectWorld) -> None:
    follower = world.follows()
    world.admin.put("db", a="1")
    world.serves(world.pod("web", "db"))
    world.waits()
    words(follower)
    world.admin.put("db", a="2")
    world.waits()
    assert words(follower) == told(world, "modified db a")
    world.admin.remove("db")
    world.waits()
    assert words(follower) == told(world, "deleted db a")


def test_what_is_deleted_is_not_found(world: ObjectWorld) -> None:
    follower, web = in_use(world)
    world.admin.remove("db")
    world.waits()
    answer = world.read(web)
    assert (answer.verdict, answer.value, answer.age) == (ReadVerdict.NOT_FOUND, None, None)
    assert words(follower) == told(world, "deleted db a")


def test_what_is_made_anew_is_another_object(world: ObjectWorld) -> None:
    follower, web = world.follows(), world.pod("web", "db")
    world.admin.put("db", a="1")
    world.serves(web)
    before = world.read(web).value
    world.admin.remove("db")
    world.waits()
    world.read(web)
    words(follower)
    world.admin.put("db", a="2")
    world.waits()
    after = world.read(web).value
    assert before is not None
    assert after is not None
    assert (after.data, after.uid == before.uid) == ({"a": hidden("2").encode()}, False)
    assert words(follower) == told(world, "added db a")


def test_a_broken_version_leaves_the_last_good_one_as_stale(world: ObjectWorld) -> None:
    """Strategy Get, which keeps nothing, has only the broken one."""
    follower, web = in_use(world)
    world.admin.breaks("db", CANARY)
    world.waits()
    answer = world.read(web)
    assert answer.verdict is (ReadVerdict.STALE if world.keeps else ReadVerdict.UNUSABLE)
    assert (answer.value is not None) is world.keeps
    assert (answer.age is not None) is world.keeps
    assert "base64" in answer.reason
    assert CANARY not in answer.reason
    (described,) = world.described()
    assert "base64" in described.error
    assert words(follower) == []
    # It is mended.
    world.admin.put("db", a="2")
    world.waits()
    assert world.read(web).verdict is ReadVerdict.FOUND
    assert words(follower) == told(world, "modified db a")
    (described,) = world.described()
    assert described.error == ""


def test_an_object_that_was_never_good_is_unusable(world: ObjectWorld) -> None:
    world.admin.breaks("db", CANARY)
    world.admin.put("tls", a="1")
    web = world.pod("web", "db", "tls")
    world.serves(web)
    answer = world.read(web)
    assert (answer.verdict, answer.value, answer.age) == (ReadVerdict.UNUSABLE, None, None)
    assert "base64" in answer.reason
    # It does not touch its neighbour.
    assert world.read(web, "tls").verdict is ReadVerdict.FOUND


def test_while_nobody_can_be_asked_the_last_value_is_told_with_its_age(world: ObjectWorld) -> None:
    """Quirk K24. Strategy Get, which keeps nothing, has none."""
    web = world.pod("web", "db")
    world.admin.put("db", a="1")
    world.serves(web)
    assert world.read(web).verdict is ReadVerdict.FOUND
    world.admin.goes_away()
    world.waits()
    answer = world.read(web)
    assert answer.verdict is (ReadVerdict.STALE if world.keeps else ReadVerdict.NOT_SYNCED)
    assert (answer.age is not None) is world.keeps
    assert answer.reason
    world.admin.comes_back()
    world.waits()
    assert world.read(web).verdict is ReadVerdict.FOUND


def test_while_nobody_can_be_asked_what_was_not_there_is_told_with_its_age(
    world: ObjectWorld,
) -> None:
    web = world.pod("web", "db")
    world.serves(web)
    assert world.read(web).verdict is ReadVerdict.NOT_FOUND
    world.admin.goes_away()
    world.waits()
    answer = world.read(web)
    assert answer.verdict is (ReadVerdict.NOT_FOUND if world.keeps else ReadVerdict.NOT_SYNCED)
    assert (answer.age is not None) is world.keeps


# --- what people are told -------------------------------------------------------------------------------


def test_a_required_object_that_pods_cannot_have_is_told_and_when_that_is_over(
    world: ObjectWorld, logs: Logs
) -> None:
    """In the log and, of pods that the API server knows, by events."""
    missing = "a pod requires an object that does not exist"
    web = world.pod("web", "db")
    world.serves(web)
    assert notices(world, web, logs) == troubles(world, missing, "FailedMount")
    world.admin.breaks("db", CANARY)
    unusable = "a pod requires an object that cannot be used"
    assert notices(world, web, logs) == troubles(world, unusable, "FailedMount")
    world.admin.put("db", a="1")
    over = troubles(world, "an object that a pod requires can be used now", "ReferenceResolved")
    assert notices(world, web, logs)[-len(over) :] == over
    assert notices(world, web, logs) == []
    assert CANARY not in str(logs)


def test_the_end_of_a_trouble_is_told_even_if_nobody_has_read_for_long(
    world: ObjectWorld, logs: Logs
) -> None:
    """Strategy Get asks nothing by itself, so there it is told after the next read."""
    web = world.pod("web", "db")
    world.serves(web)
    world.read(web)
    world.play.advance(3600.0)
    assert told_by_now(world, logs)
    world.admin.put("db", a="1")
    logs.clear()
    world.waits()
    over = troubles(world, "an object that a pod requires can be used now", "ReferenceResolved")
    assert told_by_now(world, logs)[-len(over) :] == (over if world.keeps else [])
    logs.clear()
    world.read(web)
    assert told_by_now(world, logs) == ([] if world.keeps else over)


# --- what an administrator sees -------------------------------------------------------------------------


def test_an_object_that_there_never_was_is_absent(world: ObjectWorld) -> None:
    """Strategy Get, which keeps nothing, knows it of no object."""
    web = world.pod("web", "db")
    world.serves(web)
    world.read(web)
    (described,) = world.described()
    assert (described.state is ObjectState.ABSENT) is world.keeps
    assert (described.references, described.uid, described.error) == (1, "", ABSENT[world.store])
    world.admin.put("db", a="1")
    world.waits()
    world.read(web)
    (described,) = world.described()
    assert described.state is not ObjectState.ABSENT


def test_an_object_that_is_broken_is_not_absent_and_says_why(world: ObjectWorld) -> None:
    web = world.pod("web", "db")
    world.admin.breaks("db", CANARY)
    world.serves(web)
    world.read(web)
    (never_good,) = world.described()
    world.admin.remove("db")
    world.waits()
    world.read(web)
    (gone,) = world.described()
    world.admin.breaks("db", CANARY)
    world.waits()
    world.read(web)
    (broken_anew,) = world.described()
    assert never_good.state is not ObjectState.ABSENT
    assert "base64" in never_good.error
    assert ((gone.state is ObjectState.ABSENT), gone.error) == (world.keeps, ABSENT[world.store])
    assert broken_anew.state is not ObjectState.ABSENT
    assert "base64" in broken_anew.error


def test_while_nobody_can_be_asked_what_is_absent_is_so_with_its_age(world: ObjectWorld) -> None:
    web = world.pod("web", "db")
    world.serves(web)
    world.read(web)
    world.admin.goes_away()
    world.waits()
    world.read(web)
    (described,) = world.described()
    assert (described.state is ObjectState.ABSENT) is world.keeps
    assert (described.current_until is not None) is world.keeps
    assert described.error


@pytest.mark.parametrize("who", ["manager", "holder"])
def test_what_is_absent_is_so_after_a_crash(world: ObjectWorld, who: str) -> None:
    web = world.pod("web", "db")
    world.serves(web)
    world.read(web)
    world.crashes(getattr(world, who))
    (described,) = world.described()
    assert (described.state is ObjectState.ABSENT) is world.keeps


# --- pods -----------------------------------------------------------------------------------------------


def test_two_pods_share_an_object(world: ObjectWorld) -> None:
    """Rules R12 and R18: until the last of them goes."""
    world.admin.put("db", a="1")
    web, shop = world.pod("web", "db"), world.pod("shop", "db")
    world.serves(web, shop)
    assert world.read(web).value == world.read(shop).value
    assert [described.references for described in world.described()] == [2]
    world.serves(shop)
    assert world.read(shop).verdict is ReadVerdict.FOUND
    world.serves()
    assert world.read(shop).verdict is ReadVerdict.NOT_REGISTERED
    assert (world.described(), world.holders()) == ((), [])


def test_a_pod_that_was_registered_is_one_that_a_source_lists(world: ObjectWorld) -> None:
    """Rules R15 and R16: each of both may be repeated."""
    world.admin.put("db", a="1")
    web = world.pod("web", "db")
    world.play.tell_all(world.manager, RegisterPod(pod=web), RegisterPod(pod=web))
    assert world.read(web).verdict is ReadVerdict.FOUND
    world.play.tell_all(world.manager, UnregisterPod(pod=web.uid), UnregisterPod(pod=web.uid))
    assert world.read(web).verdict is ReadVerdict.NOT_REGISTERED
    assert world.holders() == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.rule("R8")
def test_a_pod_that_ran_to_its_end_references_nothing(world: ObjectWorld, phase: str) -> None:
    world.admin.put("db", a="1")
    web = world.pod("web", "db")
    world.serves(web)
    assert world.read(web).verdict is ReadVerdict.FOUND
    world.serves(edited(web, status={"phase": phase}))
    assert world.read(web).verdict is ReadVerdict.NOT_REGISTERED
    assert (world.described(), world.holders()) == ((), [])


@pytest.mark.rule("R9")
def test_a_mirror_pod_references_nothing(world: ObjectWorld) -> None:
    static = world.pod("web", "db", source=FILE)
    mirror = make_mirror(static, spec=static.document["spec"])
    world.cluster.put("db", a="1")
    world.serves(mirror, source=API)
    world.play.tell(world.manager, RegisterPod(pod=mirror))
    assert world.read(mirror).verdict is ReadVerdict.NOT_REGISTERED
    assert world.holders() == []


@pytest.mark.rule("R19", "W1")
def test_what_is_referenced_again_begins_with_nothing(world: ObjectWorld) -> None:
    world.admin.put("db", a="1")
    web = world.pod("web", "db")
    world.serves(web)
    assert world.read(web).verdict is ReadVerdict.FOUND
    world.serves()
    world.admin.put("db", a="2")
    world.serves(web)
    answer = world.read(web)
    assert answer.verdict is ReadVerdict.FOUND
    assert answer.value is not None
    assert answer.value.data == {"a": hidden("2").encode()}


def test_the_first_read_of_a_pod_is_no_older_than_the_pod(world: ObjectWorld) -> None:
    """However young the value is that another pod has read, and however late a watch may be."""
    web, shop = world.pod("web", "db"), world.pod("shop", "db")
    world.admin.put("db", a="1")
    world.serves(web)
    assert world.read(web).verdict is ReadVerdict.FOUND
    world.api.watches.pause()
    world.admin.put("db", a="2")
    world.serves(web, shop)
    world.begins_to_read(shop)
    world.api.watches.resume()
    world.play.settle()
    (answer,) = world.answers()
    assert answer.verdict is ReadVerdict.FOUND
    assert answer.value is not None
    assert answer.value.data == {"a": hidden("2").encode()}


def test_a_value_of_before_the_pod_is_told_as_stale_when_nothing_newer_can_be_had(
    world: ObjectWorld,
) -> None:
    """Strategy Get keeps none."""
    web, shop = world.pod("web", "db"), world.pod("shop", "db")
    world.admin.put("db", a="1")
    world.serves(web)
    assert world.read(web).verdict is ReadVerdict.FOUND
    world.admin.goes_away()
    world.serves(web, shop)
    answer = world.read(shop)
    assert answer.verdict is (ReadVerdict.STALE if world.keeps else ReadVerdict.NOT_SYNCED)
    assert (answer.age is not None) is world.keeps


# --- where objects come from ----------------------------------------------------------------------------


def test_a_static_pod_asks_nothing_of_the_api_server(world: ObjectWorld) -> None:
    world.cluster.put("db", a="of the cluster")
    static = world.pod("web", "db", source=FILE)
    world.serves(static, source=FILE)
    assert world.read(static).verdict is ReadVerdict.NOT_FOUND
    world.files.put("db", a="of the file")
    answer = world.read(static)
    assert answer.value is not None
    assert answer.value.data == {"a": hidden("of the file").encode()}
    assert (world.asked(), world.holders()) == ([], [])


def test_a_pod_of_the_api_server_reads_no_files(world: ObjectWorld) -> None:
    world.files.put("db", a="of the file")
    web, static = world.pod("web", "db", source=API), world.pod("etcd", "db", source=FILE)
    world.serves(web, source=API)
    world.serves(static, source=FILE)
    assert world.read(web).verdict is ReadVerdict.NOT_FOUND
    world.cluster.put("db", a="of the cluster")
    world.waits()
    answers = [world.read(pod).value for pod in (web, static)]
    assert [answer and dict(answer.data) for answer in answers] == [
        {"a": hidden("of the cluster").encode()},
        {"a": hidden("of the file").encode()},
    ]


# --- crashes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["manager", "holder"])
def test_a_crash_costs_nobody_an_object(world: ObjectWorld, who: str) -> None:
    follower, web = in_use(world)
    world.crashes(getattr(world, who))
    world.waits()
    answer = world.read(web)
    assert (answer.verdict, answer.age) == (ReadVerdict.FOUND, None)
    assert words(follower) == []
    world.admin.put("db", a="2")
    world.waits()
    assert world.read(web).value != answer.value
    assert words(follower) == told(world, "modified db a")


@pytest.mark.parametrize("who", ["manager", "holder"])
def test_what_changes_while_somebody_is_down_is_told(world: ObjectWorld, who: str) -> None:
    follower, web = in_use(world)
    world.goes_down(getattr(world, who))
    world.admin.put("db", a="2")
    world.waits()
    answer = world.read(web)
    assert answer.value is not None
    assert answer.value.data == {"a": hidden("2").encode()}
    assert words(follower) == told(world, "modified db a")


# --- what nobody may see --------------------------------------------------------------------------------


def test_a_value_is_in_nothing_but_the_answer_s_data(
    world: ObjectWorld, logs: list[MutableMapping[str, Any]]
) -> None:
    follower, web = world.follows(), world.pod("web", "db")
    world.admin.put("db", password=CANARY)
    world.serves(web)
    answers = [world.read(web)]
    assert answers[0].value is not None
    assert answers[0].value.data == {"password": hidden(CANARY).encode()}
    world.admin.breaks("db", CANARY)
    world.waits()
    answers.append(world.read(web))
    world.admin.put("db", password=f"{CANARY}-2")
    world.crashes(world.holder)
    world.crashes(world.manager)
    world.waits()
    answers.append(world.read(web))
    world.admin.goes_away()
    world.waits()
    answers.append(world.read(web))
    seen = repr((answers, follower.drain(), world.described(), world.memories, logs))
    seen += repr([world.play.describe(), world.play.endings])
    assert CANARY not in seen
    assert base64.b64encode(CANARY.encode()).decode()[:-4] not in seen


# --- following values -----------------------------------------------------------------------------------


def test_a_new_pod_is_told_what_its_object_is(world: ObjectWorld) -> None:
    world.admin.put("db", password="pass")
    web = world.pod("web", "db")
    world.serves(web)
    answer = world.asks(web)
    assert (answer.verdict, answer.age, answer.is_fresh) == (ReadVerdict.FOUND, None, True)
    assert answer.value is not None
    assert answer.value.data == {"password": hidden("pass").encode()}
    assert hidden("pass") not in repr((answer, world.known(web)))
    assert world.looks() == 1


def test_a_new_pod_is_told_that_there_is_no_such_object_and_when_it_comes(
    world: ObjectWorld,
) -> None:
    web = world.pod("web", "db")
    world.serves(web)
    answer = world.asks(web)
    assert (answer.verdict, answer.age, answer.is_fresh) == (ReadVerdict.NOT_FOUND, None, True)
    assert answer.reason
    world.admin.put("db", a="1")
    assert world.asks(web).verdict is ReadVerdict.FOUND


def test_whose_pod_references_an_object_no_more_is_told_so_and_the_value_is_gone(
    world: ObjectWorld,
) -> None:
    world.admin.put("db", a="1")
    web = world.pod("web", "db")
    world.serves(web)
    assert world.asks(web).verdict is ReadVerdict.FOUND
    world.serves()
    assert world.known(web) == HeldObject(
        verdict=ReadVerdict.NOT_REGISTERED, reason="no pod references it"
    )
    answer = world.asks(web)
    assert (answer.verdict, answer.is_fresh) == (ReadVerdict.NOT_REGISTERED, True)
    world.serves(web)
    assert world.asks(web).verdict is ReadVerdict.FOUND


def test_a_change_is_told_to_those_who_follow_as_soon_as_it_is_known(world: ObjectWorld) -> None:
    world.admin.put("db", a="1")
    web = world.pod("web", "db")
    world.serves(web)
    world.asks(web)
    world.admin.put("db", a="2")
    world.waits()
    value = world.known(web).value
    assert value is not None
    assert value.data["a"] == hidden("2" if world.keeps else "1").encode()


def test_who_hears_of_a_change_has_the_new_value(world: ObjectWorld) -> None:
    if not world.keeps:
        return
    follower, web = in_use(world)
    world.asks(web)
    world.admin.put("db", a="2")
    world.waits()
    assert words(follower) == ["modified db a"]
    value = world.known(web).value
    assert value is not None
    assert value.data["a"] == hidden("2").encode()


@pytest.mark.parametrize("whom", ["manager", "holder"])
def test_who_asks_while_somebody_crashes_is_told_in_the_end(world: ObjectWorld, whom: str) -> None:
    world.admin.put("db", a="1")
    web = world.pod("web", "db")
    world.serves(web)
    world.asks(web)
    world.goes_down(world.manager if whom == "manager" else world.holder)
    world.admin.put("db", a="2")
    shop = world.pod("shop", "db")
    world.serves(web, shop)
    world.begins_to_read(shop, stays=True)
    world.waits()
    world.answers()
    answer = world.asks(shop)
    assert answer.value is not None
    assert answer.value.data["a"] == hidden("2").encode()
    assert answer.is_fresh


def test_an_object_that_is_followed_is_never_idle(world: ObjectWorld) -> None:
    world.admin.put("db", a="1")
    web = world.pod("web", "db")
    world.serves(web)
    world.asks(web)
    world.play.advance(3600.0)
    assert [each.state for each in world.described()] != [ObjectState.IDLE]
    assert world.known(web).verdict is ReadVerdict.FOUND
