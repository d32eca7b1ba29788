"""The keeper of Services: what the watch tells, what workers of pods hear."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from actors.cluster.service_keeper import SERVICES
from messages.cluster import ClusterPort, ClusterService
from messages.events import EventType
from messages.watches import ObjectOp, Unwatch, Watch, WatchRecovered
from tests.support.services.service_stage import (
    AWAY,
    FORBIDDEN,
    ServiceStage,
    event,
    service,
    told,
)

API = service("kubernetes", "10.0.0.1", "default")


def test_services_are_followed_by_one_watch_from_the_first_pod_on(services: ServiceStage) -> None:
    services.watches.expect_silence()
    services.follow("shop")
    services.follow("default")
    services.watches.expect(Watch(target=SERVICES, subscriber=services.me))
    services.watches.expect_silence()


def test_a_follower_is_told_of_its_namespace_and_of_the_api_server(services: ServiceStage) -> None:
    shop, default = services.follow("shop"), services.follow("default")
    shop.expect_silence()
    services.lists(API, service("b"), service("a"), service("c", namespace="other"))
    assert told(shop) == [["shop/a", "shop/b", "default/kubernetes"]]
    assert told(default) == [["default/kubernetes"]]


def test_who_comes_later_is_told_at_once(services: ServiceStage) -> None:
    services.follow("shop")
    services.lists(API, service("a"))
    follower = services.follow("shop")
    assert follower.next() == (
        ClusterService(namespace="shop", name="a", address="10.0.0.1", ports=(ClusterPort(80),)),
        ClusterService(
            namespace="default", name="kubernetes", address="10.0.0.1", ports=(ClusterPort(80),)
        ),
    )
    assert told(services.follow("empty")) == [["default/kubernetes"]]


def test_changes_are_told_to_those_whom_they_concern(services: ServiceStage) -> None:
    shop, other = services.follow("shop"), services.follow("other")
    services.lists(API)
    told(shop), told(other)
    services.hears(event(ObjectOp.ADDED, service("a")))
    assert (told(shop), told(other)) == ([["shop/a", "default/kubernetes"]], [])
    services.hears(event(ObjectOp.MODIFIED, service("a", "10.0.0.7")))
    assert [each[0].address for each in shop.drain() if each] == ["10.0.0.7"]
    services.hears(event(ObjectOp.DELETED, service("a", "10.0.0.7")))
    assert (told(shop), told(other)) == ([["default/kubernetes"]], [])
    services.hears(event(ObjectOp.DELETED, API))
    assert (told(shop), told(other)) == ([[]], [[]])


def test_what_no_variable_shows_is_no_change(services: ServiceStage) -> None:
    shop = services.follow("shop")
    services.lists(service("a"))
    told(shop)
    services.hears(
        event(ObjectOp.MODIFIED, {**service("a"), "status": {"loadBalancer": {"ingress": []}}}),
        event(ObjectOp.ADDED, service("headless", "None")),
        event(ObjectOp.DELETED, service("headless", "None")),
    )
    services.lists(service("a"))
    shop.expect_silence()


def test_a_burst_is_told_at_once(services: ServiceStage) -> None:
    shop = services.follow("shop")
    services.lists()
    told(shop)
    services.hears(*(event(ObjectOp.ADDED, service(f"s{n}")) for n in range(100)))
    lengths = [len(each) for each in told(shop)]
    assert lengths[-1] == 100
    assert len(lengths) < 10  # on threads some may be handled before the others are told


def test_a_list_replaces_what_was_known(services: ServiceStage) -> None:
    shop = services.follow("shop")
    services.lists(API, service("a"), service("b"))
    services.lists(API, service("b"), service("c"))
    assert told(shop)[-1] == ["shop/b", "shop/c", "default/kubernetes"]


def test_while_the_api_server_is_away_the_last_services_stand(services: ServiceStage) -> None:
    shop = services.follow("shop")
    services.lists(service("a"))
    services.fails(AWAY)
    assert told(shop) == [["shop/a"]]
    assert told(services.follow("shop")) == [["shop/a"]]
    services.events.expect_silence()


def test_a_node_that_may_not_read_services_says_so_once_and_nobody_waits(
    services: ServiceStage, logs: list[MutableMapping[str, Any]]
) -> None:
    shop = services.follow("shop")
    services.fails(FORBIDDEN)
    services.fails(FORBIDDEN)
    assert shop.drain() == [None]
    (event,) = services.events.drain()
    assert (event.regarding.kind, event.regarding.name, event.type, event.reason) == (
        "Node",
        "n1",
        EventType.WARNING,
        "FailedToListServices",
    )
    assert FORBIDDEN.sentence in event.message
    assert [each["log_level"] for each in logs].count("warning") == 1
    assert services.follow("shop").drain() == [None]


def test_services_that_may_be_read_again_are_told(services: ServiceStage) -> None:
    shop = services.follow("shop")
    services.fails(FORBIDDEN)
    shop.drain()
    services.lists(service("a"))
    services.hears(WatchRecovered(target=SERVICES))
    assert told(shop) == [["shop/a"]]
    services.fails(FORBIDDEN)
    assert len(services.events.drain()) == 2
    assert told(services.follow("shop")) == [["shop/a"]]


def test_the_watch_ends_ten_minutes_after_the_last_pod(services: ServiceStage) -> None:
    shop = services.follow("shop")
    services.lists(service("a"))
    services.unfollow(shop)
    services.play.advance(599)
    assert len(services.watches.drain()) == 1
    services.play.advance(2)
    services.watches.expect(Unwatch(target=SERVICES, subscriber=services.me))
    assert len(services.memory.known) == 0

    # What was on its way is not taken for news, and the next pod is told nothing old.
    services.hears(event(ObjectOp.ADDED, service("b")))
    again = services.follow("shop")
    services.watches.expect(Watch(target=SERVICES, subscriber=services.me))
    again.expect_silence()
    services.lists(service("c"))
    assert told(again) == [["shop/c"]]


def test_a_pod_that_comes_in_time_keeps_the_watch(services: ServiceStage) -> None:
    services.unfollow(services.follow("shop"))
    services.lists(service("a"))
    services.play.advance(300)
    assert told(services.follow("shop")) == [["shop/a"]]
    services.play.advance(600)
    assert len(services.watches.drain()) == 1


def test_a_subscription_that_ends_is_told_nothing_more(services: ServiceStage) -> None:
    gone, stays = services.follow("shop"), services.follow("shop")
    services.unfollow(gone)
    services.unfollow(gone)
    services.unfollow(gone, "other")
    services.lists(service("a"))
    gone.expect_silence()
    assert told(stays) == [["shop/a"]]


def test_a_crash_loses_no_follower_and_no_service(services: ServiceStage) -> None:
    shop = services.follow("shop")
    services.lists(service("a"))
    services.watches.drain()
    told(shop)
    services.crashes()
    services.watches.expect(Watch(target=SERVICES, subscriber=services.me))
    shop.expect_silence()
    services.lists(service("a"), service("b"))
    assert told(shop) == [["shop/a", "shop/b"]]
    services.unfollow(shop)
    services.crashes()
    services.play.advance(601)
    assert [type(each) for each in services.watches.drain()] == [Watch, Unwatch]


def test_a_keeper_that_nobody_needs_begins_nothing_after_a_crash(services: ServiceStage) -> None:
    services.crashes()
    services.play.advance(700)
    services.watches.expect_silence()
