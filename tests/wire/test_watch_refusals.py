"""A server that says no: what is told, when it is asked again, and with which credentials."""

from __future__ import annotations

import asyncio

import pytest
from typing_extensions import override

from kube.credentials.access import Access, CredentialsError
from messages.api import FailureKind
from messages.units import Seconds
from messages.watches import ObjectsAre, WatchRecovered
from tests.support.kube.watch_stage import (
    EMPTY,
    WEB,
    Answer,
    Script,
    Tokens,
    bookmark,
    event_line,
    listing,
    quick_rules,
    refuse,
    secret,
    secret_list,
    secret_target,
    status,
    stream,
    watch_stage,
    watched_server,
)
from tests.support.patience import PATIENCE
from tests.support.wire.http2_server import Exchange, Http2Server


def demanding(token: str, answer: Answer) -> Answer:
    """Return what answers those who bring ``token``, and others with a 401."""

    async def demand(exchange: Exchange) -> None:
        good = exchange.headers["authorization"] == f"Bearer {token}"
        await (answer if good else refuse(401, "Unauthorized"))(exchange)

    return demand


def test_a_401_has_the_credentials_read_again_and_is_nothing_to_tell() -> None:
    script = Script([demanding("second", EMPTY)], [demanding("second", stream())])
    with Http2Server(script) as server:
        tokens = Tokens(server, "first", "second")
        with watch_stage(tokens) as watches:
            watches.watch(WEB)
            assert watches.next_list().objects == ()
            server.wait_until(lambda: server.begun_streams == 1)
            watches.probe.expect_silence()
            assert tokens.reloads == 1
            # The token goes with the request: the connection is the same.
            assert server.connections_accepted == 1


def test_many_watches_that_are_refused_together_read_the_credentials_once() -> None:
    script = Script([demanding("second", EMPTY)], [demanding("second", stream())])
    with Http2Server(script) as server:
        tokens = Tokens(server, "first", "second", "third")
        with watch_stage(tokens) as watches:
            watches.watch(*(secret_target(f"s{number}") for number in range(50)))
            server.wait_until(lambda: server.begun_streams == 50)
            assert tokens.reloads == 1


def test_those_that_fail_can_be_asked_for_alone() -> None:
    async def allow_one(exchange: Exchange) -> None:
        good = exchange.query["fieldSelector"] == "metadata.name=web"
        await (EMPTY if good else refuse(403, "Forbidden"))(exchange)

    with watched_server(Script([allow_one], [stream()])) as (_server, watches):
        watches.watch(WEB, secret_target("db"))
        watches.wait_until(lambda all_: all_.streams == 1 and any(w.error for w in all_.watches))
        failing = watches.described(in_detail=False)
        assert [watch.target for watch in failing.watches] == [secret_target("db")]
        assert failing.streams == 1


def test_a_401_that_stays_is_told_and_tried_again_with_other_credentials_later() -> None:
    script = Script([demanding("third", EMPTY)], [demanding("third", stream())])
    with Http2Server(script) as server:
        tokens = Tokens(server, "first", "second", "third")
        with watch_stage(tokens) as watches:
            watches.watch(WEB)
            failure = watches.next_failure().failure
            assert failure.kind is FailureKind.UNAUTHORIZED
            assert failure.status == 401
            assert f"at {server.url} as n1-user: unauthorized" in failure.sentence
            assert "second" not in repr(failure)
            assert watches.next_list().objects == ()
            assert watches.probe.next() == WatchRecovered(target=WEB)


