"""Probes over real sockets: what is sent, and what comes of each answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from actors.probes.loop_messages import WatchProbe
from manifests.handlers import HttpGetAction, TcpSocketAction
from messages.probing import ProbeKind, ProbeOutcome, ProbeResult
from tests.support.patience import PATIENCE
from tests.support.probes.probe_stage import LOOPBACK, ProbeStage, key, probe_stage, spec, target
from tests.support.probes.targets import raw_target
from tests.support.wire.http1_server import Http1Server, http1_server, reply
from tests.support.wire.ports import free_ports

AT_ONCE = target()
SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE


@pytest.fixture
def stage() -> Iterator[ProbeStage]:
    with probe_stage() as stage:
        yield stage


@pytest.fixture
def server() -> Iterator[Http1Server]:
    with http1_server() as server:
        yield server


def page(server: Http1Server, path: str = "/", **fields: object) -> HttpGetAction:
    given: dict[str, object] = {
        "is_https": server.tls is not None,
        "host": "",
        "port": server.port,
        "path": path,
        **fields,
    }
    return HttpGetAction(**given)  # type: ignore[arg-type]  # as the test says


def test_a_page_that_answers_is_a_success(stage: ProbeStage, server: Http1Server) -> None:
    server.routes["/healthz"] = reply(b"ok")
    assert stage.outcome_of(spec(page(server, "/healthz"))) == ProbeOutcome(SUCCESS, "HTTP 200")


def test_it_is_asked_for_as_a_kubelet_asks(stage: ProbeStage, server: Http1Server) -> None:
    server.routes["/healthz"] = reply(b"ok")
    handler = page(server, "healthz?full=1#top", headers=(("X-Of-The-Pod", "1"),))
    stage.outcome_of(spec(handler))
    (seen,) = server.seen
    assert seen.target == "/healthz?full=1"
    assert dict(seen.headers) == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "kube-probe/1.34",
        "accept": "*/*",
        "x-of-the-pod": "1",
        "connection": "close",
    }


def test_a_bad_status_is_a_failure_with_the_answer(stage: ProbeStage, server: Http1Server) -> None:
    server.routes["/"] = reply(b"the database\nis away\x00", status="503 Service Unavailable")
    text = "HTTP probe failed with statuscode: 503: the database is away"
    assert stage.outcome_of(spec(page(server))) == ProbeOutcome(FAILURE, text)


def test_a_redirect_without_a_place_is_a_success_with_a_warning(
    stage: ProbeStage, server: Http1Server
) -> None:
    server.routes["/"] = reply(b"see there", status="302 Found")
    text = "Probe terminated redirects, Response body: see there"
    assert stage.outcome_of(spec(page(server))) == ProbeOutcome(ProbeResult.WARNING, text)


def test_a_request_of_megabytes_is_sent_in_pieces(stage: ProbeStage) -> None:
    begun = threading.Event()

    def behave(connection: socket.socket) -> None:
        assert begun.wait(PATIENCE)
        read = 0
        while read < 5_000_000:
            read += len(connection.recv(65_536))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with raw_target(behave) as target:
        headers = (("X-Large", "x" * 5_000_000),)
        handler = HttpGetAction(
            is_https=False, host="", port=target.port, path="/", headers=headers
        )
        its_key = stage.watch(spec(handler))
        for _ in range(3):
            stage.engine.turn(0.05)
        begun.set()
        assert stage.outcome(its_key) == ProbeOutcome(SUCCESS, "HTTP 200")


@pytest.mark.parametrize(("others", "is_broken_off"), [(0, False), (600, True)])
def test_connections_to_a_destination_that_is_asked_often_leave_no_port_in_use(
    stage: ProbeStage, others: int, *, is_broken_off: bool
) -> None:
    ended: list[bool] = []

    def behave(connection: socket.socket) -> None:
        try:
            ended.append(bool(connection.recv(1)))
        except ConnectionResetError:
            ended.append(True)

    with raw_target(behave) as target:
        handler = TcpSocketAction(host="", port=target.port)
        for each in range(others):
            rest = spec(handler, initial_delay=1_000.0)
            stage.engine.call(WatchProbe(key(container=f"c{each}"), rest, AT_ONCE, None))
        stage.outcome_of(spec(handler))
        assert target.left.wait(PATIENCE)
    assert ended == [is_broken_off]


def test_a_port_that_nobody_listens_on_is_a_failure(stage: ProbeStage) -> None:
    port = free_ports(1)[0]
    outcome = stage.outcome_of(spec(HttpGetAction(is_https=False, host="", port=port, path="/")))
    where = f"127.0.0.1:{port}"
    text = f'Get "http://{where}/": dial tcp {where}: connect: connection refused'
    assert outcome == ProbeOutcome(FAILURE, text)


def test_a_connection_that_is_accepted_is_a_success(stage: ProbeStage) -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        handler = TcpSocketAction(host="", port=listener.getsockname()[1])
        assert stage.outcome_of(spec(handler)) == ProbeOutcome(SUCCESS)


def test_a_connection_that_is_refused_is_a_failure(stage: ProbeStage) -> None:
    port = free_ports(1)[0]
    text = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    outcome = stage.outcome_of(spec(TcpSocketAction(host="", port=port)))
    assert outcome == ProbeOutcome(FAILURE, text)


def test_only_what_changes_is_told(stage: ProbeStage) -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        handler = TcpSocketAction(host="", port=listener.getsockname()[1])
        watched = stage.watch(spec(handler, ProbeKind.READINESS))
        stage.outcome(watched)
        stage.outcome_after(watched, 10)
    assert [(each.result, each.is_change) for each in stage.news()] == [(SUCCESS, True)]
    for _ in range(3):
        stage.outcome_after(watched, 10)
    told = [(each.result, each.is_change, each.in_a_row) for each in stage.news()]
    # The first failure is said for people, the third is the one that counts.
    assert told == [(SUCCESS, False, 1), (FAILURE, True, 3)]
