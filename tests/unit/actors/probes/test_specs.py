"""What a pod's document says of a probe."""

from __future__ import annotations

from typing import Any

import pytest

from actors.probes.specs import MOST_NUMBER, GrpcAction, ProbeHandler, ProbeSpec, probe_of
from manifests.handlers import ExecAction, HttpGetAction, TcpSocketAction, UnusableHandler
from messages.probing import ProbeKind

PORTS = [{"name": "web", "containerPort": 8080}, {"name": "none"}]


def read(document: Any, kind: ProbeKind = ProbeKind.LIVENESS) -> ProbeSpec:
    spec = probe_of({"name": "c", "ports": PORTS, kind.field_name: document}, kind)
    assert spec is not None
    return spec


def handler(**document: Any) -> ProbeHandler:
    return read(document).handler


def test_a_container_without_a_probe_has_none() -> None:
    assert probe_of({"name": "c"}, ProbeKind.STARTUP) is None
    assert probe_of({"name": "c", "livenessProbe": None}, ProbeKind.LIVENESS) is None


def test_what_is_left_out_is_as_a_kubelet_has_it() -> None:
    spec = read({"tcpSocket": {"port": 80}})
    assert (spec.initial_delay, spec.period, spec.timeout) == (0.0, 10.0, 1.0)
    assert (spec.success_threshold, spec.failure_threshold, spec.grace) == (1, 3, None)


def test_what_is_said_is_obeyed() -> None:
    numbers = {
        "initialDelaySeconds": 5,
        "periodSeconds": 7,
        "timeoutSeconds": 2,
        "successThreshold": 4,
        "failureThreshold": 6,
    }
    spec = read({"tcpSocket": {"port": 80}, **numbers}, ProbeKind.READINESS)
    assert (spec.initial_delay, spec.period, spec.timeout) == (5.0, 7.0, 2.0)
    assert spec.answers_needed == (ProbeKind.READINESS, 6, 4)


@pytest.mark.parametrize("nonsense", [0, -1, None, "7", [], 10**30])
def test_a_period_that_is_impossible_is_none_or_as_long_as_can_be(nonsense: Any) -> None:
    spec = read({"tcpSocket": {"port": 80}, "periodSeconds": nonsense})
    assert spec.period in {10.0, float(MOST_NUMBER)}


def test_the_grace_of_a_kill_is_for_probes_that_kill() -> None:
    document = {"tcpSocket": {"port": 80}, "terminationGracePeriodSeconds": 3}
    assert read(document).grace == 3.0
    assert read(document, ProbeKind.READINESS).grace is None


def test_one_success_is_enough_for_liveness_whatever_is_said() -> None:
    assert read({"tcpSocket": {"port": 80}, "successThreshold": 4}).success_threshold == 1


def test_each_handler_is_read() -> None:
    assert handler(tcpSocket={"port": "web"}) == TcpSocketAction(host="", port=8080)
    assert handler(tcpSocket={"port": "81", "host": "db"}) == TcpSocketAction(host="db", port=81)
    assert handler(grpc={"port": 9000}) == GrpcAction(port=9000, service="")
    assert handler(grpc={"port": 9000, "service": "db"}) == GrpcAction(port=9000, service="db")
    assert handler(exec={"command": ["cat", "/ready"]}) == ExecAction(command=("cat", "/ready"))
    page = {
        "port": "web",
        "scheme": "HTTPS",
        "host": "h",
        "path": "/a",
        "httpHeaders": [{"name": "A", "value": "b"}],
    }
    assert handler(httpGet=page) == HttpGetAction(
        is_https=True, host="h", port=8080, path="/a", headers=(("A", "b"),)
    )
    assert handler(httpGet={"port": 80}) == HttpGetAction(is_https=False, host="", port=80, path="")


@pytest.mark.parametrize("port", ["other", "none", 0, -1, 65_536, None, "", "\u0661", 10**9])
@pytest.mark.parametrize("name", ["httpGet", "tcpSocket", "grpc"])
def test_a_port_that_no_container_names_is_a_reason(name: str, port: Any) -> None:
    found = handler(**{name: {"port": port}})
    assert isinstance(found, UnusableHandler)
    assert found.why.startswith("the container has no port")


def test_a_header_with_a_line_feed_is_a_reason() -> None:
    headers = [{"name": "A", "value": "b\r\nC: d"}]
    found = handler(httpGet={"port": 80, "httpHeaders": headers})
    assert found == UnusableHandler(why="a header of the probe has a line feed in it")


def test_a_probe_that_says_nothing_is_a_reason() -> None:
    assert isinstance(handler(exec={"command": []}, periodSeconds=1), UnusableHandler)


def test_what_may_be_confidential_is_in_no_repr() -> None:
    page = handler(
        httpGet={
            "port": 80,
            "path": "/?t=s3cret",
            "httpHeaders": [{"name": "A", "value": "s3cret"}],
        }
    )
    assert "s3cret" not in repr((page, handler(exec={"command": ["s3cret"]})))


@pytest.mark.parametrize(
    ("mode", "is_tls"), [(None, False), ("", False), ("Plaintext", False), ("TLS", True)]
)
def test_a_call_of_grpc_is_made_over_tls_if_it_says_so(mode: str | None, is_tls: bool) -> None:  # noqa: FBT001
    assert handler(grpc={"port": 80, "mode": mode}) == GrpcAction(
        port=80, service="", is_tls=is_tls
    )


def test_what_nobody_here_speaks_is_said_and_not_asked_for_in_another_way() -> None:
    assert handler(grpc={"port": 80, "mode": "QUIC"}) == UnusableHandler(
        why="a call of gRPC in mode 'QUIC' is not known"
    )
    assert isinstance(handler(httpGet={"port": 80, "protocol": "HTTP1"}), HttpGetAction)
    page = handler(httpGet={"port": 80, "protocol": "HTTP2"})
    assert page == UnusableHandler(why="a page is asked for by HTTP/1.1 alone")
