"""Streams to containers through a real door: the runtime opens them, and the door copies."""

from __future__ import annotations

import asyncio
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from messages.container_runtime import (
    OpenAttach,
    OpenExec,
    OpenPortForward,
    OpenStream,
    RuntimeFailure,
    RuntimeFailureKind,
    StreamPlace,
)
from server.node.commands import AT_ONCE, NOT_ALONE, WAITING
from tests.support.agent.process import eventually
from tests.support.patience import PATIENCE
from tests.support.wire.node_port import ADMIN, MIRROR, VIEWER, WEB, NodePort, node_port

EXEC = "/exec/default/web/main?command=cat&input=1&output=1"
SPDY = (
    "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n"
)
WEBSOCKET = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n"
)
BEGINS = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n"
REFUSES = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\nX-Own: 1\r\n\r\nnot v5\n"


class FakeRuntime:
    """Answers one head with what it is told, and sends back what comes then."""

    def __init__(self) -> None:
        self.answer = BEGINS
        self.heads: list[bytes] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.place = StreamPlace(url=f"http://127.0.0.1:{self.listener.getsockname()[1]}/token")
        threading.Thread(target=self._accepts, daemon=True).start()

    async def opens(self, _: OpenStream) -> StreamPlace:
        """Say where the stream is."""
        return self.place

    def close(self) -> None:
        """Accept nobody any more."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accepts(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self._answers(connection)

    def _answers(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        self.heads.append(head)
        connection.sendall(self.answer)
        while self.answer == BEGINS and (data := connection.recv(2**16)):
            connection.sendall(data)


@pytest.fixture
def runtime() -> Iterator[FakeRuntime]:
    served = FakeRuntime()
    yield served
    served.close()


@pytest.fixture
def node(runtime: FakeRuntime) -> Iterator[NodePort]:
    with node_port() as served:
        served.opens = runtime.opens
        yield served


def head(path: str = EXEC, method: str = "POST", upgrade: str = SPDY) -> bytes:
    """Return the head of a request for a stream."""
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n{upgrade}\r\n".encode()


def answered(node: NodePort, *parts: bytes, user: str = ADMIN) -> bytes:
    """Return all that is answered to what a client sends, until the connection ends."""
    with node.connected(node.certificate(user)) as client:
        for each in parts:
            client.sendall(each)
        return b"".join(iter(lambda: client.recv(2**16), b""))


def test_what_a_client_sends_comes_to_the_runtime_and_back(
    node: NodePort, runtime: FakeRuntime
) -> None:
    for request in (head(), head(method="GET", upgrade=WEBSOCKET)):
        with node.connected(node.certificate(ADMIN)) as client:
            client.sendall(request)
            assert client.recv(len(BEGINS)) == BEGINS
            client.sendall(b"hello")
            assert client.recv(5) == b"hello"
    assert [each.split(b" ")[:2] for each in runtime.heads] == [
        [b"POST", b"/token"],
        [b"GET", b"/token"],
    ]


def test_a_stream_is_shown_and_cut_once_its_pod_is_no_more(node: NodePort) -> None:
    with node.connected(node.certificate(ADMIN)) as client:
        client.sendall(head())
        assert client.recv(len(BEGINS)) == BEGINS
        (shown,) = node.serving.described().streams
        node.serving.keep_streams_of({WEB.uid})
        client.sendall(b"hello")
        assert client.recv(5) == b"hello"
        node.serving.keep_streams_of(set())
        assert client.recv(1) == b""
    assert (shown.kind, shown.user, shown.pod, shown.container, shown.command) == (
        "exec",
        ADMIN,
        WEB.display_name,
        "main",
        "cat",
    )
    eventually(lambda: node.serving.described().streams == ())
    described = node.serving.described()
    assert described.opened == {"exec": 1}
    assert described.carried == {("exec", "in"): 5, ("exec", "out"): 5 + len(BEGINS)}
    assert described.requests == {("POST", "exec", "true"): 1}
    assert described.in_flight == {("POST", "exec", "true"): 0}


def test_which_stream_the_runtime_is_asked_for(node: NodePort, runtime: FakeRuntime) -> None:
    runtime.answer = REFUSES
    for uid in ("", f"/{WEB.uid}", f"/{MIRROR.uid}"):
        answered(node, head(f"/exec/default/web{uid}/main?command=a&command=b&output=1"))
        asked = node.opened.pop()
        assert isinstance(asked, OpenExec)
        assert (asked.id, asked.command) == ("containerd://main-1", ("a", "b"))
    answered(node, head("/attach/default/web/main?input=1"))
    answered(node, head("/portForward/default/web"))
    attach, forward = node.opened
    assert isinstance(attach, OpenAttach)
    assert forward == OpenPortForward(uid=WEB.uid, ports=())


@pytest.mark.parametrize(
    ("path", "code", "says"),
    [
        ("/exec/default/web/main?command=a", 400, "at least 1 of stdin, stdout, stderr"),
        ("/exec/default/web/main?output=1", 400, "you must specify a command"),
        ("/exec/default/gone/main?command=a&output=1", 404, "pod does not exist"),
        ("/exec/default/web/other-uid/main?command=a&output=1", 404, "pod does not exist"),
        ("/exec/default/web/none?command=a&output=1", 404, 'container not found ("none")'),
        ("/attach/default/web/side?output=1", 400, "does not run: it is waiting to start"),
        ("/portForward/default/web/other-uid", 404, "pod not found"),
    ],
)
def test_what_there_is_no_stream_for_ends_the_connection(
    node: NodePort, path: str, code: int, says: str
) -> None:
    said = answered(node, head(path)).decode()
    assert said.startswith(f"HTTP/1.1 {code} ")
    assert says in said
    assert node.opened == []


@pytest.mark.parametrize(
    "path", [EXEC, "/attach/default/web/main?output=1", "/portForward/default/web"]
)
@pytest.mark.parametrize(("method", "upgrade"), [("POST", SPDY), ("GET", SPDY), ("GET", WEBSOCKET)])
def test_who_may_only_look_gets_no_stream(
    node: NodePort, path: str, method: str, upgrade: str
) -> None:
    said = answered(node, head(path, method, upgrade), user=VIEWER)
    assert said.startswith(b"HTTP/1.1 403 ")
    assert b"verb=create" in said
    assert node.opened == []


@pytest.mark.parametrize("more", [b"early", b"early\r\n\r\n", head("/pods", "GET", "")])
def test_bytes_behind_the_head_end_the_connection(node: NodePort, more: bytes) -> None:
    for parts in ((head() + more,), (head()[:-1], b"\n" + more)):
        said = answered(node, *parts)
        assert said.count(b"HTTP/1.1 ") == 1
        assert said.startswith(b"HTTP/1.1 400 ")
        assert NOT_ALONE.encode() in said
    assert node.opened == []


def test_a_head_may_come_in_pieces(node: NodePort) -> None:
    with node.connected(node.certificate(ADMIN)) as client:
        for each in head():
            client.sendall(bytes([each]))
        assert client.recv(len(BEGINS)) == BEGINS


def test_a_refusal_of_the_runtime_is_passed_on_and_ends_the_connection(
    node: NodePort, runtime: FakeRuntime
) -> None:
    runtime.answer = REFUSES
    said = answered(node, head())
    assert said.startswith(b"HTTP/1.1 403 ")
    assert said.endswith(b"\r\n\r\nnot v5\n")
    assert b"X-Own" not in said


@pytest.mark.parametrize("host", ["10.0.0.1", "localhost", "user@127.0.0.1"])
def test_a_stream_at_another_host_is_not_asked_for(node: NodePort, host: str) -> None:
    async def opens(_: OpenStream) -> StreamPlace:
        return StreamPlace(url=f"http://{host}:1/token")

    node.opens = opens
    assert answered(node, head()).startswith(b"HTTP/1.1 502 ")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (RuntimeFailureKind.NOT_FOUND, 404),
        (RuntimeFailureKind.UNSUPPORTED, 501),
        (RuntimeFailureKind.REFUSED, 500),
        (RuntimeFailureKind.UNCERTAIN, 503),
    ],
)
def test_a_failure_of_the_runtime_is_said(
    node: NodePort, kind: RuntimeFailureKind, code: int
) -> None:
    async def opens(_: OpenStream) -> RuntimeFailure:
        return RuntimeFailure(kind=kind, message="the runtime says no")

    node.opens = opens
    said = answered(node, head()).decode()
    assert said.startswith(f"HTTP/1.1 {code} ")
    assert said.endswith("the runtime says no")


def test_only_so_many_streams_are_set_up_at_a_time(node: NodePort) -> None:
    async def opens(_: OpenStream) -> StreamPlace:
        await asyncio.Event().wait()
        raise AssertionError("it waits for ever")

    node.opens = opens
    admin = node.certificate(ADMIN)
    with ExitStack() as held:
        clients = [held.enter_context(node.connected(admin)) for _ in range(AT_ONCE + WAITING + 1)]
        for client in clients:
            client.sendall(head())
        (refused,), _, _ = select.select(clients, (), (), PATIENCE)
        said = b"".join(iter(lambda: refused.recv(2**16), b""))
        assert said.startswith(b"HTTP/1.1 429 ")
        assert b"Retry-After: 1" in said
        assert len(node.opened) == AT_ONCE
