"""Lists of one target: whole, in pages, late, and beyond reading."""

from __future__ import annotations

import json

import pytest

from actors.messages.api import FailureKind
from actors.messages.units import Seconds
from actors.messages.watches import WatchTarget
from tests.support.http2_server import Exchange, Http2Server
from tests.support.watch_stage import (
    Script,
    Tokens,
    listing,
    quick_rules,
    refuse,
    secret,
    secret_list,
    secret_target,
    stream,
    watch_stage,
)

WEB = secret_target("web")


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
    with Http2Server(script) as server, watch_stage(Tokens(server), rules) as watches:
        watches.watch(WEB)
        assert watches.next_failure().failure.kind is FailureKind.MALFORMED
        assert watches.next_list().resource_version == "10"


def test_a_null_list_of_items_is_an_empty_one() -> None:
    document = {**secret_list("10"), "items": None}
    with (
        Http2Server(Script([listing(document)], [stream()])) as server,
        watch_stage(Tokens(server)) as watches,
    ):
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
    secrets = WatchTarget(path="/api/v1/secrets")
    rules = quick_rules(page_size=2)
    with Http2Server(script) as server, watch_stage(Tokens(server), rules) as watches:
        watches.watch(secrets)
        names = [item["metadata"]["name"] for item in watches.next_list().objects]
        assert names == ["a", "b", "c"]
        server.wait_until(lambda: len(server.requests) == 3)
    first, second, watched = (each.query for each in server.requests)
    assert first == {"limit": "2"}
    assert second == {"limit": "2", "continue": "page 2"}
    assert watched["resourceVersion"] == "10"


def test_a_page_token_that_is_too_old_is_followed_by_the_whole_list_at_once() -> None:
    script = Script(
        [
            listing(secret_list("10", secret("a", "1"), token="page 2")),
            refuse(410, "Expired"),
            listing(secret_list("20", secret("a", "15"), secret("b", "2"))),
        ],
        [stream()],
    )
    with Http2Server(script) as server, watch_stage(Tokens(server)) as watches:
        watches.watch(WEB)
        told = watches.next_list()
        assert told.objects == (secret("a", "15"), secret("b", "2"))
        assert told.resource_version == "20"
    assert "limit" not in server.requests[2].query


def test_a_watch_that_stayed_silent_for_long_is_followed_by_a_list() -> None:
    """From a version that does not exist yet a watch is 200 and silent (rule 14)."""
    script = Script(
        [listing(secret_list("9000")), listing(secret_list("12", secret("web", "11")))],
        [stream(then=Exchange.finish), stream()],
    )
    rules = quick_rules(silent_after=Seconds(0.0), healthy_after=Seconds(0.0))
    with Http2Server(script) as server, watch_stage(Tokens(server), rules) as watches:
        watches.watch(WEB)
        assert watches.next_list().resource_version == "9000"
        assert watches.next_list().resource_version == "12"
        server.wait_until(lambda: server.begun_streams == 1)
        assert watches.described().reconnects == {"silent": 1}


def test_a_list_that_takes_too_long_is_a_failure_of_its_own() -> None:
    async def slow(exchange: Exchange) -> None:
        await exchange.closed()

    script = Script([slow, listing(secret_list("10"))], [stream()])
    rules = quick_rules(answer_within=Seconds(0.2))
    with Http2Server(script) as server, watch_stage(Tokens(server), rules) as watches:
        watches.watch(WEB)
        failure = watches.next_failure().failure
        assert failure.kind is FailureKind.TIMEOUT
        assert "no answer within 0.2 s" in failure.sentence
        assert watches.next_list().resource_version == "10"
        # At the server nothing is left of it either.
        server.wait_until(lambda: server.begun_streams == 1)
