"""The manifest URL over real sockets: breaking requests off, and the whole source over a socket."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial

import pytest

from kernel import ChildSpec, SupervisorSpec
from messages.sources import (
    Rescan,
    SourceListed,
)
from messages.units import Seconds
from sources.http.asking import FetchError
from sources.http.fetch import HttpFetcher
from sources.http.source import HTTP_SOURCE, HttpMemory, HttpSource
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import live_stage
from tests.support.patience import PATIENCE
from tests.support.sources.http_source_stage import http_rules, list_body, pod_body, pod_item
from tests.support.sources.http_wire import (
    OK,
)
from tests.support.sources.questions import described
from tests.support.wire.http1_server import Http1Server, reply


@pytest.mark.parametrize("says", ["nothing", "a head", "bytes for ever"])
def test_a_request_is_broken_off_at_once_wherever_it_is(server: Http1Server, says: str) -> None:
    head = b"" if says == "nothing" else f"{OK}\r\n".encode()
    chunk = b"x" if says == "bytes for ever" else b""
    server.routes["/"] = server.trickle(head, chunk)
    fetcher = HttpFetcher(server.url(), {}, None)
    ended: Probe[str] = Probe()

    def fetch() -> None:
        with pytest.raises(FetchError) as caught:
            fetcher.fetch(None)
        ended.tell(caught.value.sentence)

    thread = threading.Thread(target=fetch)
    thread.start()
    assert server.asked.wait(PATIENCE)
    fetcher.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert ended.next() == "broken off"


def test_what_was_closed_asks_nobody_and_closing_twice_is_closing_once(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x")
    fetcher = HttpFetcher(server.url(), {}, None)
    fetcher.fetch(None)
    fetcher.close()
    fetcher.close()
    with pytest.raises(FetchError, match="broken off"):
        fetcher.fetch(None)
    assert len(server.seen) == 1


def helpers_left() -> list[str]:
    """Return the names of helper threads that do not end by themselves."""
    helpers = [thread for thread in threading.enumerate() if "http-fetch" in thread.name]
    for thread in helpers:
        thread.join(PATIENCE)
    return [thread.name for thread in helpers if thread.is_alive()]


def test_the_source_serves_what_the_server_has_and_keeps_it_through_its_troubles(
    server: Http1Server,
) -> None:
    told: Probe[SourceListed] = Probe()
    memory = HttpMemory()
    rules = replace(http_rules(server.url("/pods")), check_frequency=Seconds(0.02))
    server.routes["/pods"] = reply(pod_body("web"), 'ETag: "1"')
    child = ChildSpec(key=HTTP_SOURCE, factory=lambda: HttpSource(rules, told, memory, HttpFetcher))
    with live_stage(SupervisorSpec(name="root", children=(child,))) as play:
        assert [pod.name for pod in told.next().pods] == ["web-node1"]
        server.routes["/pods"] = reply(status="500 Oh")
        server.asked.clear()
        assert server.asked.wait(PATIENCE)
        play.port(HTTP_SOURCE).tell(Rescan())
        server.routes["/pods"] = reply(list_body(pod_item("web"), pod_item("db")), 'ETag: "2"')
        assert [pod.name for pod in told.next().pods] == ["db-node1", "web-node1"]
        assert described(play, HTTP_SOURCE).ready
        assert {tuple(seen.values("if-none-match")) for seen in server.seen} >= {(), ('"1"',)}


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n\r\nkind: Pod"])
def test_the_source_stops_at_once_in_the_middle_of_a_request(
    server: Http1Server, head: bytes
) -> None:
    server.routes["/"] = server.trickle(head, b"")
    told: Probe[SourceListed] = Probe()
    patient = partial(HttpFetcher, deadline=Seconds(10 * PATIENCE))
    child = ChildSpec(
        key=HTTP_SOURCE,
        factory=lambda: HttpSource(http_rules(server.url()), told, HttpMemory(), patient),
    )
    with live_stage(SupervisorSpec(name="root", children=(child,))) as play:
        assert server.asked.wait(PATIENCE)
        assert not described(play, HTTP_SOURCE).ready
        play.system.stop()
        assert play.system.wait(Seconds(PATIENCE)) == 0
    assert helpers_left() == []
