"""Lists of one target: whole, in pages, late, and beyond reading."""

from __future__ import annotations

import json
from typing import Any

import pytest

from messages.api import FailureKind
from messages.units import Seconds
from messages.watches import WatchTarget
from tests.support.kube.watch_stage import (
    PODS,
    WEB,
    Answer,
    Held,
    Script,
    listing,
    quick_rules,
    refuse,
    secret,
    secret_list,
    stream,
    watched_server,
)
from tests.support.wire.http2_server import Exchange


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing",
        b"[]",
        b'{"items":[]}',
        b'{"metadata":{"resourceVersion":"1"},"items":{}}',
        b'{"metadata":{"resourceVersion":"1"},"items":[1]}',
        json.dumps(secret_list("1", secret("web", "1", blob="x" * 2000))).encode(),
    ],
    ids=["empty", "text", "array", "no-version", "no-items", "item", "too-long"],
)
def test_a_list_that_cannot_be_read_tells_nothing_of_objects(body: bytes) -> None:
    async def garbage(exchange: Exchange) -> None:
        await exchange.respond(200, body)

    script = Script([garbage, listing(secret_list("10"))], [stream()])
    rules = quick_rules(most_bytes=1000)
    with watched_server(script, rules=rules) as (_server, watches):
        watches.watch(WEB)
        assert watches.next_failure().failure.kind is FailureKind.MALFORMED
        assert watches.next_list().resource_version == "10"


def test_a_null_list_of_items_is_an_empty_one() -> None:
    document = {**secret_list("10"), "items": None}
    with watched_server(Script([listing(document)], [stream()])) as (_server, watches):
        watches.watch(WEB)
        assert watches.next_list().objects == ()


def test_a_large_collection_is_read_in_pages_and_told_as_one() -> None:
    script = Script(
        [
            listing(secret_list("10", secret("a", "1"), secret("b", "2"), token="page 2")),
            listing(secret_list("10", secret("c", "3"))),
        ],
        [stream()],
    )
    rules = quick_rules(page_size=2)
    with watched_server(script, rules=rules) as (server, watches):
        watches.watch(WEB)
        names = [item["metadata"]["name"] for item in watches.next_list().objects]
        assert names == ["a", "b", "c"]
        server.wait_until(lambda: len(server.requests) == 3)
    first, second, watched = (each.query for each in server.requests)
    selected = {"fieldSelector": "metadata.name=web"}
    assert first == {**selected, "limit": "2"}
    assert second == {**selected, "limit": "2", "continue": "page 2"}
    assert watched["resourceVersion"] == "10"


@pytest.mark.parametrize("target", [WEB, PODS], ids=["from-etcd", "from-the-cache"])
def test_a_page_that_leads_back_to_another_ends_the_list(target: WatchTarget) -> None:
    def page(token: str) -> Answer:
        return listing(secret_list("10", secret("a", "1"), token=token))

    script = Script([page("2"), page("3"), page("2"), listing(secret_list("20"))], [stream()])
    with watched_server(script) as (_server, watches):
        watches.watch(target)
        failure = watches.next_failure().failure
        assert failure.kind is FailureKind.MALFORMED
        assert "goes in circles" in failure.sentence
        # Nothing of it was told.
        assert watches.next_list().objects == ()


class Endless:
    """Answers every list with a page of ``size`` bytes and more, and a token for the next."""

    def __init__(self, size: int) -> None:
        self._large = secret("a", "1", blob="x" * size)
        self.pages = 0

    async def __call__(self, exchange: Exchange) -> None:
        self.pages += 1
        await exchange.respond(200, secret_list("10", self._large, token=f"page {self.pages}"))


@pytest.mark.parametrize("target", [WEB, PODS], ids=["from-etcd", "from-the-cache"])
@pytest.mark.parametrize(
    ("bound", "pages", "words"),
    [
        ({"most_pages": 3}, 3, "more than 3 pages"),
        ({"most_list_bytes": 4000}, 4, "the list is longer than 4000 bytes"),
        ({"most_bytes": 1000, "most_list_bytes": 1000}, 1, "longer than 1000 bytes"),
    ],
    ids=["pages", "bytes", "page"],
)
def test_a_list_without_an_end_is_a_failure(
    target: WatchTarget, bound: dict[str, Any], pages: int, words: str
) -> None:
    endless = Endless(1000)
    slowly = {"first_backoff": Seconds(60.0), "longest_backoff": Seconds(60.0)}
    with watched_server(endless, rules=quick_rules(**slowly, **bound)) as (_server, watches):
        watches.watch(target)
        failure = watches.next_failure().failure
        assert failure.kind is FailureKind.MALFORMED
        assert words in failure.sentence
        assert endless.pages == pages


def test_a_list_that_comes_at_once_may_be_longer_than_a_page() -> None:
    many = [secret(f"s{number}", "1", blob="x" * 200) for number in range(10)]
    rules = quick_rules(most_bytes=1000)
    script = Script([listing(secret_list("10", *many))], [stream()])
    with watched_server(script, rules=rules) as (_server, watches):
        watches.watch(PODS)
        assert len(watches.next_list().objects) == 10


def test_a_page_token_that_is_too_old_is_followed_by_the_whole_list_at_once() -> None:
    script = Script(
        [
            listing(secret_list("10", secret("a", "1"), token="page 2")),
            refuse(410, "Expired"),
            listing(secret_list("20", secret("a", "15"), secret("b", "2"))),
        ],
        [stream()],
    )
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        told = watches.next_list()
        assert told.objects == (secret("a", "15"), secret("b", "2"))
        assert told.resource_version == "20"
    assert "limit" not in server.requests[2].query


def test_a_watch_that_stayed_silent_for_long_is_followed_by_a_list() -> None:
    """From a version that does not exist yet a watch is 200 and silent."""
    script = Script(
        [listing(secret_list("9000")), listing(secret_list("12", secret("web", "11")))],
        [stream(then=Exchange.finish), stream()],
    )
    rules = quick_rules(silent_after=Seconds(0.0), healthy_after=Seconds(0.0))
    with watched_server(script, rules=rules) as (_server, watches):
        watches.watch(WEB)
        assert watches.next_list().resource_version == "9000"
        assert watches.next_list().resource_version == "12"
        # Once at least: the stream that came next says nothing either.
        assert set(watches.described().reconnects) == {"silent"}


def test_a_list_that_is_under_way_when_a_backup_is_put_back_is_made_again() -> None:
    held = Held(listing(secret_list("9000")))
    script = Script([held, listing(secret_list("12"))], [stream()])
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        server.wait_until(lambda: len(server.requests) == 1)
        watches.list_all_anew()
        assert watches.next_list().resource_version == "12"


def test_a_list_that_takes_too_long_is_a_failure_of_its_own() -> None:
    async def slow(exchange: Exchange) -> None:
        await exchange.closed()

    script = Script([slow, listing(secret_list("10"))], [stream()])
    rules = quick_rules(answer_within=Seconds(1.0))
    with watched_server(script, rules=rules) as (server, watches):
        watches.watch(WEB)
        failure = watches.next_failure().failure
        assert failure.kind is FailureKind.TIMEOUT
        assert "no answer within 1 s" in failure.sentence
        assert watches.next_list().resource_version == "10"
        # At the server nothing is left of it either.
        server.wait_until(lambda: server.begun_streams == 1)
