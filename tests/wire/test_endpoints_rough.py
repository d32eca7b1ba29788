"""Clients that are slow, silent, greedy or confused, and a server that crashes under them."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kernel import ActorDescription
from server.limits import MOST_CONNECTIONS
from tests.support.agent.process import eventually, manifest
from tests.support.agent.served import Served, served_agent, served_tree
from tests.support.patience import PATIENCE, SLOWNESS

HELLO = b"GET /healthz/ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Served]:
    """Return an agent with one pod."""
    (tmp_path / "web.yaml").write_text(manifest("web"))
    with served_agent(tmp_path, "--enable-chaos") as agent:
        yield agent


def dial(agent: Served) -> socket.socket:
    """Return a connection to the read-only port."""
    return socket.create_connection(("127.0.0.1", agent.port), timeout=PATIENCE)


def everything_from(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def is_over(connection: socket.socket) -> bool:
    """Whether the other side has closed it, or said something."""
    return bool(select.select([connection], [], [], 0.0)[0])


def is_restarting(actor: ActorDescription) -> bool:
    """Whether its next life is awaited, which may be for no more than a moment, or has begun."""
    return actor.state == "backoff" or actor.restarts > 0


def test_a_request_that_comes_byte_by_byte_is_answered_and_holds_up_nobody(agent: Served) -> None:
    with dial(agent) as slow:
        slow.sendall(HELLO[:-2])
        assert agent.get("/healthz").status == 200
        slow.sendall(HELLO[-2:])
        assert everything_from(slow).startswith(b"HTTP/1.1 200 OK")


def test_clients_that_say_nothing_are_cut_before_they_keep_others_out(agent: Served) -> None:
    with ExitStack() as silent:
        connections = [silent.enter_context(dial(agent)) for _ in range(MOST_CONNECTIONS)]
        # The oldest is the one that goes, and the youngest is still there.
        eventually(lambda: agent.get("/healthz").status == 200 and is_over(connections[0]))
        connections[-1].sendall(HELLO)
        assert everything_from(connections[-1]).startswith(b"HTTP/1.1 200 OK")


def test_a_client_that_never_reads_is_left_alone_with_its_answer(agent: Served) -> None:
    with socket.socket() as greedy:
        greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        greedy.connect(("127.0.0.1", agent.port))
        greedy.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500)
        assert agent.get("/metrics").status == 200


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /pods HTTP/1.1\r\nHost: localhost\r\nContent-Length: hush\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"hush" * 10_000 + b"\r\n\r\n",
        b"GET /" + b"hush" * 10_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Many: hush\r\n" * 1_000 + b"\r\n",
    ],
    ids=["tls", "no-path", "length", "long-header", "long-path", "many-headers"],
)
def test_garbage_is_refused_and_not_worth_a_line_in_the_log(
    agent: Served, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with dial(agent) as confused:
        confused.sendall(garbage)
        assert everything_from(confused).startswith(b"HTTP/1.0 400 Bad Request")
    assert agent.get("/healthz").status == 200
    assert caplog.records == []


def test_a_crashed_server_keeps_its_port_and_its_next_life_answers_who_waits(
    agent: Served,
) -> None:
    agent.get("/debug/actors/http-server/crash", "POST")
    eventually(lambda: is_restarting(agent.actor("http-server")))
    with dial(agent) as early:
        early.sendall(HELLO)
        assert everything_from(early).startswith(b"HTTP/1.1 200 OK")
    assert agent.actor("http-server").restarts == 1


def test_a_stopped_agent_closes_the_connections_that_are_open(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with served_agent(tmp_path) as agent:
            idle = stack.enter_context(dial(agent))
            began = time.monotonic()
        assert time.monotonic() - began < 3.0 * SLOWNESS
        assert everything_from(idle) == b""


def test_a_bug_in_a_handler_is_an_answer_and_a_line_in_the_log(
    logs: list[MutableMapping[str, Any]],
) -> None:
    with served_tree(configuration={"of": object()}) as agent:
        answer = agent.get("/configz")
        assert (answer.status, answer.json["error"]) == (500, "internal error, see the log")
        (logged,) = [event for event in logs if event["event"] == "request failed"]
        assert (logged["path"], logged["exc_info"]) == ("/configz", True)
        assert agent.get("/healthz").status == 200
