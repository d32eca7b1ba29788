"""The node's TLS port: who gets what, by a certificate or a token."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import replace

import pytest
import trustme

from messages.access import May
from server.access.standalone import MASTERS
from server.node.application import MOST_FIELDS
from tests.support.wire.node_port import ADMIN, COLLECTOR, RULES, VIEWER, NodePort, node_port

CONTAINER = "default/web/main"
GUESS = {"Authorization": "Bearer guessed"}
TOKEN = {"Authorization": "Bearer admin-token"}


@pytest.fixture(scope="module")
def node() -> Iterator[NodePort]:
    with node_port() as served:
        yield served


# Who shows nothing, a token of nobody, the certificates of a viewer, a collector and an administrator.
TABLE = """
GET     /healthz                        401 401 200 403 200
GET     /healthz/ping                   401 401 200 403 200
GET     /healthz/log                    401 401 200 403 200
GET     /healthz/syncloop               401 401 200 403 200
GET     /healthz/else                   401 401 404 403 404
GET     /pods                           401 401 200 403 200
GET     /pods/                          401 401 200 403 200
HEAD    /pods                           401 401 200 403 200
DELETE  /pods                           401 401 403 403 405
OPTIONS /pods                           401 401 405 405 405
GET     /configz                        401 401 200 403 200
PATCH   /configz                        401 401 403 403 405
GET     /metrics                        401 401 403 200 200
POST    /metrics                        401 401 403 403 405
GET     /metrics/cadvisor               401 401 403 404 404
GET     /containerLogs/default/web/main 401 401 200 403 200
HEAD    /containerLogs/default/web/main 401 401 200 403 200
POST    /containerLogs/default/web/main 401 401 403 403 405
GET     /containerLogs/default/web      401 401 404 403 404
GET     /exec/default/web/main          401 401 403 403 400
POST    /exec/default/web/main          401 401 403 403 400
HEAD    /exec/default/web/main          401 401 403 403 405
PUT     /exec/default/web/main          401 401 403 403 405
GET     /attach/default/web/main        401 401 403 403 400
GET     /portForward/default/web        401 401 403 403 400
GET     /run/default/web/main           401 401 403 403 405
POST    /run/default/web/main           401 401 403 403 405
GET     /logs/                          401 401 403 403 404
GET     /stats/summary                  401 401 403 403 404
GET     /debug/pprof/                   401 401 404 403 404
PUT     /debug/flags/v                  401 401 403 403 404
POST    /checkpoint/default/web/main    401 401 403 403 404
GET     /                               404 404 404 404 404
GET     /control                        404 404 404 404 404
GET     /tree                           404 404 404 404 404
"""
ROWS = [tuple(line.split()) for line in TABLE.strip().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row[:2]))
def test_who_gets_what(node: NodePort, row: tuple[str, ...]) -> None:
    method, path, *codes = row
    bad = node.fetch(path, method, headers=GUESS)
    certified = (
        node.fetch(path, method, tls=node.certificate(each)) for each in (VIEWER, COLLECTOR, ADMIN)
    )
    answers = (node.fetch(path, method), bad, *certified)
    assert [str(each.status) for each in answers] == codes
    assert str(node.fetch(path, method, headers=TOKEN).status) == codes[-1]
    assert {each.headers["X-Content-Type-Options"] for each in answers} == {"nosniff"}
    assert {each.headers["Server"] for each in answers} == {"actorlet"}


def test_who_may_not_is_told_which_right_is_missing(node: NodePort) -> None:
    answer = node.fetch("/pods", tls=node.certificate(COLLECTOR))
    missing = "verb=get, resource=nodes, subresource(s)=[pods proxy]"
    assert answer.text == f"Forbidden (user=collector, {missing})\n"
    assert node.fetch("/pods").text == "Unauthorized"


def test_only_a_certificate_shows_for_certain_who_it_is(node: NodePort) -> None:
    node.fetch("/metrics", tls=node.certificate(ADMIN))
    node.fetch("/metrics", headers=TOKEN)
    asked = [each for each in node.users.asked if isinstance(each, May)]
    assert [each.may_be_stale for each in asked[-2:]] == [True, False]


def test_a_certificate_of_strangers_is_nobody_s(node: NodePort) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        node.fetch("/pods", tls=node.keys.client(trustme.CA(), ADMIN))


def test_without_the_api_server_it_is_later_and_no_error_of_the_client() -> None:
    with node_port() as node:
        node.users.is_away = True
        by_certificate = node.fetch("/pods", tls=node.certificate(ADMIN))
        by_token = node.fetch("/pods", headers=TOKEN)
        assert node.fetch("/pods").status == 401
    assert [by_certificate.status, by_token.status] == [503, 503]
    assert [each.headers["Retry-After"] for each in (by_certificate, by_token)] == ["5", "5"]
    assert "SubjectAccessReview" in by_certificate.text
    assert "TokenReview" in by_token.text


HIDDEN = "base64url.bearer.authorization.k8s.io.YWRtaW4tdG9rZW4"
"""``admin-token``, as the script of a page may send it."""


def test_a_page_in_a_browser_is_who_its_token_says_and_never_who_its_reader_is(
    node: NodePort,
) -> None:
    reader, origin = node.certificate(ADMIN), {"Origin": "https://pages.example"}
    said = {**origin, "Sec-WebSocket-Protocol": HIDDEN}
    assert node.fetch("/pods", headers=origin).status == 403
    assert node.fetch("/pods", headers={**origin, **TOKEN}).status == 200
    assert node.fetch("/pods", headers=said).status == 200
    assert node.fetch("/pods", tls=reader, headers=origin).status == 403
    assert node.fetch("/pods", tls=reader, headers=said).status == 403
    by_api_server = {**origin, "X-Forwarded-For": "10.0.0.9"}
    assert node.fetch("/pods", tls=reader, headers=by_api_server).status == 200


def test_a_request_has_no_body(node: NodePort) -> None:
    for method in ("GET", "POST"):
        answer = node.fetch("/exec/" + CONTAINER, method, tls=node.certificate(ADMIN), body=b"{}")
        assert (answer.status, answer.text) == (400, "a request has no body here")


def test_a_head_has_so_many_fields_at_the_most(node: NodePort) -> None:
    few = {**TOKEN, **{f"X-{number}": "1" for number in range(MOST_FIELDS - 3)}}
    assert node.fetch("/pods", headers=few).status == 200
    assert node.fetch("/pods", headers={**few, "X-One": "1", "X-More": "1"}).status == 431


@pytest.mark.parametrize(
    "path",
    [
        "//pods",
        "/pods//",
        "/./pods",
        "/containerLogs/default/../web",
        "/containerLogs/default/%2e%2e/web",
        "/containerLogs/default%2Fweb/main",
        "/containerLogs/default/we%5Cb/main",
        "/containerLogs/default/web%00/main",
        "/containerLogs/default/%FF/main",
        "/containerLogs/default/%zz/main",
        "/" + "a" * 8192,
        "pods",
        "http://localhost/pods",
    ],
)
def test_a_path_that_can_be_read_in_two_ways_is_none(node: NodePort, path: str) -> None:
    assert node.fetch(path, tls=node.certificate(ADMIN)).status == 400


@pytest.mark.parametrize(
    "path", ["/healthz?token=hush", "/nothing?token=hush", "/exec/a/b/c?command=hush&x=%zz"]
)
def test_no_error_shows_a_query_or_a_token(node: NodePort, path: str) -> None:
    for method in ("GET", "POST"):
        for headers in ({"Authorization": "Bearer hush"}, TOKEN):
            assert "hush" not in node.fetch(path, method, headers=headers).text


def test_without_debugging_there_is_nothing_that_shows_or_does_much() -> None:
    roots = ("containerLogs", "exec", "attach", "portForward", "run")
    with node_port(is_debuggable=False) as node:
        admin = node.certificate(ADMIN)
        for path in (*(f"/{each}/{CONTAINER}" for each in roots), "/runningpods/", "/logs/"):
            answer = node.fetch(path, tls=admin)
            assert (answer.status, answer.text) == (405, "Debug endpoints are disabled."), path
            assert node.fetch(path).status == 401
        assert node.fetch("/configz", tls=admin).status == 404
        assert [
            node.fetch(each, tls=admin).status for each in ("/healthz", "/pods", "/metrics")
        ] == [
            200,
            200,
            200,
        ]


def test_without_a_cluster_administrators_may_everything_and_others_nothing() -> None:
    with node_port(has_cluster=False) as node:
        assert node.fetch("/pods", tls=node.certificate("root", MASTERS)).status == 200
        assert node.fetch("/pods", tls=node.certificate(ADMIN)).status == 403
        assert node.fetch("/pods", headers=TOKEN).status == 401
        assert node.fetch("/pods").status == 401


def test_where_everything_is_allowed_it_is_to_everybody_who_is_somebody() -> None:
    for has_cluster in (True, False):
        with node_port(replace(RULES, allows_always=True), has_cluster=has_cluster) as node:
            assert node.fetch("/pods", tls=node.certificate("somebody")).status == 200
            assert node.fetch("/pods").status == 401


def test_who_shows_nothing_is_somebody_where_that_is_said() -> None:
    with node_port(replace(RULES, allows_anonymous=True)) as node:
        assert "user=system:anonymous" in node.fetch("/pods").text
        assert node.fetch("/pods", headers=GUESS).status == 401


def test_tokens_count_only_where_that_is_said() -> None:
    with node_port(replace(RULES, takes_tokens=False)) as node:
        assert node.fetch("/pods", headers=TOKEN).status == 401
        assert node.users.asked == []
