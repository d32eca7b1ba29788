"""The API server source: what the watch tells, what PodManager hears."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from messages.api import ApiFailure, FailureKind, Retry
from messages.node import FollowNode
from messages.pods import API, PodUid
from messages.sources import ListPods, PodsJudged, Rescan, Verdict
from messages.watches import ObjectsAre, Watch, WatchFailed, WatchRecovered
from tests.support.builders import make_pod
from tests.support.kernel.clock import EPOCH
from tests.support.sources.api_source_stage import (
    NODE,
    TARGET,
    Company,
    added,
    all_are,
    deleted,
    modified,
    pod,
)

AWAY = ApiFailure(
    kind=FailureKind.UNREACHABLE,
    retry=Retry.AFTER_DELAY,
    sentence="cannot list pods at https://127.0.0.1:6443 as n1: connection refused",
)


@pytest.fixture
def company() -> Iterator[Company]:
    company = Company()
    company.play.start()
    yield company
    company.play.stop()


def test_it_asks_for_the_pods_of_this_node_once_there_is_a_node(company: Company) -> None:
    company.node.expect(FollowNode(subscriber=company.me))
    company.watches.expect_silence()
    assert company.described().error == "waits until the Node is known"

    company.hears(NODE)
    company.watches.expect(Watch(target=TARGET, subscriber=company.me))
    assert company.described().error == ""

    # A Node that changes is no reason to begin anew.
    company.hears(NODE)
    company.watches.expect_silence()


def test_each_event_gives_a_complete_listing(company: Company) -> None:
    """Scenario 27."""
    company.hears(all_are(pod("p")))
    assert company.listed() == ["default/p@v1"]
    company.hears(added(pod("q")))
    assert company.listed() == ["default/p@v1", "default/q@v1"]
    company.hears(modified(pod("p", "v2", "2")))
    assert company.listed() == ["default/p@v2", "default/q@v1"]
    company.hears(deleted(pod("p", "v2", "3")))
    assert company.listed() == ["default/q@v1"]
    company.hears(deleted(pod("q", "v1", "4")))
    assert company.listed() == []
    company.told.expect_silence()


def test_pods_of_one_name_in_two_namespaces_are_two(company: Company) -> None:
    """Scenario 28."""
    one, two = pod("p", namespace="one"), pod("p", namespace="two")
    company.hears(all_are(one, two))
    assert company.listed() == ["one/p@v1", "two/p@v1"]
    company.hears(deleted(one))
    assert company.listed() == ["two/p@v1"]


def test_an_empty_list_is_a_listing(company: Company) -> None:
    """Scenario 29."""
    company.hears(all_are())
    assert company.listed() == []
    assert company.described().ready


def test_a_burst_of_events_is_one_listing(company: Company) -> None:
    company.hears(all_are())
    company.told.drain()
    company.hears(*(added(pod(f"p{number}")) for number in range(1_000)))
    assert len(company.listed()) == 1_000
    company.told.expect_silence()


def test_a_pod_that_did_not_change_is_the_identical_object(company: Company) -> None:
    company.hears(all_are(pod("p"), pod("q")))
    first = company.told.next().pods
    company.hears(all_are(pod("p"), pod("q", "v2", "2")))
    second = company.told.next().pods
    assert second[0] is first[0]
    assert second[1] is not first[1]


def test_an_event_that_comes_twice_changes_nothing(company: Company) -> None:
    company.hears(all_are(pod("p")))
    company.told.drain()
    company.hears(modified(pod("p")))
    company.told.expect_silence()


def test_a_relist_without_news_tells_nothing(company: Company) -> None:
    company.hears(all_are(pod("p")))
    company.told.drain()
    company.hears(all_are(pod("p")))
    company.told.expect_silence()


def test_a_version_that_was_given_twice_hides_no_news(company: Company) -> None:
    """etcd was restored from a backup, and counts anew from there."""
    company.hears(all_are(pod("p", "v1", "120"), pod("q")))
    company.told.drain()
    company.hears(all_are(pod("p", "v2", "120"), pod("q")))
    assert company.listed() == ["default/p@v2", "default/q@v1"]
    company.hears(modified(pod("p", "v3", "120")))
    assert company.listed() == ["default/p@v3", "default/q@v1"]


def test_what_a_relist_does_not_show_is_gone(company: Company) -> None:
    company.hears(all_are(pod("p"), pod("q")))
    company.told.drain()
    company.hears(all_are(pod("q")))
    assert company.listed() == ["default/q@v1"]


def test_the_successor_of_a_deleted_pod_survives_a_late_deletion(company: Company) -> None:
    """Rule A5."""
    successor = make_pod("p", source="", uid="second", resource_version="7")
    company.hears(all_are(pod("p")), added(successor), deleted(pod("p", version="6")))
    assert [each.uid for each in company.told.next().pods] == [PodUid("second")]


def test_a_watch_that_fails_changes_nothing_and_is_shown(company: Company) -> None:
    """Rule A6."""
    company.hears(all_are(pod("p")))
    company.told.drain()
    company.play.advance(5.0)
    assert company.described().last_listed == EPOCH + 5

    # Away for a minute: the pods stay, and what people see ages.
    company.hears(WatchFailed(target=TARGET, failure=AWAY))
    company.play.advance(60.0)
    company.told.expect_silence()
    described = company.described()
    assert (described.ready, described.error, described.last_listed) == (
        True,
        AWAY.sentence,
        EPOCH + 5,
    )

    company.hears(WatchRecovered(target=TARGET))
    described = company.described()
    assert (described.error, described.last_listed) == ("", EPOCH + 65)


def test_a_list_while_the_watch_fails_does_not_say_that_it_is_well(company: Company) -> None:
    """It is true at that moment; whether the pods are followed, only ``WatchRecovered`` says."""
    company.hears(WatchFailed(target=TARGET, failure=AWAY))
    company.play.advance(60.0)
    company.hears(all_are(pod("p")))
    assert company.listed() == ["default/p@v1"]
    # The stream then fails in the same way, which is not told again: for hours, perhaps.
    company.play.advance(3600.0)
    described = company.described()
    assert (described.ready, described.error, described.last_listed) == (
        True,
        AWAY.sentence,
        EPOCH + 60,
    )

    company.hears(WatchRecovered(target=TARGET))
    described = company.described()
    assert (described.error, described.last_listed) == ("", EPOCH + 3660)
    # With nothing in the way a list is nothing but a list.
    company.hears(all_are())
    company.play.advance(60.0)
    described = company.described()
    assert (described.error, described.last_listed) == ("", EPOCH + 3720)


def test_a_failure_whose_end_was_lost_in_a_crash_ends_with_the_next_list(company: Company) -> None:
    company.hears(NODE, all_are(pod("p")), WatchFailed(target=TARGET, failure=AWAY))
    company.crash()
    assert company.described().error == AWAY.sentence
    # Were it still failing, that would be told before the list.
    company.hears(NODE, all_are(pod("p")))
    assert company.described().error == ""


def test_a_failure_that_outlives_a_crash_is_told_again_and_stands(company: Company) -> None:
    company.hears(NODE, all_are(pod("p")), WatchFailed(target=TARGET, failure=AWAY))
    company.crash()
    company.hears(NODE, WatchFailed(target=TARGET, failure=AWAY), all_are(pod("p")))
    assert company.described().error == AWAY.sentence


def test_what_is_no_pod_is_left_out_and_touches_nobody(company: Company) -> None:
    nonsense = {"metadata": {"name": "x"}, "spec": {}}
    company.hears(
        ObjectsAre(
            target=TARGET,
            objects=(pod("p").document, {"kind": "Pod"}, nonsense),
            resource_version="1",
        )
    )
    assert company.listed() == ["default/p@v1"]
    assert company.described().rejected == {"not_a_pod": 2}


def test_a_new_life_tells_at_once_what_is_known_and_follows_anew(company: Company) -> None:
    company.hears(NODE, all_are(pod("p")))
    (before,) = company.told.next().pods
    company.node.drain()
    company.watches.drain()

    # The pods are the same: told all the same, since PodManager may have crashed too.
    company.crash()
    (after,) = company.told.next().pods
    assert after is before
    company.node.expect(FollowNode(subscriber=company.me))
    company.hears(NODE)
    company.watches.expect(Watch(target=TARGET, subscriber=company.me))

    company.hears(all_are(pod("p")))
    company.told.expect_silence()


def test_a_new_life_tells_nothing_while_nothing_is_known(company: Company) -> None:
    company.hears(NODE)
    company.crash()
    company.told.expect_silence()


def test_what_a_crash_kept_from_being_told_is_told_while_the_api_server_is_away(
    company: Company,
) -> None:
    company.hears(NODE, all_are(pod("p"), pod("q")))
    company.told.drain()

    company.told.is_bad_moment = True
    company.hears(deleted(pod("q", version="2")))
    company.play.advance(1.0)
    company.hears(NODE, WatchFailed(target=TARGET, failure=AWAY))
    assert company.listed() == ["default/p@v1"]
    company.told.expect_silence()


def test_asked_again_it_tells_again_but_nothing_before_there_is_something(
    company: Company,
) -> None:
    company.hears(ListPods())
    company.told.expect_silence()
    company.hears(all_are(pod("p")))
    first = company.told.next()
    company.hears(ListPods())
    second = company.told.next()
    assert (second.pods, second.epoch > first.epoch) == (first.pods, True)


def test_a_rescan_lists_anew(company: Company) -> None:
    company.hears(Rescan())
    company.watches.expect_silence()
    company.hears(NODE)
    company.watches.drain()
    company.hears(Rescan())
    company.watches.expect(Watch(target=TARGET, subscriber=company.me))


def test_pods_that_are_not_served_are_shown_with_the_reason(company: Company) -> None:
    company.hears(all_are(pod("p"), pod("q")))
    shadowed = {pod("q").uid: "behind default/q of source file"}
    company.hears(PodsJudged(source=API, shadowed=shadowed, rejected={}))
    assert [(each.path, each.verdict) for each in company.described().manifests] == [
        ("/api/v1/namespaces/default/pods/p", Verdict.ACCEPTED),
        ("/api/v1/namespaces/default/pods/q", Verdict.SHADOWED),
    ]


def test_mirrors_are_listed_but_are_no_manifests(company: Company) -> None:
    """Rule A8."""
    mirror = make_pod("web-n1", source="", mirror="abc")
    company.hears(all_are(mirror))
    assert company.listed() == ["default/web-n1@registry.example/web:1"]
    assert company.described().manifests == ()
