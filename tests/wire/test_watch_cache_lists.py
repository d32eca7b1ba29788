"""Lists from the API server's cache, and what is asked for when it cannot give them."""

from __future__ import annotations

from typing import Any

import pytest

from kube.streams.actor import WATCHES
from messages.api import FailureKind
from messages.units import Seconds
from messages.watches import ObjectsAre
from tests.support.kube.watch_stage import (
    PODS,
    Answer,
    Script,
    bookmark,
    event_line,
    listing,
    quick_rules,
    refuse,
    secret,
    secret_list,
    status,
    stream,
    watched_server,
)
from tests.support.wire.http2_server import Exchange, Http2Server

ON_N1 = {"fieldSelector": "spec.nodeName=n1"}
NEW = {**ON_N1, "resourceVersion": "0"}
PAGED = {**ON_N1, "limit": "500"}
CAUSE = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
"""As API servers since 1.19 say it."""
TOO_LARGE = {
    "message": "Timeout: Too large resource version: 11, current: 5",
    "details": {"causes": [CAUSE], "retryAfterSeconds": 1},
}


def not_older_than(version: str) -> dict[str, str]:
    return {**ON_N1, "resourceVersion": version, "resourceVersionMatch": "NotOlderThan"}


def refuse_with(code: int, reason: str, **more: Any) -> Answer:
    async def answer(exchange: Exchange) -> None:
        await exchange.respond(code, status(code, reason, **more), {"retry-after": "1"})

    return answer


def lists(server: Http2Server) -> list[dict[str, str]]:
    return [each.query for each in server.requests if "watch" not in each.query]


def test_pods_are_listed_from_the_cache_and_watched_from_its_version() -> None:
    script = Script([listing(secret_list("10"))], [stream()])
    with watched_server(script) as (server, watches):
        watches.watch(PODS)
        assert watches.next_list().resource_version == "10"
        watches.wait_until_open(1)
        assert lists(server) == [NEW]
        assert server.requests[1].query["resourceVersion"] == "10"


def test_a_list_after_a_410_is_no_older_than_what_was_seen() -> None:
    gone = stream(event_line("ADDED", secret("web", "11")), bookmark("15"), then=Exchange.finish)
    script = Script([listing(secret_list("10")), listing(secret_list("20"))], [gone, refuse(410)])
    with watched_server(script) as (server, watches):
        watches.watch(PODS)
        watches.next_list()
        watches.next_change()
        assert watches.next_list().resource_version == "20"
        assert lists(server)[:2] == [NEW, not_older_than("15")]


def test_a_list_that_was_asked_for_does_not_go_back_in_time() -> None:
    script = Script([listing(secret_list("10"))], [stream()])
    with watched_server(script) as (server, watches):
        watches.watch(PODS)
        watches.next_list()
        watches.wait_until_open(1)
        watches.watch(PODS)
        watches.next_list()
        assert lists(server) == [NEW, not_older_than("10")]


def test_nor_does_the_first_list_of_the_keepers_next_life() -> None:
    script = Script([listing(secret_list("10"))], [stream(event_line("ADDED", secret("a", "11")))])
    with watched_server(script) as (server, watches):
        watches.watch(PODS)
        watches.next_list()
        watches.next_change()
        watches.stage.system.crash(WATCHES.path)
        watches.next_list_of_next_life()
        assert lists(server) == [NEW, not_older_than("11")]


@pytest.mark.parametrize(
    "refusal",
    [
        refuse_with(410, "Expired"),
        refuse_with(504, "Timeout", **TOO_LARGE),
        refuse_with(500, "Timeout", message=TOO_LARGE["message"]),
        refuse_with(422, "Invalid"),
        refuse_with(400, "BadRequest"),
    ],
    ids=["gone", "too-large", "too-large-of-old", "invalid-match", "unknown-match"],
)
def test_a_version_that_the_cache_cannot_serve_is_read_from_etcd_in_pages(
    refusal: Answer,
) -> None:
    first_page = listing(secret_list("7", secret("a", "1"), token="page 2"))
    second_page = listing(secret_list("7", secret("b", "2")))
    script = Script(
        [listing(secret_list("10")), refusal, first_page, second_page, listing(secret_list("8"))],
        [stream()],
    )
    # Nothing waits for the server's Retry-After: another question is asked.
    rules = quick_rules(first_backoff=Seconds(60.0), longest_backoff=Seconds(60.0))
    with watched_server(script, rules=rules) as (server, watches):
        watches.watch(PODS)
        watches.next_list()
        watches.wait_until_open(1)
        watches.watch(PODS)
        told = watches.next_list()
        assert told.resource_version == "7"
        assert told.objects == (secret("a", "1"), secret("b", "2"))
        # It is what the server has, although it was restored from a backup: so it counts from here.
        watches.wait_until_open(1)
        assert server.requests[-1].query["resourceVersion"] == "7"
        watches.watch(PODS)
        watches.next_list()
        assert lists(server) == [
            NEW,
            not_older_than("10"),
            PAGED,
            {**PAGED, "continue": "page 2"},
            not_older_than("7"),
        ]
        watches.probe.expect_silence()


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (refuse_with(504, "Timeout", message="not in time"), FailureKind.SERVER_ERROR),
        (refuse_with(403, "Forbidden"), FailureKind.FORBIDDEN),
        (refuse_with(429, "TooManyRequests"), FailureKind.THROTTLED),
    ],
    ids=["504", "403", "429"],
)
def test_any_other_refusal_is_a_failure_and_costs_etcd_nothing(
    refusal: Answer, kind: FailureKind
) -> None:
    script = Script([refusal], [stream()])
    rules = quick_rules(first_backoff=Seconds(60.0), longest_backoff=Seconds(60.0))
    with watched_server(script, rules=rules) as (server, watches):
        watches.watch(PODS)
        assert watches.next_failure().failure.kind is kind
        assert lists(server) == [NEW]


def test_a_selector_that_the_server_does_not_know_is_asked_for_once() -> None:
    script = Script([refuse_with(400, "BadRequest"), listing(secret_list("10"))], [stream()])
    with watched_server(script) as (server, watches):
        watches.watch(PODS)
        # There was no other parameter that it might have refused.
        assert watches.next_failure().failure.kind is FailureKind.INVALID
        assert isinstance(watches.probe.next(), ObjectsAre)
        assert lists(server) == [NEW, NEW]


def test_a_watch_from_a_version_that_the_server_has_not_got_is_followed_by_a_list() -> None:
    too_new = refuse_with(504, "Timeout", **TOO_LARGE)
    script = Script([listing(secret_list("10")), listing(secret_list("5"))], [too_new, stream()])
    with watched_server(script) as (_server, watches):
        watches.watch(PODS)
        watches.next_list()
        assert watches.next_list().resource_version == "5"


def test_after_a_backup_was_put_back_a_target_is_listed_anew_though_its_watch_is_open() -> None:
    too_new = refuse_with(504, "Timeout", **TOO_LARGE)
    found = listing(secret_list("12", secret("web", "11")))
    script = Script([listing(secret_list("9000")), too_new, found], [stream()])
    with watched_server(script) as (server, watches):
        watches.watch(PODS)
        assert watches.next_list().resource_version == "9000"
        watches.wait_until_open(1)
        watches.list_all_anew()
        assert watches.next_list().resource_version == "12"
        watches.wait_until(lambda described: [*described.reconnects] == ["asked"])
        # Not what a cache has that does not know of the backup.
        assert "resourceVersion" not in lists(server)[-1]
