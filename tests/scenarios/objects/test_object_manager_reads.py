"""Pods read what they reference, and people ask how it is held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, MutableMapping
from dataclasses import replace
from typing import Any

import pytest

from messages.holders import HolderIs, LocalObjectsListed
from messages.node import NodeIs, NodeIsGone, NodeUid
from messages.objects import (
    Change,
    ObjectKind,
    ObjectState,
    Origin,
    ReadVerdict,
)
from messages.pods import API, FILE, Pod, SourceName
from messages.units import Seconds
from stores.objects.node_ttl import NODE_TTL
from tests.support.builders import edited
from tests.support.objects.manager_players import CANARY, held, needing, news_of, secret
from tests.support.objects.manager_players import changed as change_of
from tests.support.objects.manager_stage import ManagerStage, manager_stage

DB, TLS, PULL = secret("db"), secret("tls"), secret("pull")
WEB, SHOP = needing("web", "db"), needing("shop", "db", "tls")
LOCAL_DB = secret("db", origin=Origin.LOCAL)


# --- reading ------------------------------------------------------------------------------------------


def test_a_look_goes_to_the_holder_with_the_newest_mark(manager: ManagerStage) -> None:
    manager.serves(API, WEB, SHOP)
    read = manager.reads(WEB, "db")
    assert (read.verdict, read.is_fresh) == (ReadVerdict.FOUND, True)
    assert CANARY.decode() not in repr(read)
    assert [look.newest for look in manager.records[DB].looks] == [2]
    manager.reads(SHOP, "db")
    assert manager.described().looks == 2


def test_who_follows_what_no_pod_references_is_told_so_at_once(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    read = manager.reads(SHOP, "tls")
    assert (read.verdict, read.reason) == (ReadVerdict.NOT_REGISTERED, "no pod references it")
    assert (read.value, read.is_fresh) == (None, True)
    assert manager.made == ["db"]


def test_static_pods_read_local_files_and_have_no_other_holders(manager: ManagerStage) -> None:
    static = needing("web", "db", source=FILE)
    manager.serves(FILE, static)
    assert manager.reads(static, "db").verdict is ReadVerdict.FOUND
    assert manager.files.looked == [LOCAL_DB]
    assert manager.holders() == []


def test_of_all_objects_some_can_be_described_alone() -> None:
    with manager_stage() as manager:
        manager.serves(API, WEB)
        (known,) = manager.described().objects
        assert manager.described(only=frozenset({known.object})).objects == (known,)
        nothing = manager.described(only=frozenset())
        assert (nothing.objects, sum(nothing.states.values())) == ((), 1)


def test_without_local_files_a_static_pod_finds_none(logs: list[MutableMapping[str, Any]]) -> None:
    static = needing("web", "db", source=FILE)
    with manager_stage(with_files=False) as manager:
        manager.serves(FILE, static)
        read = manager.reads(static, "db")
        assert read.verdict is ReadVerdict.NOT_FOUND
        assert "--local-objects-dir" in read.reason
        (described,) = manager.described().objects
        assert described.error == read.reason
    assert CANARY.decode() not in str(logs)


def test_without_an_api_server_its_objects_are_never_known() -> None:
    with manager_stage(joined=False) as manager:
        manager.serves(API, WEB)
        read = manager.reads(WEB, "db")
        assert (read.verdict, read.reason) == (
            ReadVerdict.NOT_SYNCED,
            "this node belongs to no API server",
        )
        (described,) = manager.described().objects
        assert (described.state, described.error) == (ObjectState.INITIALISING, read.reason)
        assert manager.holders() == []


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (None, 60.0),
        ({}, 60.0),
        ({NODE_TTL: ""}, 60.0),
        ({NODE_TTL: "bad"}, 60.0),
        ({NODE_TTL: "1.5"}, 60.0),
        ({NODE_TTL: "9" * 5000}, 60.0),
        ({NODE_TTL: 300}, 60.0),
        ({NODE_TTL: "0"}, 0.0),
        ({NODE_TTL: "-5"}, 0.0),
        ({NODE_TTL: "300"}, 300.0),
    ],
)
def test_the_node_says_how_long_a_fetched_object_is_current(
    manager: ManagerStage, annotations: dict[str, Any] | None, expected: float
) -> None:
    manager.serves(API, WEB)
    document = {"metadata": {"annotations": annotations}}
    manager.node.says(NodeIs(name="n1", uid=NodeUid("u"), is_deleting=False, document=document))
    manager.reads(WEB, "db")
    manager.node.says(NodeIsGone(name="n1"))
    manager.reads(WEB, "db")
    lives = [look.time_to_live for look in manager.records[DB].looks]
    assert lives == [Seconds(expected), Seconds(60.0)]


# --- how it all is ------------------------------------------------------------------------------------


def test_each_referenced_object_is_described_by_the_newest_word_of_its_holder(
    manager: ManagerStage,
) -> None:
    manager.serves(API, WEB, SHOP)
    before = {one.object: one for one in manager.described().objects}
    assert [before[DB].state, before[TLS].state] == [ObjectState.INITIALISING] * 2
    assert before[DB].references == 2

    manager.says(news_of(change_of(DB, "7")))
    manager.says(news_of(change_of(DB, "8")))
    after = {one.object: one for one in manager.described().objects}
    assert after[DB] == held(DB, "8", references=2)
    assert after[TLS] == before[TLS]
    assert manager.described().kind is ObjectKind.SECRET


def test_objects_are_counted_as_they_are_described(manager: ManagerStage) -> None:
    manager.serves(API, WEB, SHOP)
    manager.serves(FILE, needing("static", "db", source=FILE))
    manager.says(news_of(change_of(DB, "7")))
    described, counted = manager.described(), manager.described(in_detail=False)
    assert counted == replace(described, objects=())
    assert counted.states == Counter(one.state for one in described.objects)
    assert counted.states == {ObjectState.SYNCED: 1, ObjectState.INITIALISING: 2}
    assert counted.references == sum(one.references for one in described.objects) == 4


def test_an_object_that_is_referenced_anew_is_not_what_it_was(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    manager.says(news_of(change_of(DB, "7")))
    manager.serves(API)
    assert manager.described().objects == ()
    manager.serves(API, WEB)
    (described,) = manager.described().objects
    assert described.state is ObjectState.INITIALISING


def test_local_objects_are_described_as_soon_as_somebody_references_them(
    manager: ManagerStage,
) -> None:
    static = needing("web", "db", source=FILE)
    manager.says(news_of(change_of(LOCAL_DB, "7")))
    assert manager.described().objects == ()
    manager.serves(FILE, static)
    assert manager.described().objects == (held(LOCAL_DB, "7", references=1),)


def test_what_no_holder_of_files_told_of_is_absent_once_it_has_listed(
    manager: ManagerStage,
) -> None:
    manager.serves(FILE, needing("web", "db", source=FILE))
    assert states(manager) == {ObjectState.INITIALISING: 1}
    manager.tell(LocalObjectsListed(refused={}))
    assert states(manager) == {ObjectState.ABSENT: 1}
    # Neither a crash nor a pod that comes anew takes that away.
    manager.crashes()
    manager.serves(FILE)
    manager.serves(FILE, needing("web", "db", source=FILE))
    assert states(manager) == {ObjectState.ABSENT: 1}
    manager.tell(HolderIs(described=held(LOCAL_DB, "7")))
    assert states(manager) == {ObjectState.LOCAL: 1}


def test_a_local_object_whose_file_is_refused_says_why_until_it_is_not(
    manager: ManagerStage,
) -> None:
    manager.serves(FILE, needing("web", "db", source=FILE))
    manager.says(news_of(change_of(LOCAL_DB, "7")))
    manager.says(news_of(change_of(LOCAL_DB, "7", Change.DELETED)))
    manager.tell(LocalObjectsListed(refused={"default/db": "db.yaml: not so"}))
    (described,) = manager.described().objects
    assert (described.state, described.error) == (ObjectState.LOCAL, "db.yaml: not so")
    manager.tell(LocalObjectsListed(refused={"default/tls": "tls.yaml: not so"}))
    (described,) = manager.described().objects
    assert (described.state, described.error) == (ObjectState.ABSENT, "no file describes it")


def states(manager: ManagerStage) -> dict[ObjectState, int]:
    """Return how many objects are held how."""
    return dict(manager.described().states)


def test_of_local_objects_only_those_that_are_there_or_referenced_are_remembered(
    manager: ManagerStage, change_to: Callable[[str], None]
) -> None:
    static = needing("web", "db", source=FILE)
    change_to("1")
    assert list(manager.memory.local.told) == [LOCAL_DB]
    change_to("")
    assert list(manager.memory.local.told) == []

    change_to("2")
    manager.serves(FILE, static)
    change_to("")
    assert list(manager.memory.local.told) == [LOCAL_DB]
    manager.serves(FILE)
    assert list(manager.memory.local.told) == []


@pytest.fixture
def change_to(manager: ManagerStage) -> Callable[[str], None]:
    """Return how the holder of local objects says that there is a version, or none."""
    return lambda version: manager.tell(HolderIs(described=held(LOCAL_DB, version)))


# --- annotations that do nothing ----------------------------------------------------------------------


def test_an_annotation_that_cannot_be_read_is_warned_of_once(
    manager: ManagerStage, logs: list[MutableMapping[str, Any]]
) -> None:
    bad = needing("web", "db", hook="expl0de")
    manager.serves(API, bad)
    manager.serves(API, edited(bad, status={"phase": "Running"}))
    manager.crashes()
    (warning,) = said_of_annotations(logs)
    assert warning == {
        "event": "annotation cannot be read, so changes do nothing",
        "annotation": "actorlet/on-object-change",
        "reason": "should be none, restart or signal:SIGHUP, and may end in ,splay=30s",
        "pod": "default/web",
        "kind": "Secret",
        "log_level": "warning",
    }
    assert "expl0de" not in str(logs)
    assert manager.heard(DB) == ["1 at 1", "1 at 1"]


def test_an_annotation_of_a_pod_that_references_nothing_interests_nobody(
    manager: ManagerStage, logs: list[MutableMapping[str, Any]]
) -> None:
    manager.serves(API, needing("web", hook="expl0de"))
    assert said_of_annotations(logs) == []


def test_where_nobody_hears_of_changes_a_pod_that_wants_something_done_is_warned_of_once(
    logs: list[MutableMapping[str, Any]],
) -> None:
    with manager_stage(tells_changes=False) as manager:
        web = needing("web", "db", "tls", hook="restart")
        manager.serves(API, web, needing("quiet", "db"))
        manager.serves(API, edited(web, status={"phase": "Running"}))
        manager.crashes()
    (warning,) = said_of_annotations(logs)
    assert (warning["event"], warning["pod"], warning["log_level"]) == (
        "annotation has no effect: strategy Get hears of no changes",
        "default/web",
        "warning",
    )


@pytest.mark.parametrize(
    ("source", "pod"),
    [
        (API, needing("web", "db", hook="none")),
        (API, needing("web", pull=["db"], hook="restart")),
        (FILE, needing("web", "db", source=FILE, hook="restart")),
    ],
    ids=["wants nothing", "nothing can concern it", "reads local files"],
)
def test_where_nobody_hears_of_changes_of_the_api_server_others_are_not_warned_of(
    source: SourceName, pod: Pod, logs: list[MutableMapping[str, Any]]
) -> None:
    with manager_stage(tells_changes=False) as manager:
        manager.serves(source, pod)
    assert said_of_annotations(logs) == []


def test_where_changes_are_heard_of_nobody_is_warned_of(
    manager: ManagerStage, logs: list[MutableMapping[str, Any]]
) -> None:
    manager.serves(API, needing("web", "db", hook="restart"))
    assert said_of_annotations(logs) == []


def said_of_annotations(logs: list[MutableMapping[str, Any]]) -> list[MutableMapping[str, Any]]:
    """Return what was logged of annotations."""
    return [event for event in logs if "annotation" in event]
