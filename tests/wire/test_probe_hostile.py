"""Targets of probes that do anything but answer: a failure with its reason, and bounded memory."""

from __future__ import annotations

import socket
import threading
import tracemalloc
from collections.abc import Iterator

import pytest

from manifests.handlers import HttpGetAction, TcpSocketAction
from messages.probing import ProbeOutcome, ProbeResult
from tests.support.patience import PATIENCE
from tests.support.probes.probe_stage import LOOPBACK, ProbeStage, probe_stage, spec
from tests.support.probes.targets import (
    Behave,
    answering,
    flooding,
    raw_target,
    resetting,
    silent,
)
from tests.support.wire.http1_server import http1_server, redirect, reply

SUCCESS, FAILURE, WARNING = ProbeResult.SUCCESS, ProbeResult.FAILURE, ProbeResult.WARNING
OK = b"HTTP/1.1 200 OK\r\n"
MEBIBYTE = 2**20


@pytest.fixture
def stage() -> Iterator[ProbeStage]:
    with probe_stage() as stage:
        yield stage


def page(port: int, path: str = "/", *, is_https: bool = False) -> HttpGetAction:
    return HttpGetAction(is_https=is_https, host="", port=port, path=path)


@pytest.mark.parametrize(
    ("behave", "why"),
    [
        (answering(b""), "EOF"),
        (answering(b"HTTP/1.1 2"), "unexpected EOF"),
        (answering(b"SSH-2.0-OpenSSH_9.6\r\n"), "malformed HTTP response 'SSH-2.0-OpenSSH_9.6'"),
        (answering(b"HTTP/1.1 OK\r\n\r\n"), "malformed HTTP response 'HTTP/1.1 OK'"),
        (answering(b"\0\0\0\4\0\0\0\0\0"), "malformed HTTP response "),
        (answering(OK + b"Content-Length: 20\r\n\r\nshort"), "unexpected EOF"),
        (answering(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"), "unexpected EOF"),
        (
            answering(OK + b"Transfer-Encoding: chunked\r\n\r\nlong\r\n"),
            "malformed chunked encoding",
        ),
        (
            flooding(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1" * 512),
            "malformed chunked encoding",
        ),
        (flooding(OK, b"X-More: and more\r\n" * 50), "the headers are longer than 65536 bytes"),
        (
            flooding(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
            "the headers are longer than 65536 bytes",
        ),
        (resetting, "read: connection reset by peer"),
    ],
)
def test_what_is_no_answer_is_a_failure_with_its_reason(
    stage: ProbeStage, behave: Behave, why: str
) -> None:
    with raw_target(behave) as target:
        outcome = stage.outcome_of(spec(page(target.port)))
        assert outcome.result is FAILURE
        assert outcome.text.startswith(f'Get "http://127.0.0.1:{target.port}/": {why}')


@pytest.mark.parametrize(
    "behave",
    [
        answering(b"HTTP/1.0 200 OK\r\n\r\nwithout a length"),
        answering(b"HTTP/1.1 200\nServer: old\n\n"),
        answering(b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nok"),
        answering(OK + b"Content-Length: 2\r\n\r\nok", hold=True),
        answering(OK + b"Transfer-Encoding: chunked\r\n\r\n2;x=1\r\nok\r\n0\r\n\r\n", hold=True),
        answering(b"HTTP/1.1 204 No Content\r\n\r\n", hold=True),
        flooding(OK + b"\r\n", b"and more " * 100),
        flooding(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\nagain\r\n" * 100),
        flooding(OK + b"Content-Length: 999999999999\r\n\r\n", b"and more " * 100),
    ],
)
def test_what_is_enough_of_an_answer_is_a_success(stage: ProbeStage, behave: Behave) -> None:
    with raw_target(behave) as target:
        assert stage.outcome_of(spec(page(target.port))) == ProbeOutcome(SUCCESS, "HTTP 200") or (
            stage.memory.watched.popitem()[1].answer.last.text == "HTTP 204"  # type: ignore[union-attr]
        )


def test_an_answer_without_end_takes_little_memory(stage: ProbeStage) -> None:
    with raw_target(flooding(b"HTTP/1.1 500 No\r\n\r\n", b"and more " * 10_000)) as target:
        tracemalloc.start()
        try:
            outcome = stage.outcome_of(spec(page(target.port)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert target.left.wait(PATIENCE)  # nobody reads on
    assert len(outcome.text) < 1_200
    assert peak < 2 * MEBIBYTE


def test_a_target_that_never_answers_is_given_up_at_its_deadline(stage: ProbeStage) -> None:
    with raw_target(silent) as target:
        its_key = stage.watch(spec(page(target.port)))
        stage.until(lambda: target.accepted)
        stage.advance(0.98)
        assert stage.known(its_key).answer is None
        outcome = stage.outcome_after(its_key, 0.03)
        assert target.left.wait(PATIENCE)
        url = f"http://127.0.0.1:{target.port}/"
    text = "no complete answer within 1s (Client.Timeout exceeded while awaiting headers)"
    assert outcome == ProbeOutcome(FAILURE, f'Get "{url}": {text}')


def test_an_answer_that_is_there_in_time_counts_however_late_it_is_looked_at(
    stage: ProbeStage,
) -> None:
    asked, released = threading.Event(), threading.Event()

    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        asked.set()
        assert released.wait(PATIENCE)
        connection.sendall(OK + b"Content-Length: 0\r\n\r\n")

    with raw_target(behave) as target:
        its_key = stage.watch(spec(page(target.port)))
        stage.until(asked.is_set)
        released.set()
        assert target.left.wait(PATIENCE)
        # The answer has been sent, and the thread takes its next turn at the deadline.
        stage.advance(1.01)
        assert stage.outcome(its_key).result is SUCCESS


def test_a_body_that_never_ends_is_given_up_at_its_deadline(stage: ProbeStage) -> None:
    with raw_target(answering(OK + b"Content-Length: 20\r\n\r\nshort", hold=True)) as target:
        its_key = stage.watch(spec(page(target.port)))
        stage.until(lambda: target.accepted)
        for _ in range(3):
            stage.engine.turn(0.05)
        outcome = stage.outcome_after(its_key, 1.01)
    assert "while reading body" in outcome.text


def test_a_target_that_takes_no_connections_is_given_up(stage: ProbeStage) -> None:
    # The queue of the listener is full, so the next connection is not even refused.
    with socket.create_server((LOOPBACK, 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection((LOOPBACK, port)):
            its_key = stage.watch(spec(TcpSocketAction(host="", port=port)))
            outcome = stage.outcome_after(its_key, 1.01)
    assert outcome == ProbeOutcome(FAILURE, f"dial tcp 127.0.0.1:{port}: i/o timeout")


def test_a_target_that_breaks_off_at_once_has_taken_the_connection(stage: ProbeStage) -> None:
    with raw_target(lambda _connection: None) as target:
        assert stage.outcome_of(spec(TcpSocketAction(host="", port=target.port))).result is SUCCESS


def test_redirects_on_the_same_host_are_followed(stage: ProbeStage) -> None:
    with http1_server() as other, http1_server() as server:
        server.routes["/"] = redirect("/live?full=1")
        server.routes["/live"] = redirect(other.url("/healthz"))
        other.routes["/healthz"] = reply(b"ok")
        outcome = stage.outcome_of(spec(page(server.port)))
    assert outcome == ProbeOutcome(SUCCESS, "HTTP 200")
    assert [each.target for each in server.seen] == ["/", "/live?full=1"]


def test_a_redirect_to_another_host_is_a_success_with_a_warning(stage: ProbeStage) -> None:
    with http1_server() as server:
        server.routes["/"] = redirect("http://example.org/")
        outcome = stage.outcome_of(spec(page(server.port)))
    assert outcome == ProbeOutcome(WARNING, "Probe terminated redirects, Response body: ")


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("ftp://127.0.0.1/", 'unsupported protocol scheme "ftp"'),
        ("http://127.0.0.1:99999/", "failed to parse Location header"),
        ("http://[127.0.0.1/", "failed to parse Location header"),
    ],
)
def test_a_redirect_to_nowhere_is_a_failure(stage: ProbeStage, location: str, why: str) -> None:
    with http1_server() as server:
        server.routes["/"] = redirect(location)
        outcome = stage.outcome_of(spec(page(server.port)))
    assert outcome.result is FAILURE
    assert outcome.text.endswith(why)


def test_a_loop_of_redirects_ends_after_ten(stage: ProbeStage) -> None:
    with http1_server() as server:
        server.routes["/"] = redirect("/")
        outcome = stage.outcome_of(spec(page(server.port)))
    assert outcome.result is FAILURE
    assert outcome.text.endswith("stopped after 10 redirects")
    assert len(server.seen) == 10


def test_a_hostile_target_does_no_harm_to_its_neighbours(stage: ProbeStage) -> None:
    with (
        raw_target(silent) as hanging,
        raw_target(flooding(OK, b"X-More: and more\r\n" * 500)) as flood,
        http1_server() as server,
    ):
        server.routes["/"] = reply(b"ok")
        stage.watch(spec(page(hanging.port)), container="hanging")
        stage.watch(spec(page(flood.port)), container="flood")
        its_key = stage.watch(spec(page(server.port)), container="web")
        stage.outcome(its_key)
        for _ in range(5):
            stage.outcome_after(its_key, 10)
        assert stage.known(its_key).figures.successes == 6