def test_another_client_certificate_needs_another_connection() -> None:
    script = Script([EMPTY], [stream(bookmark("11"), then=Exchange.finish), stream()])
    rules = quick_rules(access_age=Seconds(0.0))
    with Http2Server(script) as server:
        credentials = Tokens(server, identity=server.issue_client_identity("old"))
        with watch_stage(credentials, rules) as watches:
            watches.watch(WEB)
            watches.next_list()
            server.wait_until(lambda: server.begun_streams == 1)
            credentials.identity = server.issue_client_identity("new")
            watches.watch(WEB)
            watches.next_list()
            server.wait_until(
                lambda: (
                    server.begun_streams == 1 and server.requests[-1].query.get("watch") == "true"
                )
            )
            assert server.requests[0].client_common_name == "old"
            assert server.requests[-1].client_common_name == "new"
            # The old connection is closed: nobody is left on it.
            server.wait_until(lambda: server.open_connections == 1)
            assert watches.described().connections == 1


def test_a_403_is_told_once_and_tried_until_the_permission_arrives() -> None:
    forbidden = refuse(403, "Forbidden")
    script = Script([forbidden, forbidden, forbidden, EMPTY], [forbidden, stream()])
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        failure = watches.next_failure().failure
        assert (failure.kind, failure.status) == (FailureKind.FORBIDDEN, 403)
        assert failure.sentence == (
            "cannot list /api/v1/namespaces/default/secrets (metadata.name=web) "
            f"at {server.url} as n1-user: forbidden (HTTP 403)"
        )
        # The list is allowed before the watch is: it is followed only when the stream is open.
        assert isinstance(watches.probe.next(), ObjectsAre)
        assert watches.probe.next() == WatchRecovered(target=WEB)
        described = watches.described()
        assert described.watches[0].error == ""
        host = server.url.removeprefix("https://")
        assert described.requests == {("403", host, "GET"): 4, ("200", host, "GET"): 2}


def test_another_reason_is_told_too() -> None:
    script = Script([refuse(403), refuse(403), refuse(500), EMPTY], [stream()])
    with watched_server(script) as (_server, watches):
        watches.watch(WEB)
        assert watches.next_failure().failure.status == 403
        assert watches.next_failure().failure.status == 500
        assert watches.next_list().objects == ()


GONE = status(410, "Expired", message="too old resource version: 10 (11)")


@pytest.mark.parametrize(
    "gone",
    [refuse(410, "Expired"), stream(event_line("ERROR", GONE))],
    ids=["status", "event"],
)
def test_a_version_that_is_too_old_is_followed_by_a_list_at_once(gone: Answer) -> None:
    script = Script(
        [listing(secret_list("10", secret("web", "7"))), listing(secret_list("20"))],
        [gone, stream()],
    )
    rules = quick_rules(first_backoff=Seconds(60.0), longest_backoff=Seconds(60.0))
    with watched_server(script, rules=rules) as (server, watches):
        watches.watch(WEB)
        assert watches.next_list().objects == (secret("web", "7"),)
        # The object has gone meanwhile: the list says so, and nothing failed.
        assert watches.next_list().objects == ()
        server.wait_until(lambda: server.begun_streams == 1)
        assert watches.described().reconnects == {"gone": 1}
    assert server.requests[-1].query["resourceVersion"] == "20"


def test_a_retry_after_is_honoured() -> None:
    script = Script([refuse(429, "TooManyRequests", **{"retry-after": "1"}), EMPTY], [stream()])
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        failure = watches.next_failure().failure
        assert failure.kind is FailureKind.THROTTLED
        assert failure.retry_after == 1.0
        described = watches.described().watches[0]
        assert described.state == "waiting"
        assert described.error == failure.sentence
        assert described.next_attempt_in is not None
        assert watches.next_list().objects == ()
    first, second, _ = (each.at for each in server.requests)
    assert second - first >= 1.0


