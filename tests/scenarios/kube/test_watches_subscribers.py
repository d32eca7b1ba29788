"""Who is told what: several subscribers of one target, their restarts, and those of the keeper."""

from __future__ import annotations

import pytest
from typing_extensions import override

from kernel import Port
from kube.streams.actor import WATCHES
from messages.units import Seconds
from messages.watches import ObjectsAre, WatchEvent, WatchFact, WatchFailed, WatchRecovered
from tests.support.agent.process import eventually
from tests.support.kernel.probe import Probe
from tests.support.kube.watch_stage import (
    DB,
    EMPTY,
    WEB,
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


def test_a_second_subscriber_hears_a_list_before_any_change() -> None:
    feed = Feed()
    with watched_server(Script([EMPTY], [feed])) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        server.wait_until(lambda: server.begun_streams == 1)
        feed.send(event_line("ADDED", secret("web", "11")))
        watches.next_change()

        # Another one comes: all is listed anew, for both of them.
        other: Probe[WatchFact] = Probe()
        watches.watch(WEB, probe=other)
        assert isinstance(other.next(), ObjectsAre)
        assert watches.next_list().objects == ()

        # One stream serves both.
        server.wait_until(lambda: server.begun_streams == 1 and len(server.requests) == 4)
        feed.send(event_line("MODIFIED", secret("web", "12")))
        change = watches.next_change()
        assert other.next() == change
        assert server.open_streams == 1


def test_a_subscriber_that_asks_again_is_told_a_list_again_and_each_fact_once() -> None:
    feed = Feed()
    script = Script([EMPTY, listing(secret_list("20", secret("web", "15")))], [feed])
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        assert watches.next_list().resource_version == "10"
        server.wait_until(lambda: server.begun_streams == 1)
        # It was restarted, and knows nothing any more.
        watches.watch(WEB)
        assert watches.next_list().objects == (secret("web", "15"),)
        server.wait_until(lambda: server.begun_streams == 1 and len(server.requests) == 4)
        assert watches.described().reconnects == {"asked": 1}
        feed.send(event_line("MODIFIED", secret("web", "21")))
        watches.next_change()
        watches.described()  # a fence: the loop is done with all that came before
        watches.probe.expect_silence()


def test_a_burst_of_repeats_costs_few_requests() -> None:
    rules = quick_rules(request_window=Seconds(60.0))
    with watched_server(Script([EMPTY], [stream()]), rules=rules) as (server, watches):
        watches.watch(*[WEB] * 50)
        watches.next_list()
        watches.wait_until_open(1)
        assert len(server.requests) <= 10


def test_nothing_more_is_told_after_unwatching() -> None:
    feed = Feed()
    with watched_server(Script([EMPTY], [feed])) as (server, watches):
        other: Probe[WatchFact] = Probe()
        watches.watch(WEB)
        watches.watch(WEB, probe=other)
        other.next()
        watches.wait_until_open(1)
        watches.unwatch(WEB, WEB, DB)
        assert watches.described().streams == 1
        watches.probe.drain()
        server.wait_until(lambda: server.begun_streams == 1)
        feed.send(event_line("ADDED", secret("web", "11")))
        assert isinstance(other.next(), WatchEvent)
        watches.probe.expect_silence()


def test_who_joins_a_watch_that_fails_is_told_so() -> None:
    rules = quick_rules(first_backoff=Seconds(60.0), longest_backoff=Seconds(60.0))
    with watched_server(Script([refuse(500)], [stream()]), rules=rules) as (server, watches):
        watches.watch(WEB)
        failure = watches.next_failure()
        other: Probe[WatchFact] = Probe()
        watches.watch(WEB, probe=other)
        assert other.next() == failure
        # And the server is not asked any sooner.
        assert watches.described().watches[0].state == "waiting"
        assert len(server.requests) == 1


def test_who_asks_again_after_a_403_does_not_wait_for_the_next_attempt() -> None:
    rules = quick_rules(first_forbidden_backoff=Seconds(60.0), longest_backoff=Seconds(60.0))
    with watched_server(Script([refuse(403), EMPTY], [stream()]), rules=rules) as (server, watches):
        watches.watch(WEB, mark=1)
        failure = watches.next_failure()
        # Another pod references it, so that it may be allowed now.
        watches.watch(WEB, mark=2)
        assert watches.probe.next() == failure
        assert watches.next_list().mark == 2
        assert watches.probe.next() == WatchRecovered(target=WEB)
        assert len(server.requests) == 3


def test_who_asks_again_after_a_403_has_the_attempts_follow_each_other_quickly_again() -> None:
    rules = quick_rules(first_forbidden_backoff=Seconds(20.0), longest_backoff=Seconds(600.0))
    with watched_server(Script([refuse(403)], [stream()]), rules=rules) as (_server, watches):
        watches.watch(WEB)
        watches.next_failure()
        watches.watch(WEB)
        left = watches.wait_until_waiting(requests=2).next_attempt_in
        assert left is not None
        # 20 s, give or take a fifth, and not twice as long.
        assert left <= 24.0


def test_who_asks_again_and_again_after_a_403_meets_the_bound_on_requests() -> None:
    rules = quick_rules(
        first_forbidden_backoff=Seconds(60.0),
        longest_backoff=Seconds(60.0),
        request_window=Seconds(60.0),
        most_requests=2,
    )
    with watched_server(Script([refuse(403)], [stream()]), rules=rules) as (server, watches):
        watches.watch(WEB)
        watches.next_failure()
        watches.watch(WEB)
        watches.wait_until_waiting(requests=2)
        watches.watch(WEB)
        # It is about to list, and waits for the window to pass.
        watches.wait_until(lambda described: described.watches[0].state == "listing")
        assert len(server.requests) == 2


def test_a_watch_that_waits_for_its_next_attempt_lists_when_it_was_asked_to() -> None:
    script = Script([EMPTY, listing(secret_list("20"))], [refuse(500), stream()])
    rules = quick_rules(first_backoff=Seconds(0.3), longest_backoff=Seconds(0.3))
    with watched_server(script, rules=rules) as (_server, watches):
        watches.watch(WEB)
        watches.next_list()
        assert isinstance(watches.probe.next(), WatchFailed)
        watches.watch(WEB)
        watches.next_failure()
        assert watches.next_list().resource_version == "20"


def test_a_keeper_that_crashes_lists_everything_anew_in_its_next_life() -> None:
    script = Script([EMPTY], [stream(event_line("ADDED", secret("web", "11"))), stream()])
    with watched_server(script) as (server, watches):
        grenade = Grenade()
        watches.watch(WEB)
        watches.next_list()
        watches.next_change()
        watches.watch(DB, probe=grenade)
        # It goes off on the loop's thread, which ends; so does the actor, and both come back.
        assert watches.next_list_of_next_life().target == WEB
        told = [type(grenade.next()) for _ in range(3)]
        assert told == [WatchFailed, WatchFailed, ObjectsAre]
        watches.wait_until_open(2)
        crashed = watches.stage.describe()[WATCHES.path]
        assert crashed.restarts == 1
        assert "the pin is out" in str(crashed.last_error)
        # The streams of the earlier life are gone at the server.
        server.wait_until(lambda: server.open_streams == 2 and server.open_connections == 1)


def test_what_was_let_go_while_the_keeper_ended_is_no_trouble_of_its_next_life() -> None:
    script = Script([refuse(403), EMPTY], [stream()])
    with watched_server(script) as (_server, watches):
        watches.watch(WEB)
        watches.next_failure()
        last = LastWords(watches)
        watches.watch(DB, probe=last)
        watches.wait_until_open(1)
        assert watches.memory.failures.of(WEB) is None


def test_a_bug_in_answering_a_message_is_a_crash_too() -> None:
    script = Script([refuse(403), refuse(403), EMPTY], [stream()])
    with watched_server(script) as (_server, watches):
        watches.watch(WEB)
        watches.next_failure()
        # The newcomer is told at once that the target is not followed, and its port raises.
        grenade = Grenade()
        watches.watch(WEB, probe=grenade)
        grenade.next()
        watches.wait_until_open(1)
        assert watches.stage.describe()[WATCHES.path].restarts == 1


def test_counters_outlive_a_crash() -> None:
    with watched_server(Script([EMPTY], [stream()])) as (server, watches):
        grenade = Grenade()
        watches.watch(DB, probe=grenade)
        grenade.next()
        watches.wait_until_open(1)
        host = server.url.removeprefix("https://")
        assert watches.described().requests == {("200", host, "GET"): 3}


def test_a_list_has_the_mark_that_it_was_asked_for_with() -> None:
    with watched_server(Script([EMPTY], [stream()])) as (_server, watches):
        watches.watch(WEB, mark=3)
        assert watches.next_list().mark == 3
        watches.wait_until_open(1)
        watches.watch(WEB, mark=4)
        assert watches.next_list().mark == 4
        # A lower one lists anew too, but the highest that was heard stays.
        watches.wait_until_open(1)
        watches.watch(WEB, mark=1)
        assert watches.next_list().mark == 4


def test_a_list_that_is_under_way_serves_all_who_ask_for_no_later_one() -> None:
    held = Held(EMPTY)
    with watched_server(Script([held, EMPTY], [stream()])) as (server, watches):
        other: Probe[WatchFact] = Probe()
        watches.watch(WEB, mark=3)
        server.wait_until(lambda: len(server.requests) == 1)
        watches.watch(WEB, mark=3)
        watches.watch(WEB, mark=2, probe=other)
        watches.described()  # a fence: they have been heard
        server.call(held.released.set)
        assert watches.next_list().mark == 3
        assert other.next() == ObjectsAre(target=WEB, objects=(), resource_version="10", mark=3)
        watches.wait_until_open(1)
        assert len(server.requests) == 2
        assert watches.described().reconnects == {}


def test_a_list_that_is_under_way_is_too_early_for_a_higher_mark() -> None:
    held = Held(listing(secret_list("9")))
    with watched_server(Script([held, EMPTY], [stream()])) as (server, watches):
        watches.watch(WEB, mark=1)
        server.wait_until(lambda: len(server.requests) == 1)
        watches.watch(WEB, mark=2)
        found = watches.next_list()
        assert (found.mark, found.resource_version) == (2, "10")
        # What the first one finds is nobody's business any more.
        server.call(held.released.set)
        watches.wait_until_open(1)
        watches.probe.expect_silence()


def test_a_list_that_is_not_sent_yet_takes_the_mark_that_comes_meanwhile() -> None:
    held = Held(EMPTY)
    rules = quick_rules(most_pending_requests=1)
    with watched_server(Script([held, EMPTY], [stream()]), rules=rules) as (server, watches):
        other: Probe[WatchFact] = Probe()
        watches.watch(DB, probe=other)
        server.wait_until(lambda: len(server.requests) == 1)
        # It waits for its turn, and does not lose it when somebody else comes.
        watches.watch(WEB, mark=1)
        watches.wait_until(lambda described: described.watches[1].state == "listing")
        watches.watch(WEB, mark=2)
        watches.described()  # a fence: they have been heard
        server.call(held.released.set)
        assert watches.next_list().mark == 2
        watches.wait_until_open(2)
        assert len(server.requests) == 4
        assert watches.described().reconnects == {}


def test_marks_outlive_a_crash() -> None:
    with watched_server(Script([EMPTY], [stream()])) as (_server, watches):
        grenade = Grenade()
        watches.watch(WEB, mark=5)
        watches.next_list()
        watches.watch(DB, probe=grenade, mark=6)
        assert watches.next_list_of_next_life().mark == 5
        _, _, told = (grenade.next() for _ in range(3))
        assert isinstance(told, ObjectsAre)
        assert told.mark == 6


@pytest.mark.parametrize("streams", [0, 3])
def test_a_keeper_stops_in_order(streams: int) -> None:
    with Http2Server(Script([EMPTY], [stream()])) as server:
        with watch_stage(Tokens(server)) as watches:
            watches.watch(*(secret_target(f"s{number}") for number in range(streams)))
            watches.wait_until_open(streams)
            watches.stage.system.stop()
            assert watches.stage.system.wait(Seconds(PATIENCE)) == 0
        server.wait_until(lambda: server.open_connections == 0)


def test_half_a_list_is_not_told_after_unwatching() -> None:
    async def half(exchange: Exchange) -> None:
        await exchange.start(200)
        await exchange.send(b'{"kind":"SecretList"')
        await exchange.closed()

    with watched_server(half) as (server, watches):
        watches.watch(WEB)
        server.wait_until(lambda: server.begun_streams == 1)
        watches.unwatch(WEB)
        server.wait_until(lambda: server.open_streams == 0)
        watches.probe.expect_silence()


class Grenade(Probe[WatchFact], Port[WatchFact]):
    """A subscriber whose port raises the first time: a bug on the loop's thread."""

    def __init__(self) -> None:
        super().__init__()
        self._pin = True

    @override
    def tell(self, message: WatchFact, /) -> None:
        if self._pin:
            self._pin = False
            raise RuntimeError("the pin is out")
        super().tell(message)


class LastWords(Grenade):
    """The same; when it hears that the keeper ends, another target is let go."""

    def __init__(self, watches: WatchStage) -> None:
        super().__init__()
        self._watches = watches

    @override
    def tell(self, message: WatchFact, /) -> None:
        if isinstance(message, WatchFailed):
            self._watches.unwatch(WEB)
            eventually(lambda: WEB not in self._watches.memory.subscribers)
        super().tell(message)
