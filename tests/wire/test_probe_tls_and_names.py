"""Probes over TLS, and of hosts that are names."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator

import pytest
import trustme

from actors.probes.names import MOST_NAMES, HostNames, look_up_lanes
from manifests.handlers import HttpGetAction, TcpSocketAction
from messages.probing import ProbeOutcome, ProbeResult
from messages.units import Seconds
from tests.support.patience import PATIENCE
from tests.support.probes.probe_stage import ProbeStage, probe_stage, spec
from tests.support.probes.targets import answering, raw_target, resetting, silent
from tests.support.wire.http1_server import http1_server, redirect, reply

SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE


@pytest.fixture(scope="module")
def tls() -> ssl.SSLContext:
    """The context of a server with a certificate for somebody else, by an authority nobody knows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("somebody.else.example").configure_cert(context)
    return context


@pytest.fixture
def stage() -> Iterator[ProbeStage]:
    with probe_stage() as stage:
        yield stage


def page(port: int, host: str = "", *, is_https: bool = True) -> HttpGetAction:
    return HttpGetAction(is_https=is_https, host=host, port=port, path="/")


def test_any_certificate_will_do(stage: ProbeStage, tls: ssl.SSLContext) -> None:
    with http1_server(tls) as server:
        server.routes["/"] = reply(b"ok")
        outcome = stage.outcome_of(spec(page(server.port)))
    assert outcome == ProbeOutcome(SUCCESS, "HTTP 200")


def test_a_large_answer_over_tls_is_read_as_any(stage: ProbeStage, tls: ssl.SSLContext) -> None:
    with http1_server(tls) as server:
        server.routes["/"] = reply(b"x" * 100_000, status="500 No")
        outcome = stage.outcome_of(spec(page(server.port)))
    assert outcome.text.startswith("HTTP probe failed with statuscode: 500: xxx")


def test_a_redirect_may_lead_to_tls(stage: ProbeStage, tls: ssl.SSLContext) -> None:
    with http1_server(tls) as server, http1_server() as plain:
        plain.routes["/"] = redirect(server.url("/"))
        server.routes["/"] = reply(b"ok")
        outcome = stage.outcome_of(spec(page(plain.port, is_https=False)))
    assert outcome == ProbeOutcome(SUCCESS, "HTTP 200")


