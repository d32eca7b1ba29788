"""Connections of watches: how many there are, how they are lost, and how their streams come back."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import trustme
from pyreqwest.client import Client
from typing_extensions import override

from kube.clients import streaming_client
from kube.credentials.access import Access, Credentials
from kube.streams.actor import WATCHES
from messages.api import FailureKind
from messages.units import Seconds
from messages.watches import WatchFact, WatchRecovered
from tests.support.kernel.probe import Probe
from tests.support.kube.calls_wire import GivenCredentials, access_to
from tests.support.kube.watch_stage import (
    EMPTY,
    WEB,
    Feed,
    Script,
    Tokens,
    WatchStage,
    bookmark,
    event_line,
    quick_pings,
    quick_rules,
    secret,
    secret_target,
    secret_targets,
    stream,
    watch_stage,
    watched_server,
)
from tests.support.wire.http2_server import Exchange, Http2Server

NOWHERE = "https://127.0.0.1:1"


def test_more_watches_than_a_connection_takes_are_spread_over_as_few_as_possible() -> None:
    """The 101st stream of a connection would wait in silence: 95 are put on each."""
    with watched_server(Script([EMPTY], [stream()]), most_streams=100) as (server, watches):
        watches.watch(*secret_targets(150))
        watches.wait_until_open(150)
        # One dial for each client, although dozens of requests waited for it.
        assert server.connections_accepted == 2
        assert watches.described().connections == 2


def test_a_server_that_lets_in_fewer_streams_is_given_more_connections() -> None:
    rules = quick_rules(full_after=Seconds(0.3))
    with watched_server(Script([EMPTY], [stream()]), most_streams=20, rules=rules) as (
        _server,
        watches,
    ):
        watches.watch(WEB)
        watches.wait_until_open(1)  # from here on the client knows how many it may open
        watches.watch(*secret_targets(50))
        # Those that wait in silence go elsewhere, where again not all of them may find room.
        watches.wait_until_open(51)


def test_a_server_that_is_slow_is_not_taken_for_a_full_one() -> None:
    async def late(exchange: Exchange) -> None:
        await asyncio.sleep(0.2)
        await EMPTY(exchange)

    rules = quick_rules(full_after=Seconds(0.02))
    with watched_server(Script([EMPTY, EMPTY, late], [stream()]), rules=rules) as (server, watches):
        watches.watch(*secret_targets(2))
        watches.wait_until_open(2)
        watches.watch(WEB)
        watches.wait_until_open(3)
        assert server.connections_accepted == 1


def test_a_slot_that_is_given_back_is_taken_again() -> None:
    rules = quick_rules(streams_per_connection=2)
    with watched_server(Script([EMPTY], [stream()]), rules=rules) as (server, watches):
        watches.watch(*secret_targets(4))
        server.wait_until(lambda: server.begun_streams == 4)
        watches.unwatch(*secret_targets(1))
        server.wait_until(lambda: server.begun_streams == 3)
        watches.watch(WEB)
        server.wait_until(lambda: server.begun_streams == 4)
        assert server.connections_accepted == 2


def test_the_fullest_connection_is_filled_first_so_that_others_can_empty() -> None:
    rules = quick_rules(streams_per_connection=3)
    with watched_server(Script([EMPTY], [stream()]), rules=rules) as (server, watches):
        watches.watch(*secret_targets(6))
        watches.wait_until_open(6)
        # One is left on the first client, two on the second, where the next one goes.
        watches.unwatch(*secret_targets(2), secret_target("s3"))
        watches.watch(WEB)
        watches.wait_until_open(4)
        watches.unwatch(secret_target("s2"))
        server.wait_until(lambda: server.open_connections == 1)


def test_a_connection_that_is_half_open_is_noticed_while_others_go_on() -> None:
    feed = Feed()
    rules = quick_rules(streams_per_connection=1)
    with (
        Http2Server(Script([EMPTY], [feed])) as server,
        watch_stage(Tokens(server), rules, quick_pings) as watches,
    ):
        others: Probe[WatchFact] = Probe()
        watches.watch(WEB)
        watches.next_list()
        server.wait_until(lambda: server.begun_streams == 1)
        watches.watch(secret_target("db"), probe=others)
        others.next()
        server.wait_until(lambda: server.begun_streams == 2)
        server.freeze(0)
        # Nothing says that it is gone; a ping stays without an answer, and the stream is resumed.
        server.wait_until(lambda: server.connections_accepted == 3)
        server.wait_until(lambda: server.begun_streams == 3)
        feed.send(event_line("ADDED", secret("web", "11")))
        assert watches.next_change().object == secret("web", "11")
        # The other one has not missed anything, and was never opened again.
        assert getattr(others.next(), "object", None) == secret("web", "11")
        assert watches.described().reconnects == {"unreachable": 1}


def test_streams_that_are_cut_together_come_back_under_the_cap() -> None:
    waiting = Peak()
    rules = quick_rules(streams_per_connection=50, most_pending_requests=10)
    with watched_server(Script([EMPTY], [waiting]), rules=rules) as (server, watches):
        watches.watch(*secret_targets(150))
        watches.wait_until_open(150)
        dials = server.connections_accepted
        server.cut_connections()
        server.wait_until(lambda: server.begun_streams == 150)
        assert waiting.most <= 10
        # One probe for each client, over which the others return.
        assert dials == 3
        assert server.connections_accepted == 6
        assert watches.described().reconnects["unreachable"] == 150
        assert [type(fact).__name__ for fact in set_of_failures(watches)] == []


def test_a_server_that_is_away_is_tried_by_one_watch_of_each_connection() -> None:
    rules = quick_rules(shortest_probe=Seconds(0.1), longest_probe=Seconds(0.2))
    with watched_server(Script([EMPTY], [stream()]), rules=rules) as (server, watches):
        watches.watch(*secret_targets(40))
        told = {watches.next_list().target for _ in range(40)}
        assert told == set(secret_targets(40))
        watches.wait_until_open(40)
        begun = time.monotonic()
        server.stop_listening()
        server.cut_connections()
        failures = [watches.next_failure().failure for _ in range(40)]
        assert {failure.kind for failure in failures} == {FailureKind.UNREACHABLE}
        assert all("connection refused" in failure.sentence for failure in failures)
        host = server.url.removeprefix("https://")
        assert watches.described().requests["<error>", host, "GET"] <= (
            1 + (time.monotonic() - begun) / 0.1
        )
        server.listen_again()
        recovered = {watches.probe.next() for _ in range(40)}
        assert recovered == {WatchRecovered(target=target) for target in secret_targets(40)}
        # They went on from where they were: nothing was listed again.
        assert len([each for each in server.requests if "watch" not in each.query]) == 40


def test_a_server_that_is_known_by_another_name_is_looked_up_again_once_it_is_away() -> None:
    """With tls-server-name a client is told the address, and asks no name server itself."""
    authority = trustme.CA()
    certificate = authority.issue_cert("kubernetes.example")
    script = Script([EMPTY], [stream()])
    with Http2Server(script, authority=authority, certificate=certificate) as server:
        access = access_to(server, tls_server_name="kubernetes.example")
        moving = Moving("127.0.0.2", "127.0.0.1")
        with watch_stage(GivenCredentials(access), quick_rules(), moving) as watches:
            watches.watch(*secret_targets(20))
            watches.wait_until_open(20)
            # One of them looked for all of them, on the client that all of them share.
            assert watches.described().connections == 1
            assert watches.stage.describe()[WATCHES.path].restarts == 0


def test_who_looks_again_does_not_take_the_answer_from_who_did_before() -> None:
    """A probe that waits for its answer lets the next one try after a while: here, long before it."""
    authority = trustme.CA()
    certificate = authority.issue_cert("kubernetes.example")

    async def late(exchange: Exchange) -> None:
        await asyncio.sleep(0.2)
        await stream()(exchange)

    rules = quick_rules(shortest_probe=Seconds(0.02), longest_probe=Seconds(0.05))
    script = Script([EMPTY], [*[stream()] * 20, late])
    with Http2Server(script, authority=authority, certificate=certificate) as server:
        access = access_to(server, tls_server_name="kubernetes.example")
        with watch_stage(GivenCredentials(access), rules) as watches:
            watches.watch(*secret_targets(20))
            watches.wait_until_open(20)
            server.cut_connections()
            server.wait_until(lambda: server.begun_streams == 20)
            watches.wait_until_open(20)
            assert watches.stage.describe()[WATCHES.path].restarts == 0


class Moving:
    """Makes clients of a server whose name means another address each time, and the last one for good."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = list(addresses)

    def __call__(self, access: Access, user_agent: str) -> Client:
        address = self._addresses.pop(0) if len(self._addresses) > 1 else self._addresses[0]
        port = urlsplit(access.server).port
        return streaming_client(replace(access, server=f"https://{address}:{port}"), user_agent)


