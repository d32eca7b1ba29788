"""The manifest URL over real sockets: where redirects lead, and what is sent there."""

from __future__ import annotations

from pathlib import Path

import pytest

from settings.version import version
from sources.http.asking import Body
from tests.support.sources.http_wire import (
    SECRET,
    TOKEN,
    body,
    failure,
    fetched,
)
from tests.support.wire.http1_server import Http1Server, redirect, reply


@pytest.mark.parametrize("status", ["301 A", "302 B", "303 C", "307 D", "308 E"])
def test_a_redirect_on_the_same_server_is_followed_with_everything(
    server: Http1Server, status: str
) -> None:
    server.routes["/"] = redirect("pods?x=1", status)
    server.routes["/pods"] = reply(b"x")
    assert body(server.url(user="me:pw"), {"X-Token": (SECRET,)}).data == b"x"
    assert server.seen[1].target == "/pods?x=1"
    assert server.seen[1].values("x-token") == [SECRET]
    assert server.seen[1].values("authorization") == ["Basic bWU6cHc="]
    assert server.seen[1].values("referer") == []


def test_a_redirect_to_the_same_server_by_its_full_name_keeps_the_user(server: Http1Server) -> None:
    server.routes["/"] = redirect(server.url("/pods"))
    server.routes["/pods"] = reply(b"x")
    body(server.url(user="me:pw"))
    assert server.seen[1].values("authorization") == ["Basic bWU6cHc="]


def test_a_redirect_that_names_a_user_is_followed_as_that_user(server: Http1Server) -> None:
    server.routes["/"] = redirect(server.url("/pods", user="you:pw"))
    server.routes["/pods"] = reply(b"x")
    body(server.url(user="me:pw"))
    assert server.seen[1].values("authorization") == ["Basic eW91OnB3"]


def test_no_header_and_no_user_is_sent_on_to_another_server(
    server: Http1Server, other: Http1Server
) -> None:
    server.routes["/"] = redirect(other.url("/pods"))
    other.routes["/pods"] = reply(b"x")
    assert body(server.url(user="me:pw"), {**TOKEN, "User-Agent": ("mine",)}).data == b"x"
    assert body(server.url(user="me:pw")).data == b"x"
    agent, host = ("user-agent", f"actorlet/{version()}"), ("host", f"127.0.0.1:{other.port}")
    usual = [("accept", "*/*"), ("accept-encoding", "gzip"), host, agent]
    assert [sorted(seen.headers) for seen in other.seen] == [usual, usual]


def test_who_was_led_away_and_back_stays_a_stranger(
    server: Http1Server, other: Http1Server
) -> None:
    server.routes["/"] = redirect(other.url("/away"))
    other.routes["/away"] = redirect(server.url("/back"))
    server.routes["/back"] = reply(b"x")
    body(server.url(user="me:pw"), {"X-Token": (SECRET,)})
    assert server.seen[1].values("x-token") == server.seen[1].values("authorization") == []


def test_a_loop_ends_after_ten_requests(server: Http1Server) -> None:
    server.routes["/"] = redirect("/")
    assert failure(server.url()).sentence == "redirected more than 9 times"
    assert len(server.seen) == 10


def test_https_is_not_left_for_http(
    secure: Http1Server, server: Http1Server, ca_file: Path
) -> None:
    secure.routes["/"] = redirect(server.url("/?hunter2"))
    error = failure(secure.url(), ca_file=ca_file)
    assert error.sentence == "redirected from https to http, which is not followed"
    assert server.seen == []


def test_http_may_lead_to_https(secure: Http1Server, server: Http1Server, ca_file: Path) -> None:
    server.routes["/"] = redirect(secure.url("/pods"))
    secure.routes["/pods"] = reply(b"x")
    assert fetched(server.url(), TOKEN, ca_file=ca_file) == Body(data=b"x", validators=None)
    assert secure.seen[0].values("x-token") == []  # another port is another server


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (redirect("ftp://hunter2/"), "redirected to something else than http or https"),
        (redirect("http://[hunter2"), "redirected to something that is no URL"),
        (reply(status="302 Found"), "answered with status 302 without saying where to go"),
    ],
)
def test_a_redirect_to_nowhere_is_an_error(
    server: Http1Server, answer: bytes, sentence: str
) -> None:
    server.routes["/"] = answer
    assert failure(server.url()).sentence == sentence
