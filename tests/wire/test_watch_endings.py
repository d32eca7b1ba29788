"""How watches end: nothing of them is left, neither at the server nor here."""

from __future__ import annotations

import gc

import pytest
from typing_extensions import override

from kube.api_connections import ApiConnections
from kube.streams.rules import WatchRules
from messages.units import Seconds
from messages.watches import ObjectsAre, WatchFact, WatchRecovered
from tests.support.kernel.probe import Probe
from tests.support.kube.watch_stage import (
    EMPTY,
    WEB,
    Feed,
    Held,
    Script,
    Tokens,
    event_line,
    quick_rules,
    secret,
    secret_targets,
    stream,
    watch_stage,
    watched_server,
)
from tests.support.patience import PATIENCE
from tests.support.wire.http2_server import Exchange, Http2Server

LONG = Seconds(10 * PATIENCE)
"""What waits as long is missed."""


def test_unwatching_closes_the_stream_and_the_last_one_the_connection() -> None:
    with watched_server(Script([EMPTY], [stream()])) as (server, watches):
        watches.watch(*secret_targets(20))
        server.wait_until(lambda: server.begun_streams == 20)
        watches.unwatch(*secret_targets(19))
        server.wait_until(lambda: server.begun_streams == 1)
        assert server.open_connections == 1
        watches.unwatch(*secret_targets(20))
        server.wait_until(lambda: server.open_streams == server.open_connections == 0)
        assert watches.described().connections == 0


def test_a_stream_that_is_being_opened_is_closed_when_nobody_wants_it_any_more() -> None:
    """Were the opening cancelled, the stream would stay at the server until it times out."""
    held = Held(stream())
    script = Script([EMPTY], [stream(), held])
    with watched_server(script) as (server, watches):
        # One that stays, so that closing the connection is not what closes the other.
        watches.watch(WEB)
        watches.wait_until_open(1)
        watches.watch(*secret_targets(20))
        server.wait_until(lambda: len(server.requests) == 42)
        watches.unwatch(*secret_targets(20))
        assert watches.described().streams == 1
        server.call(held.released.set)
        server.wait_until(lambda: server.open_streams == 1)
        assert server.connections_accepted == server.open_connections == 1


def test_stopping_closes_three_hundred_streams_and_waits_for_none() -> None:
    with Http2Server(Script([EMPTY], [stream()])) as server:
        rules = quick_rules(drain_within=LONG, close_within=LONG)
        with watch_stage(Tokens(server), rules) as watches:
            watches.watch(*secret_targets(300))
            watches.wait_until_open(300)
            watches.stage.system.stop()
            assert watches.stage.system.wait(Seconds(PATIENCE)) == 0
        server.wait_until(lambda: server.open_streams == server.open_connections == 0)


@pytest.mark.parametrize(
    ("number", "rules"),
    [
        pytest.param(20, quick_rules(), id="waits-for-nobody"),
        # What hangs while stopping is left behind.
        pytest.param(
            3,
            quick_rules(drain_within=LONG, close_within=Seconds(0.2)),
            id="leaves-behind-what-hangs",
        ),
    ],
)
def test_stopping_does_not_wait_for_a_server_that_is_silent(number: int, rules: WatchRules) -> None:
    with watched_server(Exchange.closed, rules=rules) as (server, watches):
        watches.watch(*secret_targets(number))
        server.wait_until(lambda: server.open_streams == number)
        watches.stage.system.stop()
        assert watches.stage.system.wait(Seconds(PATIENCE)) == 0


def test_who_leaves_while_waiting_for_the_cap_leaves_no_trace() -> None:
    held = Held(EMPTY)
    rules = quick_rules(most_pending_requests=1)
    with watched_server(Script([held], [stream()]), rules=rules) as (server, watches):
        watches.watch(WEB)
        server.wait_until(lambda: len(server.requests) == 1)
        watches.watch(*secret_targets(5))
        assert len(watches.described().watches) == 6
        watches.unwatch(*secret_targets(5))
        assert len(watches.described().watches) == 1
        server.call(held.released.set)
        watches.next_list()
        watches.wait_until_open(1)
        # Of the five the server has never heard.
        assert len(server.requests) == 2


def test_what_is_told_is_not_kept() -> None:
    """While a stream is quiet it holds neither the last event nor its buffer."""

    class Forgetful(Probe[WatchFact]):
        @override
        def tell(self, message: WatchFact, /) -> None:
            super().tell(WatchRecovered(target=message.target))

    feed = Feed()
    with watched_server(Script([EMPTY], [feed])) as (_server, watches):
        forgetful = Forgetful()
        watches.watch(WEB, probe=forgetful)
        forgetful.next()
        watches.wait_until_open(1)
        metadata = b'{"name":"web","resourceVersion":"11"}'
        feed.send(
            b'{"type":"ADDED","object":{"metadata":' + metadata + b',"data":{"c4nary":[{}]}}}\n'
        )
        forgetful.next()
        assert watches.described().watches[0].resource_version == "11"
        gc.collect()
        assert [
            each for each in gc.get_objects() if isinstance(each, dict) and "c4nary" in each
        ] == []


class Counting:
    """Answers lists, and knows how many it was asked for at the same time."""

    def __init__(self) -> None:
        self.present = self.most = 0

    async def __call__(self, exchange: Exchange) -> None:
        self.present += 1
        self.most = max(self.most, self.present)
        await EMPTY(exchange)
        self.present -= 1


def test_agents_of_a_process_share_connections_and_limits_and_one_that_ends_cuts_no_other() -> None:
    lists, feed = Counting(), Feed()
    connections = ApiConnections(quick_rules(most_pending_requests=1))
    with Http2Server(Script([lists], [feed])) as server:
        credentials = Tokens(server)
        with watch_stage(credentials, connections=connections) as stays:
            stays.watch(WEB)
            stays.wait_until_open(1)
            with watch_stage(credentials, connections=connections) as ends:
                ends.watch(*secret_targets(20))
                ends.wait_until_open(20)
                assert lists.most == server.connections_accepted == 1
            server.wait_until(lambda: server.open_streams == 1)
            assert isinstance(stays.probe.next(), ObjectsAre)
            feed.send(event_line("ADDED", secret("web", "11")))
            stays.next_change()
            assert stays.described().reconnects == {}
        connections.close()
