"""The API server source: what the watch tells, what PodManager hears."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from messages.api import ApiFailure, FailureKind, Retry
from messages.node import FollowNode, NodeIsGone
from messages.pods import API, PodUid
from messages.sources import ListPods, PodsJudged, Rescan, Verdict
from messages.watches import ObjectsAre, Watch, WatchFailed, WatchRecovered
from tests.support.builders import make_pod
from tests.support.kernel.clock import EPOCH
from tests.support.sources.api_source_stage import (
    NODE,
    TARGET,
    ApiSourceStage,
    added,
    all_are,
    api_source_stage,
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
def source() -> Iterator[ApiSourceStage]:
    with api_source_stage() as source:
        yield source


def test_it_asks_for_the_pods_of_this_node_once_there_is_a_node(source: ApiSourceStage) -> None:
    source.node.expect(FollowNode(subscriber=source.me))
    source.watches.expect_silence()
    assert source.described().error == "waits until the Node is known"

    source.hears(NODE)
    source.watches.expect(Watch(target=TARGET, subscriber=source.me))
    assert source.described().error == ""

    # A Node that changes is no reason to begin anew.
    source.hears(NODE)
    source.watches.expect_silence()


def test_it_says_why_the_node_that_there_is_gives_it_no_pods(source: ApiSourceStage) -> None:
    source.hears(NodeIsGone(name="n1", reason="the Node n1 is left alone"))
    source.watches.expect_silence()
    assert source.described().error == "the Node n1 is left alone"
    source.hears(NodeIsGone(name="n1"))
    assert source.described().error == "waits until the Node is known"
    source.hears(NODE)
    source.watches.expect(Watch(target=TARGET, subscriber=source.me))
    source.hears(NodeIsGone(name="n1", reason="the Node n1 is left alone"))
    assert source.described().error == ""


def test_each_event_gives_a_complete_listing(source: ApiSourceStage) -> None:
    source.hears(all_are(pod("p")))
    assert source.listed() == ["default/p@v1"]
    source.hears(added(pod("q")))
    assert source.listed() == ["default/p@v1", "default/q@v1"]
    source.hears(modified(pod("p", "v2", "2")))
    assert source.listed() == ["default/p@v2", "default/q@v1"]
    source.hears(deleted(pod("p", "v2", "3")))
    assert source.listed() == ["default/q@v1"]
    source.hears(deleted(pod("q", "v1", "4")))
    assert source.listed() == []
    source.told.expect_silence()


def test_pods_of_one_name_in_two_namespaces_are_two(source: ApiSourceStage) -> None:
    one, two = pod("p", namespace="one"), pod("p", namespace="two")
    source.hears(all_are(one, two))
    assert source.listed() == ["one/p@v1", "two/p@v1"]
    source.hears(deleted(one))
    assert source.listed() == ["two/p@v1"]


def test_an_empty_list_is_a_listing(source: ApiSourceStage) -> None:
    source.hears(all_are())
    assert source.listed() == []
    assert source.described().ready


def test_a_burst_of_events_is_one_listing(source: ApiSourceStage) -> None:
    source.hears(all_are())
    source.told.drain()
    source.hears(*(added(pod(f"p{number}")) for number in range(1_000)))
    assert len(source.listed()) == 1_000
    source.told.expect_silence()


def test_a_pod_that_did_not_change_is_the_identical_object(source: ApiSourceStage) -> None:
    source.hears(all_are(pod("p"), pod("q")))
    first = source.told.next().pods
    source.hears(all_are(pod("p"), pod("q", "v2", "2")))
    second = source.told.next().pods
    assert second[0] is first[0]
    assert second[1] is not first[1]


def test_an_event_that_comes_twice_changes_nothing(source: ApiSourceStage) -> None:
    source.hears(all_are(pod("p")))
    source.told.drain()
    source.hears(modified(pod("p")))
    source.told.expect_silence()


def test_a_relist_without_news_tells_nothing(source: ApiSourceStage) -> None:
    source.hears(all_are(pod("p")))
    source.told.drain()
    source.hears(all_are(pod("p")))
    source.told.expect_silence()


def test_a_version_that_was_given_twice_hides_no_news(source: ApiSourceStage) -> None:
    """etcd was restored from a backup, and counts anew from there."""
    source.hears(all_are(pod("p", "v1", "120"), pod("q")))
    source.told.drain()
    source.hears(all_are(pod("p", "v2", "120"), pod("q")))
    assert source.listed() == ["default/p@v2", "default/q@v1"]
    source.hears(modified(pod("p", "v3", "120")))
    assert source.listed() == ["default/p@v3", "default/q@v1"]


def test_what_a_relist_does_not_show_is_gone(source: ApiSourceStage) -> None:
    source.hears(all_are(pod("p"), pod("q")))
    source.told.drain()
    source.hears(all_are(pod("q")))
    assert source.listed() == ["default/q@v1"]


@pytest.mark.rule("A5")
def test_the_successor_of_a_deleted_pod_survives_a_late_deletion(source: ApiSourceStage) -> None:
    successor = make_pod("p", source="", uid="second", resource_version="7")
    source.hears(all_are(pod("p")), added(successor), deleted(pod("p", version="6")))
    assert [each.uid for each in source.told.next().pods] == [PodUid("second")]


@pytest.mark.rule("A6")
def test_a_watch_that_fails_changes_nothing_and_is_shown(source: ApiSourceStage) -> None:
    source.hears(all_are(pod("p")))
    source.told.drain()
    source.play.advance(5.0)
    assert source.described().last_listed == EPOCH + 5

    # Away for a minute: the pods stay, and what people see ages.
    source.hears(WatchFailed(target=TARGET, failure=AWAY))
    source.play.advance(60.0)
    source.told.expect_silence()
    described = source.described()
    assert (described.ready, described.error, described.last_listed) == (
        True,
        AWAY.sentence,
        EPOCH + 5,
    )

    source.hears(WatchRecovered(target=TARGET))
    described = source.described()
    assert (described.error, described.last_listed) == ("", EPOCH + 65)


def test_another_failure_of_the_watch_makes_the_pods_no_younger(source: ApiSourceStage) -> None:
    source.hears(all_are(pod("p")), WatchFailed(target=TARGET, failure=AWAY))
    source.play.advance(60.0)
    refused = replace(AWAY, kind=FailureKind.FORBIDDEN, sentence="may not list pods")
    source.hears(WatchFailed(target=TARGET, failure=refused))
    described = source.described()
    assert (described.error, described.last_listed) == ("may not list pods", EPOCH)


def test_a_list_while_the_watch_fails_does_not_say_that_it_is_well(source: ApiSourceStage) -> None:
    """It is true at that moment; whether the pods are followed, only ``WatchRecovered`` says."""
    source.hears(WatchFailed(target=TARGET, failure=AWAY))
    source.play.advance(60.0)
    source.hears(all_are(pod("p")))
    assert source.listed() == ["default/p@v1"]
    # The stream then fails in the same way, which is not told again: for hours, perhaps.
    source.play.advance(3600.0)
    described = source.described()
    assert (described.ready, described.error, described.last_listed) == (
        True,
        AWAY.sentence,
        EPOCH + 60,
    )

    source.hears(WatchRecovered(target=TARGET))
    described = source.described()
    assert (described.error, described.last_listed) == ("", EPOCH + 3660)
    # With nothing in the way a list is nothing but a list.
    source.hears(all_are())
    source.play.advance(60.0)
    described = source.described()
    assert (described.error, described.last_listed) == ("", EPOCH + 3720)


def test_a_failure_whose_end_was_lost_in_a_crash_ends_with_the_next_list(
    source: ApiSourceStage,
) -> None:
    source.hears(NODE, all_are(pod("p")), WatchFailed(target=TARGET, failure=AWAY))
    source.crash()
    assert source.described().error == AWAY.sentence
    # Were it still failing, that would be told before the list.
    source.hears(NODE, all_are(pod("p")))
    assert source.described().error == ""


def test_a_failure_that_outlives_a_crash_is_told_again_and_stands(source: ApiSourceStage) -> None:
    source.hears(NODE, all_are(pod("p")), WatchFailed(target=TARGET, failure=AWAY))
    source.crash()
    source.hears(NODE, WatchFailed(target=TARGET, failure=AWAY), all_are(pod("p")))
    assert source.described().error == AWAY.sentence


def test_what_is_no_pod_is_left_out_and_touches_nobody(source: ApiSourceStage) -> None:
    nonsense = {"metadata": {"name": "x"}, "spec": {}}
    source.hears(
        ObjectsAre(
            target=TARGET,
            objects=(pod("p").document, {"kind": "Pod"}, nonsense),
            resource_version="1",
        )
    )
    assert source.listed() == ["default/p@v1"]
    assert source.described().rejected == {"not_a_pod": 2}


def test_a_new_life_tells_at_once_what_is_known_and_follows_anew(source: ApiSourceStage) -> None:
    source.hears(NODE, all_are(pod("p")))
    (before,) = source.told.next().pods
    source.node.drain()
    source.watches.drain()

    # The pods are the same: told all the same, since PodManager may have crashed too.
    source.crash()
    (after,) = source.told.next().pods
    assert after is before
    source.node.expect(FollowNode(subscriber=source.me))
    source.hears(NODE)
    source.watches.expect(Watch(target=TARGET, subscriber=source.me))

    source.hears(all_are(pod("p")))
    source.told.expect_silence()


def test_a_new_life_tells_nothing_while_nothing_is_known(source: ApiSourceStage) -> None:
    source.hears(NODE)
    source.crash()
    source.told.expect_silence()


def test_what_a_crash_kept_from_being_told_is_told_while_the_api_server_is_away(
    source: ApiSourceStage,
) -> None:
    source.hears(NODE, all_are(pod("p"), pod("q")))
    source.told.drain()

    source.told.crashes_next = True
    source.hears(deleted(pod("q", version="2")))
    source.play.advance(1.0)
    source.hears(NODE, WatchFailed(target=TARGET, failure=AWAY))
    assert source.listed() == ["default/p@v1"]
    source.told.expect_silence()


def test_asked_again_it_tells_again_but_nothing_before_there_is_something(
    source: ApiSourceStage,
) -> None:
    source.hears(ListPods())
    source.told.expect_silence()
    source.hears(all_are(pod("p")))
    first = source.told.next()
    source.hears(ListPods())
    second = source.told.next()
    assert (second.pods, second.epoch > first.epoch) == (first.pods, True)


def test_a_rescan_lists_anew(source: ApiSourceStage) -> None:
    source.hears(Rescan())
    source.watches.expect_silence()
    source.hears(NODE)
    source.watches.drain()
    source.hears(Rescan())
    source.watches.expect(Watch(target=TARGET, subscriber=source.me))


def test_pods_that_are_not_served_are_shown_with_the_reason(source: ApiSourceStage) -> None:
    source.hears(all_are(pod("p"), pod("q")))
    shadowed = {pod("q").uid: "behind default/q of source file"}
    source.hears(PodsJudged(source=API, shadowed=shadowed, rejected={}))
    assert [(each.path, each.verdict) for each in source.described().manifests] == [
        ("/api/v1/namespaces/default/pods/p", Verdict.ACCEPTED),
        ("/api/v1/namespaces/default/pods/q", Verdict.SHADOWED),
    ]


@pytest.mark.rule("A8")
def test_mirrors_are_listed_but_are_no_manifests(source: ApiSourceStage) -> None:
    mirror = make_pod("web-n1", source="", mirror="abc")
    source.hears(all_are(mirror))
    assert source.listed() == ["default/web-n1@registry.example/web:1"]
    assert source.described().manifests == ()
