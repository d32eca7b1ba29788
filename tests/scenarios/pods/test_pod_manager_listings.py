"""PodManager between its sources and its subscribers: what is told, to whom, in which order."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from actors.pod_manager import POD_MANAGER
from messages.changes import Op, PodChange
from messages.pod_manager import PodsAre, PodsChanged
from messages.pods import (
    API,
    CONFIG_SEEN,
    FILE,
    HTTP,
    FullName,
    PodPhase,
    PodUid,
    SourceName,
)
from messages.sources import Epoch, ListPods, SourceListed
from tests.support.builders import edited, make_mirror, make_pod, uid_of
from tests.support.pods.pod_manager_stage import PodManagerStage

WEB, SHOP, MAIL = make_pod("web"), make_pod("shop"), make_pod("mail")


# --- the first listing -------------------------------------------------------------------------------


def test_it_asks_every_source_when_it_starts(manager: PodManagerStage) -> None:
    manager.file.expect(ListPods())
    manager.http.expect(ListPods())
    manager.api.expect(ListPods())


def test_the_first_listing_is_told_as_a_whole_and_changes_after_it(
    manager: PodManagerStage,
) -> None:
    subscriber = manager.subscriber()

    manager.lists(FILE, WEB, SHOP)
    assert subscriber.heard() == ["file are web shop"]

    # One went, one is another, one is as before, one is new.
    manager.lists(FILE, edited(SHOP, spec={"containers": []}), MAIL)
    assert subscriber.heard() == ["file: REMOVE web, ADD mail, UPDATE shop"]


def test_an_empty_first_listing_says_that_the_source_is_ready(manager: PodManagerStage) -> None:
    # A kubelet sends an empty ADD.
    subscriber = manager.subscriber()
    manager.lists(FILE)
    assert subscriber.heard() == ["file are"]
    manager.lists(FILE)
    assert subscriber.heard() == []
    manager.lists(FILE, WEB)
    assert subscriber.heard() == ["file: ADD web"]


def test_facts_carry_the_pod_as_this_node_keeps_it(manager: PodManagerStage) -> None:
    subscriber = manager.subscriber()
    manager.lists(HTTP, make_pod("web", source="whatever the source says"))
    fact = subscriber.next()
    assert isinstance(fact, PodsAre)
    (pod,) = fact.pods
    assert pod.source == HTTP
    assert pod.annotations[CONFIG_SEEN] == "2023-11-14T22:13:20.000000000Z"


def test_changes_come_in_the_order_remove_add_update_delete_reconcile(
    manager: PodManagerStage,
) -> None:
    subscriber = manager.subscriber()
    old = [make_pod(name) for name in ("gone", "changed", "deleted", "status")]
    manager.lists(API, *old)
    subscriber.drain()

    manager.lists(
        API,
        make_pod("status", phase="Running"),
        make_pod("deleted", deleting=True),
        make_pod("changed", image="registry.example/web:2"),
        make_pod("added"),
    )
    assert subscriber.heard() == [
        "api: REMOVE gone, ADD added, UPDATE changed, DELETE deleted, RECONCILE status"
    ]


def test_an_equal_listing_is_told_to_nobody(manager: PodManagerStage) -> None:
    # The source's own word on the node's annotations does not count.
    subscriber = manager.subscriber()
    manager.lists(FILE, WEB)
    subscriber.drain()
    manager.lists(FILE, WEB)
    manager.lists(FILE, edited(WEB))
    manager.lists(FILE, make_pod("web", annotations={CONFIG_SEEN: "never"}))
    assert subscriber.heard() == []


def test_another_uid_under_one_name_is_removed_and_added_in_one_fact(
    manager: PodManagerStage,
) -> None:
    # The manifest was edited, and the UID is a digest of it.
    subscriber = manager.subscriber()
    manager.lists(FILE, make_pod("web", uid="u1"))
    subscriber.drain()
    manager.lists(FILE, make_pod("web", uid="u2"))
    fact = subscriber.next()
    assert isinstance(fact, PodsChanged)
    assert [(change.op, change.pod.uid) for change in fact.changes] == [
        (Op.REMOVE, "u1"),
        (Op.ADD, "u2"),
    ]
    subscriber.expect_silence()


def test_a_removal_carries_the_pod_as_it_was_kept(manager: PodManagerStage) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, make_pod("web", image="web:1"))
    manager.lists(FILE, make_pod("web", image="web:2"))
    subscriber.drain()
    known = manager.find(uid=uid_of("web")).pod
    assert known is not None
    manager.lists(FILE)
    subscriber.expect(PodsChanged(source=FILE, changes=(PodChange(op=Op.REMOVE, pod=known),)))


@pytest.mark.parametrize("phase", [PodPhase.SUCCEEDED, PodPhase.FAILED])
def test_a_terminal_pod_is_told_as_such(manager: PodManagerStage, phase: PodPhase) -> None:
    subscriber = manager.subscriber()
    manager.lists(API, make_pod("job", phase="Running"))
    subscriber.drain()

    manager.lists(API, make_pod("job", phase=phase))
    fact = subscriber.next()
    assert isinstance(fact, PodsChanged)
    (change,) = fact.changes
    assert change.op is Op.RECONCILE
    assert change.pod.is_terminal


# --- sources are independent (K27) ----------------------------------------------------------------------


def test_a_source_that_never_lists_holds_up_nobody(manager: PodManagerStage) -> None:
    # Per source: a kubelet would not remove anything before the API server has listed.
    subscriber = manager.subscriber()
    manager.lists(FILE, WEB, SHOP)
    manager.lists(FILE, WEB)
    assert subscriber.heard() == ["file are web shop", "file: REMOVE shop"]
    assert manager.described().listed == {FILE}


def test_each_source_has_a_first_listing_of_its_own(manager: PodManagerStage) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, WEB)
    manager.lists(HTTP, SHOP)
    manager.lists(API)
    assert subscriber.heard() == ["file are web", "http are shop", "api are"]
    assert manager.described().listed == {FILE, HTTP, API}


# --- subscribers -----------------------------------------------------------------------------------------


def test_a_source_that_lists_provisionally_is_told_of_again_once_it_lists_for_good(
    manager: PodManagerStage,
) -> None:
    early = manager.subscriber()
    manager.takes_for_empty(FILE)
    late = manager.subscriber()
    manager.takes_for_empty(FILE)
    assert (early.heard(), late.heard()) == (["file may be"], ["file may be"])
    assert manager.described().listed == {FILE}

    # Who is in the listing is there before anybody may take the others for gone.
    manager.lists(FILE, make_pod("a"))
    assert early.heard() == late.heard() == ["file: ADD a", "file are a"]
    manager.lists(FILE)
    assert early.heard() == ["file: REMOVE a"]
    assert manager.subscriber().heard() == ["file are"]


def test_that_a_listing_was_provisional_outlives_a_crash_with_the_source(
    manager: PodManagerStage,
) -> None:
    subscriber = manager.subscriber()
    manager.takes_for_empty(FILE)
    manager.crashes()
    manager.takes_for_empty(FILE)
    manager.lists(FILE)
    assert subscriber.heard() == ["file may be", "file may be", "file are"]


def test_a_late_subscriber_gets_the_present_state_first(manager: PodManagerStage) -> None:
    manager.lists(FILE, WEB)
    manager.lists(HTTP)

    subscriber = manager.subscriber()
    assert subscriber.heard() == ["file are web", "http are"]

    manager.lists(FILE, WEB, SHOP)
    assert subscriber.heard() == ["file: ADD shop"]


def test_nothing_is_told_of_a_source_that_has_not_listed(manager: PodManagerStage) -> None:
    # Absence would mean removal.
    assert manager.subscriber().heard() == []


def test_a_subscriber_that_subscribes_again_gets_the_present_state_again(
    manager: PodManagerStage,
) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, WEB)
    subscriber.drain()

    manager.subscribes(subscriber)
    assert subscriber.heard() == ["file are web"]

    # And each fact once, although it subscribed twice.
    manager.lists(FILE, WEB, SHOP)
    assert subscriber.heard() == ["file: ADD shop"]


def test_every_subscriber_hears_every_fact(manager: PodManagerStage) -> None:
    first, second = manager.subscriber(), manager.subscriber()
    manager.lists(FILE, WEB)
    manager.lists(FILE)
    assert first.heard() == second.heard() == ["file are web", "file: REMOVE web"]


# --- epochs ----------------------------------------------------------------------------------------------


def listed(*names: str, epoch: Epoch, source: SourceName = FILE) -> SourceListed:
    return SourceListed(source=source, epoch=epoch, pods=tuple(make_pod(name) for name in names))


@pytest.mark.parametrize(
    "epoch", [Epoch(2, 3), Epoch(2, 2), Epoch(1, 9)], ids=["same", "older", "of an older life"]
)
def test_a_listing_that_is_not_newer_is_dropped(manager: PodManagerStage, epoch: Epoch) -> None:
    subscriber = manager.subscriber()
    manager.play.tell(POD_MANAGER, listed("web", epoch=Epoch(2, 3)))
    subscriber.drain()
    manager.play.tell(POD_MANAGER, listed("shop", epoch=epoch))
    assert subscriber.heard() == []


@pytest.mark.parametrize("epoch", [Epoch(2, 4), Epoch(3, 1)], ids=["newer", "of a newer life"])
def test_a_newer_listing_counts(manager: PodManagerStage, epoch: Epoch) -> None:
    subscriber = manager.subscriber()
    manager.play.tell(POD_MANAGER, listed("web", epoch=Epoch(2, 3)))
    subscriber.drain()
    manager.play.tell(POD_MANAGER, listed("shop", epoch=epoch))
    assert subscriber.heard() == ["file: REMOVE web, ADD shop"]


def test_epochs_of_different_sources_have_nothing_to_do_with_each_other(
    manager: PodManagerStage,
) -> None:
    subscriber = manager.subscriber()
    manager.play.tell(POD_MANAGER, listed("web", epoch=Epoch(7, 1)))
    manager.play.tell(POD_MANAGER, listed("shop", epoch=Epoch(1, 1), source=HTTP))
    assert subscriber.heard() == ["file are web", "http are shop"]


# --- questions -------------------------------------------------------------------------------------------


def test_a_pod_is_found_by_its_uid_and_by_its_full_name(manager: PodManagerStage) -> None:
    manager.lists(FILE, WEB)
    by_uid = manager.find(uid=WEB.uid)
    assert by_uid == manager.find(full_name=FullName("web_default"))
    assert by_uid.pod is not None
    assert by_uid.pod.uid == WEB.uid
    assert by_uid.mirror is None


def test_an_unknown_pod_is_not_found(manager: PodManagerStage) -> None:
    for_uid = manager.find(uid=PodUid("nobody"))
    for_name = manager.find(full_name=FullName("nobody_default"))
    for_nothing = manager.find()
    assert [answer.pod for answer in (for_uid, for_name, for_nothing)] == [None, None, None]


def test_a_mirror_s_uid_finds_the_pod_that_it_shows(manager: PodManagerStage) -> None:
    mirror = make_mirror(WEB)
    manager.lists(FILE, WEB)
    manager.lists(API, mirror)
    found = manager.find(uid=mirror.uid)
    assert found.pod is not None
    assert found.mirror is not None
    assert (found.pod.uid, found.mirror.uid) == (WEB.uid, mirror.uid)
    assert manager.described().static_to_mirror == {WEB.uid: mirror.uid}


def test_a_static_pod_without_mirror_is_among_static_pods(manager: PodManagerStage) -> None:
    manager.lists(FILE, WEB)
    manager.lists(API, make_pod("job"))
    assert manager.described().static_to_mirror == {WEB.uid: None}


def test_a_mirror_without_its_pod_is_an_orphan(manager: PodManagerStage) -> None:
    mirror = make_mirror(WEB)
    manager.lists(FILE, WEB, SHOP)
    manager.lists(API, mirror)
    manager.lists(FILE, SHOP)
    described = manager.described()
    assert [pod.uid for pod in described.pods] == [SHOP.uid]
    assert [pod.uid for pod in described.mirrors] == [mirror.uid]
    assert described.static_to_mirror == {SHOP.uid: None}
    found = manager.find(uid=mirror.uid)
    assert found.pod is None
    assert found.mirror is not None
    assert found.mirror.uid == mirror.uid


def test_a_static_pod_that_is_replaced_keeps_its_mirror(manager: PodManagerStage) -> None:
    mirror = make_mirror(make_pod("web", uid="u1"))
    manager.lists(FILE, make_pod("web", uid="u1"))
    manager.lists(API, mirror)
    manager.lists(FILE, make_pod("web", uid="u2"))
    assert manager.described().static_to_mirror == {"u2": mirror.uid}


def test_everything_is_counted(manager: PodManagerStage) -> None:
    manager.lists(FILE, WEB)
    manager.lists(API, make_pod("job", ephemeral_containers=2), make_mirror(WEB))
    described = manager.described()
    assert (described.static_pods, described.regular_pods, len(described.mirrors)) == (1, 1, 1)
    assert described.ephemeral_containers == 2
    assert described.shadowed == MappingProxyType({})
