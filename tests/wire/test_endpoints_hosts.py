"""Requests for names of other machines, as a web page makes them that rebinds its own name."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.process import eventually, manifest
from tests.support.agent.served import Served, served_agent
from tests.support.patience import PATIENCE
from tests.support.wire.client import Answer, fetch

HEALTH_PATHS = ("/healthz", "/livez", "/healthz/ping", "/readyz", "/readyz/file")
OTHER_PATHS = (
    *("/", "/pods", "/metrics", "/configz", "/sourcez", "/actorz", "/watchz", "/events", "/none"),
)
PATHS = (*OTHER_PATHS, *HEALTH_PATHS)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("hosts")
    (folder / "web.yaml").write_text(manifest("web"))
    flags = ("--hostname-override=node7", "--allow-host=tools.example", "--enable-chaos")
    with served_agent(folder, *flags) as agent:
        eventually(lambda: agent.get("/readyz").status == 200)
        yield agent


def said(agent: Served, request: bytes) -> bytes:
    """Return what is answered to ``request`` until the server closes."""
    with socket.create_connection(("127.0.0.1", agent.port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["evil.example", "evil.example:10255", "10.9.8.7"])
def test_no_path_of_the_read_only_port_is_answered_for_another_host(
    agent: Served, path: str, host: str
) -> None:
    refused(fetch(agent.port, path, Host=host), host)


@pytest.mark.parametrize("path", HEALTH_PATHS)
@pytest.mark.parametrize("host", ["balancer.example:10248", "10.9.8.7"])
def test_the_healthz_port_tells_its_verdict_for_another_host_and_no_details(
    agent: Served, path: str, host: str
) -> None:
    """A load balancer names the node as it knows it."""
    answer = fetch(agent.health_port, path, Host=host)
    assert (answer.status, answer.text) == (200, "ok")
    refused(fetch(agent.health_port, f"{path}?verbose", Host=host), host)


@pytest.mark.parametrize("path", OTHER_PATHS)
def test_the_healthz_port_has_nothing_else_for_anybody(agent: Served, path: str) -> None:
    assert fetch(agent.health_port, path, Host="evil.example").status == 404


def refused(answer: Answer, host: str) -> None:
    """Fail if a request for another host was answered."""
    assert answer.status == 421
    assert answer.json == {
        "error": f"{host.partition(':')[0]} is no name of this node: --allow-host allows another one",
        "code": 421,
    }


def test_nobody_is_crashed_for_another_host(agent: Served) -> None:
    path = "/debug/actors/pod-manager/crash"
    assert fetch(agent.port, path, "POST", Host="evil.example").status == 421
    assert agent.actor("pod-manager").restarts == 0


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1",
        "127.1.2.3",
        "[::1]:10255",
        "node7",
        "tools.example:8",
    ],
)
def test_names_and_addresses_of_this_machine_are_answered(agent: Served, host: str) -> None:
    assert "web-node7" in fetch(agent.port, "/pods", Host=host).text
    assert fetch(agent.health_port, "/healthz", Host=host).status == 200


def test_only_http_1_0_may_leave_the_host_out(agent: Served) -> None:
    assert b" 200 OK" in said(agent, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert b" 421 " in said(agent, b"GET /pods HTTP/1.0\r\nHost: evil.example\r\n\r\n")
    closing = b"Connection: close\r\n\r\n"
    assert b" 400 " in said(agent, b"GET /healthz HTTP/1.1\r\n" + closing)
    both = b"Host: localhost\r\nHost: evil.example\r\n"
    assert b" 400 " in said(agent, b"GET /healthz HTTP/1.1\r\n" + both + closing)
