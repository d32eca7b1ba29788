"""Lists beside watches: told to who asks and nobody else, whatever becomes of them."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from kube.streams.actor import WATCHES
from messages.api import ApiFailure, FailureKind
from messages.units import Seconds
from messages.watches import ObjectsAre, TargetListed
from tests.support.kube.watch_stage import (
    EMPTY,
    WEB,
    Answer,
    Feed,
    Held,
    Script,
    Tokens,
    WatchStage,
    event_line,
    listing,
    quick_rules,
    refuse,
    secret,
    secret_list,
    secret_target,
    stream,
    watch_stage,
    watched_server,
)
from tests.support.patience import PATIENCE
from tests.support.wire.http2_server import Exchange, Http2Server

NEWER = listing(secret_list("20", secret("web", "15")))


def failure_of(listed: TargetListed) -> ApiFailure:
    assert isinstance(listed.outcome, ApiFailure)
    return listed.outcome


def test_a_list_beside_a_watch_is_told_to_who_asked_and_leaves_the_watch_alone() -> None:
    feed = Feed()
    with watched_server(Script([EMPTY, NEWER], [feed])) as (server, watches):
        watches.watch(WEB, mark=3)
        watches.next_list()
        watches.wait_until_open(1)
        watches.list_once(WEB, mark=7)
        found = ObjectsAre(
            target=WEB, objects=(secret("web", "15"),), resource_version="20", mark=7
        )
        watches.listed.expect(TargetListed(target=WEB, mark=7, outcome=found))

        # The stream goes on where it was, on the same connection.
        feed.send(event_line("MODIFIED", secret("web", "21")))
        watches.next_change()
        assert watches.described().reconnects == {}
        assert len(server.requests) == 3
        assert server.connections_accepted == 1
        assert "resourceVersion" not in server.requests[-1].query


def test_what_is_not_watched_can_be_listed_and_leaves_nothing_behind() -> None:
    with watched_server(Script([NEWER], [stream()])) as (server, watches):
        watches.list_once(WEB)
        assert isinstance(watches.listed.next().outcome, ObjectsAre)
        server.wait_until(lambda: server.open_connections == 0)
        described = watches.described()
        assert (described.watches, described.connections, len(server.requests)) == ((), 0, 1)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refuse(403, "Forbidden"), FailureKind.FORBIDDEN),
        (refuse(410, "Expired"), FailureKind.GONE),
        (refuse(429, "TooManyRequests"), FailureKind.THROTTLED),
        (refuse(500, "InternalError"), FailureKind.SERVER_ERROR),
        (listing({"kind": "SecretList"}), FailureKind.MALFORMED),
        (Exchange.closed, FailureKind.TIMEOUT),
    ],
)
def test_a_list_that_fails_is_told_once_and_is_no_trouble_of_the_watch(
    answer: Answer, kind: FailureKind
) -> None:
    script = Script([EMPTY, answer], [stream()])
    rules = quick_rules(answer_within=Seconds(1.0))
    with (
        capture_logs() as log,
        Http2Server(script) as server,
        watch_stage(Tokens(server), rules) as watches,
    ):
        watches.watch(WEB)
        watches.next_list()
        watches.wait_until_open(1)
        watches.list_once(WEB, mark=2)
        listed = watches.listed.next()
        assert listed.mark == 2
        assert failure_of(listed).kind is kind
        assert failure_of(listed).sentence.startswith(
            "cannot list /api/v1/namespaces/default/secrets (metadata.name=web) at https://"
        )
        assert watches.described().watches[0].error == ""
        watches.probe.expect_silence()
    assert [line["event"] for line in log if line["log_level"] != "debug"] == []


def test_a_server_that_is_away_is_told_of() -> None:
    with Http2Server(EMPTY) as server:
        tokens = Tokens(server)
    with watch_stage(tokens) as watches:
        watches.list_once(WEB)
        assert failure_of(watches.listed.next()).kind is FailureKind.UNREACHABLE


def test_a_401_has_the_credentials_read_again_once_for_all() -> None:
    async def demanding(exchange: Exchange) -> None:
        good = exchange.headers["authorization"] == "Bearer second"
        await (NEWER if good else refuse(401, "Unauthorized"))(exchange)

    with Http2Server(demanding) as server:
        tokens = Tokens(server, "first", "second", "third")
        with watch_stage(tokens) as watches:
            watches.list_once(*(secret_target(f"s{number}") for number in range(30)))
            found = [watches.listed.next().outcome for _ in range(30)]
            assert {type(outcome) for outcome in found} == {ObjectsAre}
            assert tokens.reloads == 1


def hold_all(watches: WatchStage, server: Http2Server, lists: int, sent: int) -> None:
    watches.list_once(*(secret_target(f"s{number}") for number in range(lists)))
    server.wait_until(lambda: server.open_streams == sent)
    watches.described()  # a fence: whoever could send has been let


def test_so_many_lists_are_under_way_at_a_time_and_no_more() -> None:
    held = Held(EMPTY)
    with watched_server(held, rules=quick_rules(most_one_off_lists=5)) as (server, watches):
        hold_all(watches, server, lists=30, sent=5)
        assert len(server.requests) == 5
        server.call(held.released.set)
        told = {watches.listed.next().target for _ in range(30)}
        assert len(told) == 30
        watches.listed.expect_silence()


def test_lists_beside_full_connections_have_one_more_for_as_long_as_they_last() -> None:
    held = Held(EMPTY)
    script = Script([EMPTY] * 4 + [held], [stream()])
    rules = quick_rules(streams_per_connection=2, most_one_off_lists=2)
    with watched_server(script, rules=rules) as (server, watches):
        watches.watch(*(secret_target(f"s{number}") for number in range(4)))
        watches.wait_until_open(4)
        watches.list_once(*(secret_target(f"s{number}") for number in range(4)))
        server.wait_until(lambda: server.open_streams == 6)
        assert watches.described().connections == 3
        server.call(held.released.set)
        assert {watches.listed.next().target.field_selector for _ in range(4)} == {
            f"metadata.name=s{number}" for number in range(4)
        }
        server.wait_until(lambda: server.open_connections == 2)
        assert server.connections_accepted == 3


def test_a_list_soon_after_another_takes_the_same_connection() -> None:
    rules = quick_rules(close_idle_after=Seconds(60.0))
    with Http2Server(NEWER) as server:
        with watch_stage(Tokens(server), rules) as watches:
            watches.list_once(WEB)
            watches.listed.next()
            watches.list_once(WEB)
            watches.listed.next()
            assert watches.described().connections == 1
        server.wait_until(lambda: server.open_connections == 0)
        assert server.connections_accepted == 1


def test_lists_that_are_under_way_do_not_hold_up_the_end() -> None:
    rules = quick_rules(close_within=Seconds(10 * PATIENCE))
    with watched_server(Exchange.closed, rules=rules) as (server, watches):
        hold_all(watches, server, lists=60, sent=50)
        watches.stage.system.stop()
        assert watches.stage.system.wait(Seconds(PATIENCE)) == 0


def test_lists_that_end_with_the_keeper_are_told_to_be_lost() -> None:
    with watched_server(Exchange.closed) as (server, watches):
        hold_all(watches, server, lists=60, sent=50)
        watches.stage.system.crash(WATCHES.path)
        told = [watches.listed.next() for _ in range(60)]
        assert {failure_of(each).kind for each in told} == {FailureKind.LOST}
        watches.listed.expect_silence()
