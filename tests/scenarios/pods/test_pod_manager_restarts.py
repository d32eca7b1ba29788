"""PodManager crashes: what its sources and subscribers notice of it, and what they never do."""

from __future__ import annotations

from typing import Any

import pytest

from messages.pods import API, FILE, HTTP, SourceName
from messages.sources import ListPods
from tests.support.builders import edited, make_mirror, make_pod
from tests.support.pods.pod_manager_stage import PodManagerStage

WEB, SHOP, MAIL = make_pod("web"), make_pod("shop"), make_pod("mail")


def test_a_new_life_asks_every_source_for_its_listing_again(manager: PodManagerStage) -> None:
    assert manager.file.asked() == manager.http.asked() == manager.api.asked() == 1
    manager.crashes()
    manager.file.expect(ListPods())
    manager.http.expect(ListPods())
    manager.api.expect(ListPods())


def test_first_listings_after_a_crash_are_told_as_a_whole(manager: PodManagerStage) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, WEB, SHOP)
    manager.lists(HTTP, MAIL)
    subscriber.drain()

    manager.crashes()
    assert subscriber.heard() == []

    # The sources answer one after the other. Nobody is removed, and nobody is added twice.
    manager.lists(HTTP, MAIL)
    assert subscriber.heard() == ["http are mail"]
    manager.lists(FILE, WEB, SHOP)
    assert subscriber.heard() == ["file are web shop"]
    manager.lists(FILE, WEB)
    assert subscriber.heard() == ["file: REMOVE shop"]


def test_what_went_while_it_was_down_is_absent_from_the_first_listing(
    manager: PodManagerStage,
) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, WEB, SHOP)
    subscriber.drain()

    manager.crashes()
    manager.lists(FILE, SHOP)
    assert subscriber.heard() == ["file are shop"]


def test_a_listing_that_waits_in_the_mailbox_outlives_the_crash(manager: PodManagerStage) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, WEB)
    subscriber.drain()

    manager.goes_down()
    manager.lists(FILE, WEB, SHOP)
    manager.recovers()
    assert subscriber.heard() == ["file are web shop"]


def test_subscriptions_outlive_it_in_their_order(manager: PodManagerStage) -> None:
    first, second = manager.subscriber(), manager.subscriber()
    manager.crashes()
    manager.lists(FILE, WEB)
    assert first.heard() == second.heard() == ["file are web"]


def test_a_subscriber_that_comes_before_the_sources_answer_hears_what_was_told_last(
    manager: PodManagerStage,
) -> None:
    manager.lists(FILE, WEB)
    manager.takes_for_empty(API)
    manager.crashes()
    manager.lists(HTTP, SHOP)
    subscriber = manager.subscriber()
    assert subscriber.heard() == ["file are web", "api may be", "http are shop"]
    manager.lists(API)
    manager.lists(FILE)
    assert subscriber.heard() == ["api are", "file are"]


def test_questions_are_answered_from_the_last_listings_until_the_sources_list_again(
    manager: PodManagerStage,
) -> None:
    mirror = make_mirror(WEB)
    ours, waiting = make_pod("job", uid="u-job"), make_pod("job", uid="u-waiting")
    manager.lists(FILE, WEB, ours)
    manager.lists(HTTP, SHOP, waiting)
    manager.lists(API, mirror)
    before = manager.described()
    assert before.shadowed == {"u-waiting": "u-job"}
    found = manager.find(uid=WEB.uid)
    assert found.mirror is not None

    manager.crashes()
    # Nobody has listed again; then one has, without a pod; then the others.
    assert manager.described() == before
    assert manager.find(uid=WEB.uid) == manager.find(full_name=WEB.full_name) == found
    assert manager.find(uid=mirror.uid).mirror is not None
    manager.lists(HTTP, waiting)
    assert names(manager) == ["job", "job", "web"]
    assert manager.described().shadowed == {"u-waiting": "u-job"}
    assert manager.find(uid=SHOP.uid).pod is None
    manager.lists(FILE, WEB)
    assert names(manager) == ["job", "web"]
    assert manager.described().shadowed == {}
    assert manager.find(uid=WEB.uid) == found
    manager.lists(API)
    assert names(manager) == ["job", "web"]
    assert manager.find(uid=WEB.uid).mirror is None


def test_a_source_that_is_never_heard_of_again_keeps_its_pods_over_many_crashes(
    manager: PodManagerStage,
) -> None:
    manager.lists(FILE, WEB)
    manager.lists(HTTP, SHOP)
    for _ in range(3):
        manager.crashes()
        assert names(manager) == ["shop", "web"]
        manager.lists(HTTP, SHOP)
        assert names(manager) == ["shop", "web"]


def names(manager: PodManagerStage) -> list[str]:
    """Return the names of the pods that PodManager shows."""
    return sorted(pod.name for pod in manager.described().pods)


def test_the_time_of_first_sight_outlives_it(manager: PodManagerStage) -> None:
    manager.lists(FILE, WEB)
    before = manager.find(uid=WEB.uid).pod
    manager.crashes()
    manager.lists(FILE, edited(WEB))
    after = manager.find(uid=WEB.uid).pod
    assert before is not None
    assert before == after