class Mended(Credentials):
    """Credentials that lead nowhere until somebody mends them."""

    def __init__(self, good: Access) -> None:
        self._good = good
        self.is_mended = False

    @override
    def access(self) -> Access:
        return self._good if self.is_mended else replace(self._good, server=NOWHERE)

    @override
    def reload(self, refused: Access) -> Access:
        return self.access()


def test_credentials_that_lead_nowhere_are_read_again_long_before_their_time() -> None:
    with Http2Server(Script([EMPTY], [stream()])) as server:
        credentials = Mended(Tokens(server).access())
        with watch_stage(credentials, quick_rules(access_age=Seconds(3600.0))) as watches:
            watches.watch(WEB)
            assert watches.next_failure().failure.kind is FailureKind.UNREACHABLE
            credentials.is_mended = True
            assert watches.next_list().objects == ()


def test_a_connection_that_is_going_away_keeps_its_streams_and_gets_no_more() -> None:
    feed = Feed()
    with watched_server(Script([EMPTY], [feed])) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        server.wait_until(lambda: server.begun_streams == 1)
        server.goaway()
        feed.send(event_line("ADDED", secret("web", "11")))
        watches.next_change()
        watches.watch(secret_target("db"))
        watches.next_list()
        server.wait_until(lambda: server.begun_streams == 2)
        assert server.open_connections == 2
        feed.send(bookmark("12"))
        assert watches.described().reconnects == {}