def test_a_server_without_tls_is_a_failure(stage: ProbeStage) -> None:
    with raw_target(answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as target:
        outcome = stage.outcome_of(spec(page(target.port)))
    assert outcome.result is FAILURE
    assert outcome.text.endswith("http: server gave HTTP response to HTTPS client")


def test_a_server_with_tls_that_nobody_speaks_any_more_is_a_failure(
    stage: ProbeStage, tls: ssl.SSLContext
) -> None:
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        tls.maximum_version = ssl.TLSVersion.TLSv1_1
    try:
        with http1_server(tls) as server:
            outcome = stage.outcome_of(spec(page(server.port)))
    finally:
        tls.maximum_version = ssl.TLSVersion.MAXIMUM_SUPPORTED
    assert outcome.result is FAILURE
    assert ": tls: " in outcome.text


def test_a_server_that_breaks_off_instead_of_tls_is_a_failure(stage: ProbeStage) -> None:
    with raw_target(resetting) as target:
        outcome = stage.outcome_of(spec(page(target.port)))
    assert outcome.result is FAILURE
    assert "connection reset by peer" in outcome.text


def test_a_server_that_hangs_in_tls_is_given_up(stage: ProbeStage) -> None:
    with raw_target(silent) as target:
        its_key = stage.watch(spec(page(target.port)))
        stage.until(lambda: target.accepted)
        outcome = stage.outcome_after(its_key, 1.01)
    assert "while awaiting headers" in outcome.text


def test_only_some_attempts_over_tls_begin_in_one_tick(stage: ProbeStage) -> None:
    with raw_target(silent) as target:
        keys = [stage.watch(spec(page(target.port)), container=f"c{each}") for each in range(10)]
        begun = []
        for _ in range(3):
            begun.append(sum(stage.known(each).is_asked for each in keys))
            stage.advance(0.01)
    assert begun == [4, 8, 10]
    # Whoever waits for that is late, and says so.
    assert stage.memory.lateness.longest == pytest.approx(0.02)


# --- names ---------------------------------------------------------------------------------------------


def test_a_host_that_is_a_name_is_looked_up_and_named_in_the_request() -> None:
    looked_up: list[str] = []

    def look_up(host: str) -> tuple[str, ...]:
        looked_up.append(host)
        return ("127.0.0.1",)

    with probe_stage(look_up) as stage, http1_server() as server:
        server.routes["/"] = reply(b"ok")
        its_key = stage.watch(spec(page(server.port, "web.example", is_https=False)))
        assert stage.outcome(its_key) == ProbeOutcome(SUCCESS, "HTTP 200")
        assert server.seen[0].values("host") == [f"web.example:{server.port}"]
        # For 5 s what was found is used again.
        stage.outcome_after(its_key, 10)
        stage.watch(spec(TcpSocketAction(host="web.example", port=server.port)), container="other")
    assert looked_up == ["web.example"] * 2


def test_the_next_address_of_a_name_is_tried_when_one_is_refused() -> None:
    with (
        probe_stage(lambda _host: ("127.0.0.2", "127.0.0.1")) as stage,
        http1_server() as server,
    ):
        outcome = stage.outcome_of(spec(TcpSocketAction(host="web.example", port=server.port)))
    assert outcome.result is SUCCESS


def test_a_name_that_does_not_resolve_is_a_failure() -> None:
    def look_up(_host: str) -> tuple[str, ...]:
        raise OSError(-2, "Name or service not known")

    with probe_stage(look_up) as stage:
        outcome = stage.outcome_of(spec(page(80, "nowhere.invalid", is_https=False)))
    text = 'Get "http://nowhere.invalid:80/": dial tcp: lookup nowhere.invalid: no such host'
    assert outcome == ProbeOutcome(FAILURE, text)


def test_the_names_of_this_machine_are_known() -> None:
    with probe_stage() as stage, http1_server() as server:
        outcome = stage.outcome_of(spec(TcpSocketAction(host="localhost", port=server.port)))
    assert outcome.result is SUCCESS


def test_more_names_than_are_remembered_are_looked_up_anew() -> None:
    looked_up: list[str] = []

    def look_up(host: str) -> tuple[str, ...]:
        looked_up.append(host)
        return ()

    landed = threading.Semaphore(0)
    lanes = look_up_lanes("probe")
    names = HostNames(landed.release, lanes, look_up)
    for host in (*(f"h{each}" for each in range(MOST_NAMES)), "one more", "h0"):
        assert names.find(host, Seconds(0.0)) is None
        assert landed.acquire(timeout=PATIENCE)
        assert [found.why for _, found in names.take(Seconds(0.0))] == ["no such host"]
    assert looked_up.count("h0") == 2
    lanes.close()


def test_a_name_server_that_hangs_ends_the_attempt_and_nobody_elses() -> None:
    released, asked = threading.Event(), threading.Event()

    def look_up(host: str) -> tuple[str, ...]:
        if host == "slow.example":
            asked.set()
            assert released.wait(PATIENCE)
        return ("127.0.0.1",)

    with probe_stage(look_up) as stage, http1_server() as server:
        slow = stage.watch(
            spec(TcpSocketAction(host="slow.example", port=server.port)), container="slow"
        )
        assert asked.wait(PATIENCE)
        fast = stage.watch(spec(TcpSocketAction(host="fast.example", port=server.port)))
        assert stage.outcome(fast).result is SUCCESS
        text = f"dial tcp slow.example:{server.port}: i/o timeout"
        assert stage.outcome_after(slow, 1.01) == ProbeOutcome(FAILURE, text)
        released.set()
        assert stage.outcome_after(slow, 10).result is SUCCESS
