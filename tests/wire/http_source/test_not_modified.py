"""The manifest URL over real sockets: bodies that did not change since they were fetched."""

from __future__ import annotations

import pytest

from sources.http.asking import Unmodified
from tests.support.sources.http_wire import (
    body,
    failure,
    fetched,
)
from tests.support.wire.http1_server import Http1Server, redirect, reply

NOON = "Fri, 20 Nov 2026 12:00:00 GMT"
A_SECOND_LATER = "Fri, 20 Nov 2026 12:00:01 GMT"


def test_what_the_server_offers_is_given_back_to_it(server: Http1Server) -> None:
    server.routes["/"] = reply(
        b"x", 'ETag: "a"', f"Last-Modified: {NOON}", f"Date: {A_SECOND_LATER}"
    )
    known = body(server.url()).validators
    server.routes["/"] = reply(status="304 Not Modified")
    assert fetched(server.url(), known=known) == Unmodified()
    assert server.seen[1].values("if-none-match") == ['"a"']
    assert server.seen[1].values("if-modified-since") == [NOON]


def test_a_body_that_was_changed_and_then_changed_again_in_the_same_second_is_seen(
    server: Http1Server,
) -> None:
    # As of servers that know times of files and nothing else: b"y" has the same time as b"x".
    server.routes["/"] = reply(b"x", f"Last-Modified: {NOON}", f"Date: {NOON}")
    known = body(server.url()).validators
    server.routes["/"] = reply(b"y", f"Last-Modified: {NOON}", f"Date: {A_SECOND_LATER}")
    answer = body(server.url(), known=known)
    assert server.seen[1].values("if-modified-since") == []

    # From now on a change has another time.
    server.routes["/"] = reply(status="304 Not Modified")
    assert fetched(server.url(), known=answer.validators) == Unmodified()
    assert server.seen[2].values("if-modified-since") == [NOON]


@pytest.mark.parametrize(
    ("changed", "sent"),
    [
        (NOON, None),
        (NOON, NOON),
        (A_SECOND_LATER, NOON),
        (NOON, "now"),
        ("yesterday", NOON),
        (NOON, f"Fri, 20 Nov {'9' * 40} 12:00:00 GMT"),
    ],
)
def test_a_time_that_another_body_may_have_too_is_not_given_back_and_a_tag_is(
    server: Http1Server, changed: str, sent: str | None
) -> None:
    date = [f"Date: {sent}"] if sent is not None else []
    server.routes["/"] = reply(b"x", 'ETag: "a"', f"Last-Modified: {changed}", *date)
    body(server.url(), known=body(server.url()).validators)
    assert server.seen[1].values("if-none-match") == ['"a"']
    assert server.seen[1].values("if-modified-since") == []


def test_another_tag_is_another_body(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x", 'ETag: "a"')
    known = body(server.url()).validators
    server.routes["/"] = reply(b"y", 'ETag: "b"')
    answer = body(server.url(), known=known)
    assert (answer.data, answer.validators and answer.validators.etag) == (b"y", '"b"')


@pytest.mark.parametrize("header", ["X: y", "ETag: caf\xe9", "ETag: "])
def test_a_server_that_offers_nothing_usable_is_asked_for_the_whole_body(
    server: Http1Server, header: str
) -> None:
    server.routes["/"] = reply(b"x", header)
    assert body(server.url()).validators is None


def test_not_modified_without_having_asked_for_it_is_an_error(server: Http1Server) -> None:
    server.routes["/"] = reply(status="304 Not Modified")
    assert failure(server.url()).sentence == "answered 304 although it was asked for the whole body"


def test_a_tag_is_given_back_only_where_it_came_from(server: Http1Server) -> None:
    # Both places call their body "a".
    server.routes["/"] = redirect("/blue")
    server.routes["/blue"] = server.routes["/green"] = reply(b"x", 'ETag: "a"')
    known = body(server.url()).validators
    body(server.url(), known=known)
    server.routes["/"] = redirect("/green")
    body(server.url(), known=known)
    asked = [(seen.target, seen.values("if-none-match")) for seen in server.seen[2:]]
    assert asked == [("/", []), ("/blue", ['"a"']), ("/", []), ("/green", [])]