def test_a_request_that_meets_a_connection_that_is_going_away_is_sent_once_more() -> None:
    """The server has not looked at it, so that nothing failed."""

    async def going(exchange: Exchange) -> None:
        exchange.connection.goaway(last=0)
        await exchange.closed()

    # No probe would come in time: it is sent again by itself.
    rules = quick_rules(first_probe=Seconds(60.0))
    with watched_server(Script([going, EMPTY], [stream()]), rules=rules) as (server, watches):
        watches.watch(WEB)
        assert watches.next_list().objects == ()
        assert watches.described().reconnects == {}
        assert server.connections_accepted == 2


def test_a_server_that_speaks_no_http_2_is_called_so() -> None:
    with old_server() as access, watch_stage(Fixed(access)) as watches:
        watches.watch(WEB)
        failure = watches.next_failure().failure
        assert failure.kind is FailureKind.UNREACHABLE
        assert "it speaks no HTTP/2" in failure.sentence


def test_a_plain_server_without_tls_works_too() -> None:
    with watched_server(Script([EMPTY], [stream()]), tls=False) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        server.wait_until(lambda: server.begun_streams == 1)


class Peak:
    """Opens streams a little later, and counts how many wait for that."""

    def __init__(self) -> None:
        self.present = 0
        self.most = 0

    async def __call__(self, exchange: Exchange) -> None:
        self.present += 1
        self.most = max(self.most, self.present)
        await asyncio.sleep(0.005)
        self.present -= 1
        await stream()(exchange)


class Fixed(Tokens):
    """Credentials for a server that is not of the usual kind."""

    def __init__(self, access: Access) -> None:
        self._access = access

    @override
    def access(self) -> Access:
        return self._access


def set_of_failures(watches: WatchStage) -> list[WatchFact]:
    return [fact for fact in watches.probe.drain() if type(fact).__name__ == "WatchFailed"]


@contextlib.contextmanager
def old_server() -> Iterator[Access]:
    """Run a server of HTTP/1.1 behind TLS."""
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    class Quiet(BaseHTTPRequestHandler):
        @override
        def log_message(self, *_args: object) -> None:
            pass

        @override
        def finish(self) -> None:
            # Closed with bytes that nobody has read, it would be reset, and its answer might be lost.
            with contextlib.suppress(OSError):
                while self.rfile.read1():
                    pass
            super().finish()

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        url = f"https://127.0.0.1:{server.server_address[1]}"
        try:
            yield Access(server=url, user="n1-user", ca=authority.cert_pem.bytes())
        finally:
            server.shutdown()
            thread.join()
