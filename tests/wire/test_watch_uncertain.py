"""When a target is uncertain: its stream is lost and not replaced, never confirmed, or its keeper ends."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from typing import Any, TypeAlias

import pytest

from kube.streams.actor import WATCHES
from messages.api import FailureKind
from messages.units import Seconds
from messages.watches import ObjectsAre, WatchEvent, WatchFact, WatchFailed, WatchRecovered
from tests.support.kernel.probe import Probe
from tests.support.kube.watch_stage import (
    DB,
    WEB,
    Answer,
    Held,
    Script,
    WatchStage,
    bookmark,
    event_line,
    listing,
    quick_rules,
    refuse,
    secret,
    secret_list,
    status,
    stream,
    watched_server,
)
from tests.support.wire.http2_server import Exchange, Http2Server

Logs: TypeAlias = list[MutableMapping[str, Any]]

FILLED = listing(secret_list("10", secret("web", "7")))
GONE = event_line("ERROR", status(410, "Expired", message="too old resource version: 10 (11)"))
AT_ONCE = Seconds(0.0)
SOON = quick_rules(confirmed_after=AT_ONCE, uncertain_after=Seconds(0.2))


async def silent(exchange: Exchange) -> None:
    await exchange.closed()


def since(failed: WatchFailed) -> float:
    assert failed.since is not None
    return failed.since


def said_of_watches(logs: Logs) -> list[str]:
    return [line["event"] for line in logs if "watches" in line["event"]]


def watch_and_cut(watches: WatchStage, server: Http2Server) -> None:
    """Have WEB watched and its connection cut; return once that is told and the server is back."""
    watches.watch(WEB)
    watches.next_list()
    watches.wait_until_open(1)
    server.stop_listening()
    server.cut_connections()
    watches.next_failure()
    server.listen_again()


def open_and_confirmed(watches: WatchStage, server: Http2Server) -> None:
    """Have both watched, each by a confirmed stream."""
    watches.watch(WEB, DB)
    watches.next_list()
    watches.next_list()
    watches.wait_until_open(2)
    server.wait_until(lambda: server.begun_streams == 2)


def test_a_cut_after_which_nobody_answers_is_told_with_the_moment_of_the_cut(logs: Logs) -> None:
    script = Script([FILLED], [stream(), silent])
    with watched_server(script, rules=SOON) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        watches.wait_until_open(1)
        before = time.monotonic()
        server.cut_connections()
        failed = watches.next_failure()
        # It is told a little later, and counts from the cut.
        assert before <= since(failed) <= time.monotonic() - 0.2
        assert failed.failure.kind is FailureKind.UNREACHABLE
        assert failed.failure.sentence.endswith(": the connection broke")
        assert watches.described().watches[0].error == failed.failure.sentence
    # No attempt has failed by then.
    assert said_of_watches(logs) == []


@pytest.mark.parametrize(
    ("end", "kind", "words"),
    [
        (
            stream(bookmark("11"), then=Exchange.finish),
            FailureKind.TIMEOUT,
            "no stream is open yet",
        ),
        (stream(bookmark("11"), GONE), FailureKind.GONE, "too old resource version"),
    ],
    ids=["ended", "gone"],
)
def test_whatever_ended_a_stream_that_is_not_replaced_it_is_told(
    end: Answer, kind: FailureKind, words: str
) -> None:
    script = Script([FILLED, silent], [end, silent])
    # Whether or not it was confirmed by then.
    rules = quick_rules(uncertain_after=Seconds(0.2), uncertain_after_list=Seconds(0.2))
    with watched_server(script, rules=rules) as (_server, watches):
        watches.watch(WEB)
        watches.next_list()
        failed = watches.next_failure()
        assert failed.failure.kind is kind
        assert words in failed.failure.sentence
        assert since(failed) <= time.monotonic() - 0.2


def test_a_stream_that_is_replaced_in_time_is_nothing_to_tell() -> None:
    """The other one is not, and shows how late it is."""

    async def only_web(exchange: Exchange) -> None:
        await (silent if "db" in exchange.query["fieldSelector"] else stream())(exchange)

    script = Script([FILLED], [stream(), stream(), only_web])
    rules = quick_rules(confirmed_after=AT_ONCE, uncertain_after=Seconds(0.5))
    with watched_server(script, rules=rules) as (server, watches):
        open_and_confirmed(watches, server)
        server.cut_connections()
        assert watches.next_failure().target == DB
        assert watches.described().streams == 1
        watches.probe.expect_silence()


def test_a_list_whose_stream_hangs_is_current_for_a_while_and_then_uncertain() -> None:
    rules = quick_rules(uncertain_after_list=Seconds(0.2))
    with watched_server(Script([FILLED], [silent]), rules=rules) as (_server, watches):
        before = time.monotonic()
        watches.watch(WEB)
        watches.next_list()
        failed = watches.next_failure()
        assert before <= since(failed) <= time.monotonic() - 0.2
        assert failed.failure.kind is FailureKind.TIMEOUT


def test_a_failure_after_an_uncertain_time_is_told_in_its_own_words(logs: Logs) -> None:
    """Only that is worth a line in the log."""
    held = Held(refuse(503, "ServiceUnavailable"))
    script = Script([FILLED], [stream(), held, stream()])
    with watched_server(script, rules=SOON) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        watches.wait_until_open(1)
        server.cut_connections()
        uncertain = watches.next_failure()
        assert said_of_watches(logs) == []
        server.call(held.released.set)
        failed = watches.next_failure()
        assert failed.failure.status == 503
        assert failed.since == uncertain.since
        assert watches.probe.next() == WatchRecovered(target=WEB)
    assert said_of_watches(logs) == ["watches fail", "watches no longer fail"]


def test_a_stream_that_says_gone_is_no_recovery() -> None:
    """So it is after most restarts of an API server; the list may take long."""
    held = Held(listing(secret_list("20")))
    script = Script([FILLED, held], [stream(), stream(GONE), stream()])
    rules = quick_rules(confirmed_after=Seconds(0.5))
    with watched_server(script, rules=rules) as (server, watches):
        watch_and_cut(watches, server)
        watches.wait_until(lambda described: described.reconnects.get("gone") == 1)
        server.wait_until(lambda: "watch" not in server.requests[-1].query)
        watches.probe.expect_silence()
        server.call(held.released.set)
        assert watches.next_list().objects == ()
        assert watches.probe.next() == WatchRecovered(target=WEB)


def test_what_was_missed_is_told_before_the_recovery() -> None:
    missed = (
        event_line("MODIFIED", secret("web", "11")),
        event_line("MODIFIED", secret("web", "12")),
    )
    rules = quick_rules(confirmed_after=Seconds(0.3))
    script = Script([FILLED], [stream(), stream(*missed)])
    with watched_server(script, rules=rules) as (server, watches):
        watch_and_cut(watches, server)
        told = [type(watches.probe.next()) for _ in range(3)]
        assert told == [WatchEvent, WatchEvent, WatchRecovered]


def test_a_keeper_that_crashes_says_so_and_its_next_life_that_it_is_over(logs: Logs) -> None:
    with watched_server(Script([FILLED], [stream()]), rules=SOON) as (_server, watches):
        watches.watch(WEB)
        watches.next_list()
        watches.wait_until_open(1)
        before = time.monotonic()
        watches.stage.system.crash(WATCHES.path)
        failed = watches.next_failure()
        assert failed.failure.kind is FailureKind.LOST
        assert failed.failure.sentence.endswith(": the keeper of watches ended")
        assert since(failed) >= before
        # Told again by the next life, as to everybody who begins to watch what fails.
        assert watches.next_failure() == failed
        assert watches.next_list().objects == (secret("web", "7"),)
        assert watches.probe.next() == WatchRecovered(target=WEB)
    assert said_of_watches(logs) == []


def test_who_leaves_after_a_cut_is_told_nothing_and_leaves_nothing() -> None:
    script = Script([FILLED], [stream(), stream(), silent])
    with watched_server(script, rules=SOON) as (server, watches):
        open_and_confirmed(watches, server)
        server.cut_connections()
        watches.wait_until(lambda described: described.reconnects.get("unreachable") == 2)
        watches.unwatch(WEB)
        assert watches.next_failure().target == DB
        watches.described()
        watches.probe.expect_silence()
        assert watches.memory.failures.of(WEB) is None


def test_who_unwatches_an_open_stream_leaves_nothing() -> None:
    """The end of the stream comes after that of the watch."""
    rules = quick_rules(confirmed_after=AT_ONCE, uncertain_after=AT_ONCE)
    with watched_server(Script([FILLED], [stream()]), rules=rules) as (server, watches):
        open_and_confirmed(watches, server)
        watches.unwatch(WEB)
        server.wait_until(lambda: server.open_streams == 1)
        watches.described()
        assert watches.memory.failures.of(WEB) is None


def test_a_stream_that_says_nothing_for_too_long_is_followed_by_a_list() -> None:
    """A version that does not exist yet, after a restore of etcd, is watched in silence."""
    rules = quick_rules(silent_after=Seconds(0.2))
    script = Script([FILLED, listing(secret_list("5", secret("web", "4")))], [stream()])
    with watched_server(script, rules=rules) as (server, watches):
        watches.watch(WEB)
        assert watches.next_list().resource_version == "10"
        assert watches.next_list().resource_version == "5"
        assert watches.described().reconnects["silent"] >= 1
        # At the server it is ended too.
        server.wait_until(lambda: server.open_streams <= 1)


def test_a_stream_that_has_said_anything_is_left_alone() -> None:
    async def only_web(exchange: Exchange) -> None:
        is_web = "web" in exchange.query["fieldSelector"]
        await (stream(bookmark("11")) if is_web else stream())(exchange)

    rules = quick_rules(silent_after=Seconds(0.2))
    with watched_server(Script([FILLED], [only_web]), rules=rules) as (_server, watches):
        others: Probe[WatchFact] = Probe()
        watches.watch(WEB)
        watches.next_list()
        watches.wait_until(lambda described: described.watches[0].resource_version == "11")
        watches.watch(DB, probe=others)
        assert [type(others.next()) for _ in range(4)] == [ObjectsAre] * 4
        assert watches.described().watches[0].reconnects == 0


@pytest.mark.parametrize(
    ("trouble", "watched"),
    [
        (stream(event_line("ERROR", status(500, "InternalError"))), 3),
        (refuse(500, "InternalError"), 3),
        (stream(event_line("ERROR", status(400, "BadRequest"))), 1),
        (refuse(422, "Invalid"), 1),
        (refuse(307), 1),
    ],
    ids=["event-500", "500", "event-400", "422", "307"],
)
def test_a_version_that_the_server_cannot_go_on_from_is_given_up(
    trouble: Answer, watched: int
) -> None:
    script = Script([FILLED, listing(secret_list("20"))], [*[trouble] * watched, stream()])
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        watches.next_failure()
        assert watches.next_list().resource_version == "20"
        assert watches.probe.next() == WatchRecovered(target=WEB)
        versions = [each.query.get("resourceVersion") for each in server.requests]
        assert versions == [None, *["10"] * watched, None, "20"]
