"""The manifest URL over real sockets: what is sent to the manifest URL."""

from __future__ import annotations

import pytest

from settings.version import version
from tests.support.sources.http_wire import (
    SECRET,
    Headers,
    body,
    failure,
)
from tests.support.wire.http1_server import Http1Server, reply


def test_scenario_19_a_configured_header_is_sent_exactly(server: Http1Server) -> None:
    server.routes["/pods"] = reply(b"x")
    assert body(server.url("/pods?a=b"), {"Metadata-Flavor": ("Google",)}).data == b"x"
    (seen,) = server.seen
    assert seen.target == "/pods?a=b"
    assert seen.values("metadata-flavor") == ["Google"]
    assert seen.values("user-agent") == [f"actorlet/{version()}"]
    assert seen.values("accept-encoding") == ["gzip"]


def test_rule_h2_all_values_of_a_header_are_sent(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x")
    body(server.url(), {"X-Zone": ("a", "b"), "user-agent": ("mine",), "Host": ("pods.example",)})
    (seen,) = server.seen
    assert seen.values("x-zone") == ["a", "b"]
    assert seen.values("user-agent") == ["mine"]
    assert seen.values("host") == ["pods.example"]


def test_the_url_s_user_is_sent_unless_a_header_says_who_it_is(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x")
    body(server.url(user="me:p%40ss"))
    body(server.url(user="me:p%40ss"), {"authorization": ("Bearer t",)})
    assert [seen.values("authorization") for seen in server.seen] == [
        ["Basic bWU6cEBzcw=="],
        ["Bearer t"],
    ]


@pytest.mark.parametrize("headers", [{"X-Token": ("hunter2\r\nHost: a",)}, {"X Token": (SECRET,)}])
def test_a_header_that_cannot_be_sent_is_an_error(server: Http1Server, headers: Headers) -> None:
    assert failure(server.url(), headers).sentence == "the URL or a header cannot be sent as it is"
    assert server.seen == []


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("ftp://hunter2@host/", "the URL is neither http nor https"),
        ("hunter2", "the URL or a header cannot be sent as it is"),
        ("http://[hunter2/", "the URL or a header cannot be sent as it is"),
    ],
)
def test_an_url_that_cannot_be_asked_is_an_error(url: str, sentence: str) -> None:
    assert failure(url).sentence == sentence


def test_a_proxy_of_the_environment_is_asked_for_others_but_not_for_this_machine(
    server: Http1Server, other: Http1Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.routes["/"] = other.routes["*"] = reply(b"x")
    monkeypatch.setenv("HTTP_PROXY", other.url())
    monkeypatch.setenv("http_proxy", other.url())
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    body(server.url())
    body(server.url(host="localhost"))
    assert (len(server.seen), len(other.seen)) == (2, 0)
    body("http://pods.example/node1")
    assert [seen.target for seen in other.seen] == ["http://pods.example/node1"]
