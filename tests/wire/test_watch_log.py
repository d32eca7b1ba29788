"""What the log has of watches that fail: a line when it begins, and one when it is over."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, TypeAlias

from kube.streams.actor import WATCHES
from kube.streams.rules import ConnectionRoom
from messages.watches import ObjectsAre, WatchFailed, WatchRecovered
from tests.support.kube.watch_stage import (
    EMPTY,
    WEB,
    Script,
    refuse,
    secret_targets,
    stream,
    watched_server,
)
from tests.support.wire.http2_server import Exchange

Logs: TypeAlias = list[MutableMapping[str, Any]]


class Guarded:
    """Refuses everything until it is told that it may not."""

    def __init__(self) -> None:
        self.lets = False

    async def __call__(self, exchange: Exchange) -> None:
        allowed = stream() if "watch" in exchange.query else EMPTY
        await (allowed if self.lets else refuse(403, "Forbidden"))(exchange)


def test_a_server_that_is_away_is_two_lines_for_forty_watches(logs: Logs) -> None:
    with watched_server(Script([EMPTY], [stream()])) as (server, watches):
        watches.watch(*secret_targets(40))
        watches.wait_until_open(40)
        watches.probe.drain()
        server.stop_listening()
        server.cut_connections()
        sentences = [watches.next_failure().failure.sentence for _ in range(40)]
        server.listen_again()
        assert {type(watches.probe.next()) for _ in range(40)} == {WatchRecovered}
    begun, over = (line for line in logs if "watches" in line["event"])
    assert (begun["log_level"], begun["event"]) == ("warning", "watches fail")
    assert begun["reason"] == sentences[0]
    assert "connection refused" in begun["reason"]
    assert (over["log_level"], over["event"]) == ("info", "watches no longer fail")
    assert (over["reason_was"], over["watches"]) == (begun["reason"], 40)


def test_what_is_forbidden_is_named_with_the_server_and_the_user(logs: Logs) -> None:
    with watched_server(refuse(403, "Forbidden")) as (server, watches):
        watches.watch(*secret_targets(20))
        assert len([watches.next_failure() for _ in range(20)]) == 20
        begun = [line for line in logs if "watches" in line["event"]]
        *named, counted = [line["reason"] for line in begun]
        assert (len(named), begun[-1]["event"]) == (10, "more watches fail, and are only counted")
        assert all(f"at {server.url} as n1-user: forbidden" in each for each in (*named, counted))
        assert len({*named, counted}) == 11
        # Nobody wants them any more, and that is the end of it too.
        watches.unwatch(*secret_targets(20))
        assert watches.described().watches == ()
        over = logs[-11:]
        assert {line["event"] for line in over} == {"failing watches are no longer wanted"}
        assert sorted(line["watches"] for line in over) == [1] * 10 + [10]


def test_a_failure_stands_through_a_crash_of_the_keeper(logs: Logs) -> None:
    guarded = Guarded()
    with watched_server(guarded) as (_server, watches):
        watches.watch(WEB)
        failure = watches.next_failure()
        watches.stage.system.crash(WATCHES.path)
        # Its next life says again what stands, and that it is over when it is.
        assert watches.next_failure() == failure
        assert watches.described().watches[0].error == failure.failure.sentence
        guarded.lets = True
        assert isinstance(watches.probe.next(), ObjectsAre)
        assert watches.probe.next() == WatchRecovered(target=WEB)
    assert [line["event"] for line in logs if "watches" in line["event"]] == [
        "watches fail",
        "watches no longer fail",
    ]


def test_a_list_between_two_failures_is_no_recovery(logs: Logs) -> None:
    forbidden = refuse(403, "Forbidden")
    script = Script([forbidden, EMPTY], [forbidden, forbidden, stream()])
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        told = [watches.probe.next() for _ in range(3)]
        assert [type(fact) for fact in told] == [WatchFailed, ObjectsAre, WatchRecovered]
        assert len(server.requests) == 5
    assert len([line for line in logs if "watches" in line["event"]]) == 2


def test_that_there_are_too_few_descriptors_for_all_connections_is_one_line(logs: Logs) -> None:
    room = ConnectionRoom(connections=4, descriptors_for=lambda connections: connections + 100)
    handler = Script([EMPTY], [stream()])
    with watched_server(handler, room=room, most_streams=100) as (_server, watches):
        first, *more = secret_targets(150)
        watches.watch(first)
        watches.wait_until_open(1)
        assert short_of_descriptors(logs) == []
        watches.watch(*more)
        watches.wait_until_open(150)
        watches.stage.system.crash(WATCHES.path)
        watches.wait_until_open(150)
        watches.watch(WEB)
        watches.wait_until_open(151)
    assert short_of_descriptors(logs) == [
        {
            "event": "few descriptors, so some watches may find no connection",
            "log_level": "warning",
            "watches": 96,
            "connections": 5,
            "room_for": 4,
            "descriptors_needed": 128,
        }
    ]


def short_of_descriptors(logs: Logs) -> Logs:
    return [line for line in logs if "descriptors" in line["event"]]
