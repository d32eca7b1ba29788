"""Listings that come faster than they are handled, and what the log says of them."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest

from actors.pod_manager import POD_MANAGER
from messages.pod_manager import Subscribe
from messages.pods import FILE, HTTP
from tests.support.builders import make_pod
from tests.support.pods.pod_manager_stage import Listener, pod_manager_stage

WEB, SHOP, MAIL = make_pod("web"), make_pod("shop"), make_pod("mail")


def test_of_listings_that_wait_only_the_newest_of_each_source_is_merged() -> None:
    with pod_manager_stage() as manager:
        subscriber = manager.subscriber()
        manager.play.tell_all(
            POD_MANAGER,
            manager.listing(FILE, WEB),
            manager.listing(HTTP, MAIL),
            manager.listing(FILE, WEB, SHOP),
            manager.listing(FILE, SHOP),
        )
        assert subscriber.heard() == ["http are mail", "file are shop"]


def test_no_subscription_and_no_question_is_dropped_by_another() -> None:
    with pod_manager_stage() as manager:
        first, second = Listener(), Listener()
        manager.play.tell_all(
            POD_MANAGER,
            Subscribe(subscriber=first),
            manager.listing(FILE, WEB),
            Subscribe(subscriber=second),
        )
        assert first.heard() == second.heard() == ["file are web"]


def test_changes_are_logged_in_the_kubelet_s_words(logs: list[MutableMapping[str, Any]]) -> None:
    with pod_manager_stage() as manager:
        manager.lists(FILE, WEB, SHOP)
        manager.lists(FILE, make_pod("shop", phase="Running"), MAIL)
        manager.lists(HTTP)
    told = [
        (event["event"], event["source"], event["pods"])
        for event in logs
        if event["event"].startswith("SyncLoop")
    ]
    assert told == [
        ("SyncLoop ADD", FILE, ["default/web", "default/shop"]),
        ("SyncLoop REMOVE", FILE, ["default/web"]),
        ("SyncLoop ADD", FILE, ["default/mail"]),
        ("SyncLoop RECONCILE", FILE, ["default/shop"]),
        ("SyncLoop ADD", HTTP, []),
    ]


@pytest.mark.parametrize(("pods", "more"), [(20, None), (21, 1), (500, 480)])
def test_a_line_names_twenty_pods_and_counts_the_others(
    pods: int, more: int | None, logs: list[MutableMapping[str, Any]]
) -> None:
    with pod_manager_stage() as manager:
        manager.lists(FILE, *(make_pod(f"web-{number}") for number in range(pods)))
    [line] = [event for event in logs if event["event"] == "SyncLoop ADD"]
    assert line["pods"] == [f"default/web-{number}" for number in range(20)]
    assert line.get("more") == more