# --- names that several sources claim -----------------------------------------------------------------


FROM_FILE, FROM_HTTP = make_pod("web", uid="u-file"), make_pod("web", uid="u-http")


def test_a_pod_whose_name_is_held_is_known_and_listed_but_not_served(
    manager: PodManagerStage,
) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, FROM_FILE)
    manager.lists(HTTP, FROM_HTTP)

    assert subscriber.heard() == ["file are web", "http are"]
    described = manager.described()
    assert {pod.uid for pod in described.pods} == {"u-file", "u-http"}
    assert described.shadowed == {"u-http": "u-file"}
    assert manager.find(uid=FROM_HTTP.uid).pod is not None

    # Its source is told, and nobody else has anything to hear.
    judged = manager.http.judged()
    assert judged is not None
    assert judged.shadowed == {"u-http": "default/web of source file was there first"}
    own = manager.file.judged()
    assert own is not None
    assert own.shadowed == {}


def test_the_removal_of_the_holder_reveals_the_next(manager: PodManagerStage) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, FROM_FILE)
    manager.lists(HTTP, FROM_HTTP)
    subscriber.drain()

    manager.lists(FILE)
    fact = subscriber.next()
    assert [(c.op, c.pod.uid) for c in getattr(fact, "changes", ())] == [
        ("REMOVE", "u-file"),
        ("ADD", "u-http"),
    ]
    judged = manager.http.judged()
    assert judged is not None
    assert judged.shadowed == {}


@pytest.mark.parametrize("order", [(FILE, HTTP), (HTTP, FILE)], ids=["in order", "reversed"])
def test_the_holder_of_a_name_keeps_it_over_a_crash(
    manager: PodManagerStage, order: tuple[SourceName, SourceName]
) -> None:
    pods = {FILE: FROM_FILE, HTTP: FROM_HTTP}
    subscriber = manager.subscriber()
    manager.lists(FILE, FROM_FILE)
    manager.lists(HTTP, FROM_HTTP)
    subscriber.drain()

    manager.crashes()
    manager.lists(order[0], pods[order[0]])
    manager.lists(order[1], pods[order[1]])
    assert sorted(subscriber.heard()) == ["file are web", "http are"]


def test_a_name_is_held_back_until_the_source_of_its_former_holder_has_listed(
    manager: PodManagerStage,
) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, FROM_FILE)
    manager.lists(HTTP, FROM_HTTP, MAIL)
    subscriber.drain()

    manager.crashes()
    manager.lists(HTTP, FROM_HTTP, MAIL)
    assert subscriber.heard() == ["http are mail"]
    judged = manager.http.judged()
    assert judged is not None
    assert judged.shadowed == {
        "u-http": "its name was held by source file, which has not listed yet"
    }

    # It lists without it: the name is free.
    manager.lists(FILE)
    assert subscriber.heard() == ["file are", "file: ADD web"]


# --- pods that several sources tell ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "heard"),
    [
        pytest.param(
            [(FILE, WEB, SHOP), (HTTP,)],
            [(HTTP, WEB), (FILE, SHOP)],
            ["http are", "file: UPDATE web", "file are shop"],
            id="a pod that moved to a source that has listed is never absent",
        ),
        pytest.param(
            [(FILE, WEB, SHOP), (HTTP, WEB)],
            [(FILE, SHOP), (HTTP, WEB)],
            ["file are web shop", "http are web"],
            id="a pod that moved to a source that is yet to list is never absent",
        ),
        pytest.param(
            [(FILE, WEB, SHOP), (HTTP, WEB)],
            [(FILE, SHOP), (HTTP,)],
            ["file are web shop", "http: REMOVE web", "http are"],
            id="a pod that neither of its sources tells any more is removed by the last",
        ),
    ],
)
def test_a_pod_that_several_sources_told_before_a_crash(
    manager: PodManagerStage,
    before: list[tuple[Any, ...]],
    after: list[tuple[Any, ...]],
    heard: list[str],
) -> None:
    subscriber = manager.subscriber()
    for listing in before:
        manager.lists(*listing)
    subscriber.drain()

    manager.crashes()
    for listing in after:
        manager.lists(*listing)
    assert subscriber.heard() == heard


def test_a_source_that_is_restarted_hears_again_what_its_pods_wait_for(
    manager: PodManagerStage,
) -> None:
    manager.lists(FILE, FROM_FILE)
    manager.lists(HTTP, FROM_HTTP)
    told = manager.http.judged()

    # The same listing from the same life: nothing is news.
    manager.lists(HTTP, FROM_HTTP)
    assert manager.http.judged() is None

    # A new life of it may know nothing of what the old one was told.
    manager.restarts(HTTP)
    manager.lists(HTTP, FROM_HTTP)
    assert manager.http.judged() == told


def test_a_source_that_has_not_listed_is_told_nothing(manager: PodManagerStage) -> None:
    manager.lists(FILE, WEB)
    assert manager.api.judged() is None
    manager.lists(API)
    assert manager.api.judged() is not None