@pytest.mark.parametrize("code", [403, 410, 429, 500])
def test_a_storm_of_refusals_sees_two_requests_a_second_of_each_watch_on_average(code: int) -> None:
    script = Script([refuse(code)], [refuse(code)])
    # The real proportion in a tenth of the time, and no backoff at all.
    rules = quick_rules(
        first_backoff=Seconds(0.0),
        first_forbidden_backoff=Seconds(0.0),
        longest_backoff=Seconds(0.0),
        request_window=Seconds(0.5),
    )
    with watched_server(script, rules=rules) as (server, watches):
        watches.watch(*(secret_target(f"s{number}") for number in range(20)))
        server.wait_until(lambda: len(server.requests) >= 500)
    assert len({each.query["fieldSelector"] for each in server.requests}) == 20
    assert shortest_window(server.requests) >= 0.5


def shortest_window(requests: list[Exchange]) -> float:
    """Return the shortest time in which eleven requests of one target came."""
    times: dict[str, list[float]] = {}
    for each in requests:
        times.setdefault(each.query["fieldSelector"], []).append(each.at)
    return min(
        eleventh - first
        for arrived in times.values()
        for first, eleventh in zip(arrived, arrived[10:], strict=False)
    )


def test_credentials_that_cannot_be_read_are_told_in_their_own_words() -> None:
    class Broken(Tokens):
        @override
        def access(self) -> Access:
            if self.reloads < 3:
                self.reloads += 1
                raise CredentialsError("kubeconfig /etc/k: the context n1 has no user")
            return super().access()

    rules = quick_rules()
    with Http2Server(Script([EMPTY], [stream()])) as server:
        credentials = Broken(server)
        with watch_stage(credentials, rules) as watches:
            watches.watch(WEB)
            failure = watches.next_failure().failure
            assert failure.kind is FailureKind.CREDENTIALS
            assert failure.sentence.endswith("kubeconfig /etc/k: the context n1 has no user")
            assert watches.next_list().objects == ()
            assert server.requests[0].at


def test_a_client_that_cannot_be_built_is_told_and_built_when_it_can() -> None:
    class Spoiled(Tokens):
        @override
        def access(self) -> Access:
            self.reloads += 1
            spoiled = Access(server=server.url, user="u", ca=b"no PEM")
            return spoiled if self.reloads < 3 else super().access()

    rules = quick_rules(access_age=Seconds(0.0))
    with (
        Http2Server(Script([EMPTY], [stream()])) as server,
        watch_stage(Spoiled(server), rules) as watches,
    ):
        watches.watch(WEB)
        assert watches.next_failure().failure.kind is FailureKind.CREDENTIALS
        assert watches.next_list().objects == ()


def test_an_unknown_authority_is_told_in_words() -> None:
    class Stranger(Tokens):
        @override
        def access(self) -> Access:
            access = super().access()
            return Access(server=access.server, user="u", ca=other.ca_pem)

    with (
        Http2Server(refuse(500)) as other,
        Http2Server(Script([EMPTY], [stream()])) as server,
        watch_stage(Stranger(server)) as watches,
    ):
        watches.watch(WEB)
        failure = watches.next_failure().failure
        assert failure.kind is FailureKind.UNREACHABLE
        assert "its certificate is signed by an unknown authority" in failure.sentence


def test_a_redirect_is_not_followed() -> None:
    async def elsewhere(exchange: Exchange) -> None:
        await exchange.respond(307, b"", {"location": "/somewhere/else"})

    with watched_server(Script([elsewhere, EMPTY], [stream()])) as (server, watches):
        watches.watch(WEB)
        assert "HTTP 307" in watches.next_failure().failure.sentence
        watches.next_list()
    assert {each.path for each in server.requests} == {"/api/v1/namespaces/default/secrets"}


def test_a_refusal_whose_body_never_ends_is_a_refusal() -> None:
    async def endless(exchange: Exchange) -> None:
        await exchange.start(503)
        await exchange.send(b"<html>")
        await asyncio.wait_for(exchange.closed(), PATIENCE)

    rules = quick_rules(answer_within=Seconds(1.0))
    with watched_server(Script([endless, EMPTY], [stream()]), rules=rules) as (_server, watches):
        watches.watch(WEB)
        assert watches.next_failure().failure.status == 503
        watches.next_list()
