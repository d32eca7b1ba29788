"""Probes of gRPC over real sockets: a real server, and targets that are none."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
import trustme

from actors.probes.http2_frames import END_HEADERS, END_STREAM, FrameType, framed
from actors.probes.specs import GrpcAction
from messages.probing import ProbeOutcome, ProbeResult
from tests.support.probes.probe_stage import ProbeStage, probe_stage, spec
from tests.support.probes.targets import (
    Behave,
    HealthService,
    answering,
    flooding,
    health_server,
    raw_target,
    resetting,
    silent,
)
from tests.support.wire.ports import free_ports

SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE
SETTINGS = framed(FrameType.SETTINGS, 0, 0)
HEALTH_FAILED = "error: health rpc probe failed: "


@pytest.fixture
def stage() -> Iterator[ProbeStage]:
    with probe_stage() as stage:
        yield stage


def asked(stage: ProbeStage, port: int, service: str = "") -> ProbeOutcome:
    return stage.outcome_of(spec(GrpcAction(port=port, service=service)))


def test_a_service_that_serves_is_a_success(stage: ProbeStage) -> None:
    health = HealthService({"": 1, "db": 1})
    with health_server(health) as port:
        assert asked(stage, port, "db") == ProbeOutcome(SUCCESS, "service healthy")
    assert health.metadata["user-agent"] == "kube-probe/1.34"


def test_a_call_over_tls_takes_any_certificate(stage: ProbeStage) -> None:
    its = trustme.CA().issue_cert("somebody.else.example")
    chain = b"".join(each.bytes() for each in its.cert_chain_pems)
    tls = grpc.ssl_server_credentials([(its.private_key_pem.bytes(), chain)])
    with health_server(HealthService({"db": 1}), tls) as port:
        over_tls = spec(GrpcAction(port=port, service="db", is_tls=True))
        assert stage.outcome_of(over_tls) == ProbeOutcome(SUCCESS, "service healthy")
        plain = stage.watch(spec(GrpcAction(port=port, service="db")), container="plain")
        assert stage.outcome(plain).result is FAILURE


def test_a_server_without_tls_is_a_failure_of_a_call_over_tls(stage: ProbeStage) -> None:
    with health_server(HealthService({"": 1})) as port:
        outcome = stage.outcome_of(spec(GrpcAction(port=port, service="", is_tls=True)))
    assert outcome.result is FAILURE
    assert outcome.text.startswith(HEALTH_FAILED)


@pytest.mark.parametrize(
    ("status", "name"), [(0, "UNKNOWN"), (2, "NOT_SERVING"), (3, "SERVICE_UNKNOWN"), (9, "9")]
)
def test_any_other_status_is_a_failure(stage: ProbeStage, status: int, name: str) -> None:
    with health_server(HealthService({"": status})) as port:
        text = f'service unhealthy (responded with "{name}")'
        assert asked(stage, port) == ProbeOutcome(FAILURE, text)


def test_a_service_that_is_not_known_is_a_failure(stage: ProbeStage) -> None:
    with health_server(HealthService({})) as port:
        text = f"{HEALTH_FAILED}rpc error: code = NotFound desc = no such service: db, ü"
        assert asked(stage, port, "db") == ProbeOutcome(FAILURE, text)


def test_a_server_without_a_health_service_is_a_failure(stage: ProbeStage) -> None:
    with health_server(None) as port:
        outcome = asked(stage, port)
    assert outcome.result is FAILURE
    assert outcome.text.startswith(
        "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): "
    )


def test_a_port_that_nobody_listens_on_is_a_failure(stage: ProbeStage) -> None:
    (port,) = free_ports(1)
    where = f"127.0.0.1:{port}"
    why = f"dial tcp {where}: connect: connection refused"
    text = f'error: failed to connect service at "{where}": {why}'
    assert asked(stage, port) == ProbeOutcome(FAILURE, text)


HEAD = framed(FrameType.HEADERS, END_HEADERS, 1, b"\x88")


@pytest.mark.parametrize(
    ("behave", "text"),
    [
        (
            answering(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            f"{HEALTH_FAILED}the server speaks HTTP/1.1, and no gRPC",
        ),
        (answering(b"SSH-2.0-OpenSSH_9.6\r\n"), f"{HEALTH_FAILED}malformed HTTP/2 frame"),
        (answering(HEAD), f"{HEALTH_FAILED}the server speaks no HTTP/2"),
        (answering(b""), f"{HEALTH_FAILED}error reading from server: EOF"),
        (
            answering(SETTINGS + framed(FrameType.HEADERS, END_HEADERS | END_STREAM, 1, b"\x8d")),
            f"{HEALTH_FAILED}unexpected HTTP status code received from server: 404",
        ),
        (
            answering(SETTINGS + framed(FrameType.HEADERS, END_HEADERS | END_STREAM, 1, b"\xff")),
            f"{HEALTH_FAILED}malformed HTTP/2: a head that cannot be read",
        ),
        (
            answering(SETTINGS + framed(FrameType.HEADERS, 0, 1, b"\x88") + SETTINGS),
            f"{HEALTH_FAILED}malformed HTTP/2: a head breaks off",
        ),
        (
            answering(SETTINGS + framed(FrameType.RST_STREAM, 0, 1, b"\0\0\0\x07")),
            f"{HEALTH_FAILED}stream terminated by RST_STREAM with error code: 7",
        ),
        (
            answering(SETTINGS + framed(FrameType.GOAWAY, 0, 0, bytes(8) + b"too many")),
            f"{HEALTH_FAILED}the server goes away: too many",
        ),
        (
            flooding(SETTINGS, framed(FrameType.PING, 0, 0, bytes(8)) * 100),
            f"{HEALTH_FAILED}the answer is longer than 65536 bytes",
        ),
        (
            flooding(SETTINGS + HEAD, framed(FrameType.DATA, 0, 1, bytes(16_384))),
            f"{HEALTH_FAILED}the answer is longer than 65536 bytes",
        ),
        (resetting, f"{HEALTH_FAILED}read: connection reset by peer"),
    ],
)
def test_a_hostile_target_is_a_failure_with_its_reason(
    stage: ProbeStage, behave: Behave, text: str
) -> None:
    with raw_target(behave) as target:
        outcome = asked(stage, target.port)
    assert outcome.result is FAILURE
    assert text in outcome.text


def test_a_target_that_never_answers_is_given_up(stage: ProbeStage) -> None:
    with raw_target(silent) as target:
        its_key = stage.watch(spec(GrpcAction(port=target.port, service="")))
        stage.until(lambda: target.accepted)
        text = f'timeout: failed to connect service "127.0.0.1:{target.port}" within 1s'
        assert stage.outcome_after(its_key, 1.01) == ProbeOutcome(FAILURE, text)
