"""Hooks that need a connection, against real servers: good ones, and ones that mean no good."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Self

import pytest
import trustme

from actors.probes.names import MOST_LOOKUPS, LookUp, look_up_lanes, system_look_up
from kernel import InFlight
from manifests.handlers import HttpGetAction, TcpSocketAction
from runtimes.lifecycle_hooks.messages import HookOutcome
from runtimes.lifecycle_hooks.sockets import LoopSockets
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE
from tests.support.wire.http1_server import (
    Http1Server,
    Reply,
    Seen,
    Send,
    http1_server,
    redirect,
    reply,
)


class Hooks:
    """Carries hooks out, one after the other."""

    def __init__(self, look_up: LookUp = system_look_up) -> None:
        self.lanes = look_up_lanes("hooks")
        self.sockets = LoopSockets(self.lanes, look_up)
        self.told: Probe[HookOutcome] = Probe()

    def begin(self, action: HttpGetAction | TcpSocketAction) -> InFlight:
        return self.sockets.start(action, self.told.tell)

    def outcome(self, action: HttpGetAction | TcpSocketAction) -> HookOutcome:
        self.begin(action)
        return self.told.next()


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    with closing(made.lanes), closing(made.sockets):
        yield made


@pytest.fixture
def server() -> Iterator[Http1Server]:
    with http1_server() as server:
        yield server


@pytest.fixture
def secure() -> Iterator[Http1Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("somebody.example").configure_cert(context)
    with http1_server(context) as server:
        yield server


def page(
    server: Http1Server,
    path: str = "/",
    *headers: tuple[str, str],
    is_https: bool = False,
    host: str = "127.0.0.1",
) -> HttpGetAction:
    return HttpGetAction(is_https=is_https, host=host, port=server.port, path=path, headers=headers)


GOOD = HookOutcome()

# --- pages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["200 OK", "204 No Content", "404 Not Found", "500 Oh"])
def test_any_answer_will_do_as_for_a_kubelet(
    hooks: Hooks, server: Http1Server, status: str
) -> None:
    server.routes["/stop"] = reply(b"bye", status=status)
    assert hooks.outcome(page(server, "/stop?now")) == GOOD
    (seen,) = server.seen
    assert seen.target == "/stop?now"
    assert seen.values("user-agent") == ["kube-lifecycle/1.34"]
    assert seen.values("accept") == ["*/*"]
    assert seen.values("host") == [f"127.0.0.1:{server.port}"]


def test_headers_of_the_hook_are_sent_and_win(hooks: Hooks, server: Http1Server) -> None:
    headers = (("X-A", "1"), ("X-A", "2"), ("Host", "web.example"), ("User-Agent", "mine"))
    assert hooks.outcome(page(server, "leave", *headers)) == GOOD
    (seen,) = server.seen
    assert seen.target == "/leave"
    assert seen.values("x-a") == ["1", "2"]
    assert seen.values("host") == ["web.example"]
    assert seen.values("user-agent") == ["mine"]


def test_https_is_spoken_with_a_server_that_nobody_vouches_for(
    hooks: Hooks, secure: Http1Server
) -> None:
    assert hooks.outcome(page(secure, is_https=True)) == GOOD
    assert len(secure.seen) == 1


def test_https_answered_by_plain_http_is_asked_for_by_that_without_credentials(
    hooks: Hooks,
) -> None:
    with _PlainServer() as server:
        headers = (("Authorization", "Bearer s3cr3t"), ("X-A", "1"))
        outcome = hooks.outcome(
            HttpGetAction(
                is_https=True, host="127.0.0.1", port=server.port, path="/", headers=headers
            )
        )
    assert (outcome.failure, bool(outcome.remark)) == ("", True)
    assert b"X-A: 1" in server.received[-1]
    assert b"s3cr3t" not in b"".join(server.received)


def test_a_redirect_to_the_same_host_is_followed(hooks: Hooks, server: Http1Server) -> None:
    server.routes |= {"/a": redirect("/b?c"), "/b": reply(b"")}
    assert hooks.outcome(page(server, "/a", ("X-A", "1"))) == GOOD
    assert [each.target for each in server.seen] == ["/a", "/b?c"]
    assert server.seen[1].values("x-a") == ["1"]


def test_a_redirect_to_another_host_is_an_answer(hooks: Hooks, server: Http1Server) -> None:
    server.routes["*"] = redirect(f"http://localhost:{server.port}/elsewhere")
    assert hooks.outcome(page(server, "/a")) == GOOD
    assert [each.target for each in server.seen] == ["/a"]


def test_endless_redirects_fail(hooks: Hooks, server: Http1Server) -> None:
    server.routes["*"] = redirect("/again")
    assert hooks.outcome(page(server)) == HookOutcome("stopped after 10 redirects")
    assert len(server.seen) == 10


@pytest.mark.parametrize("location", ["ftp://127.0.0.1/", "http://[", "http://127.0.0.1:x/"])
def test_a_redirect_that_leads_nowhere_fails(
    hooks: Hooks, server: Http1Server, location: str
) -> None:
    server.routes["*"] = redirect(location)
    where = f"127.0.0.1:{server.port}"
    assert hooks.outcome(page(server)) == HookOutcome(f"{where}: the answer leads nowhere")


def test_a_hook_lasts_until_its_answer_is_complete(hooks: Hooks, server: Http1Server) -> None:
    goes_on = threading.Event()

    def slow(_seen: Seen, send: Send) -> None:
        send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        assert goes_on.wait(PATIENCE)
        send(b"0\r\n\r\n")
        assert server.closing.wait(PATIENCE)  # the connection stays open

    server.routes["*"] = slow
    hooks.begin(page(server))
    assert server.asked.wait(PATIENCE)
    hooks.told.expect_silence()
    goes_on.set()
    assert hooks.told.next() == GOOD


def test_an_answer_of_a_known_length_needs_no_end_of_the_connection(
    hooks: Hooks, server: Http1Server
) -> None:
    def lingering(_seen: Seen, send: Send) -> None:
        send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        assert server.closing.wait(PATIENCE)

    server.routes["*"] = lingering
    assert hooks.outcome(page(server)) == GOOD


# --- servers that mean no good -------------------------------------------------------------------------


def test_an_endless_body_ends_after_ten_kilobytes(hooks: Hooks, server: Http1Server) -> None:
    server.routes["*"] = _endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 4096)
    assert hooks.outcome(page(server)) == GOOD


def test_endless_chunks_end_after_ten_kilobytes(hooks: Hooks, server: Http1Server) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    server.routes["*"] = _endless(head, b"10\r\n" + b"x" * 16 + b"\r\n")
    assert hooks.outcome(page(server)) == GOOD


@pytest.mark.parametrize(
    ("head", "more"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X-A: 1\r\n"),
        (b"HTTP/1.1 200 OK\r\nX-A: ", b"x" * 1024),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
)
def test_an_endless_beginning_is_no_answer(
    hooks: Hooks, server: Http1Server, head: bytes, more: bytes
) -> None:
    server.routes["*"] = _endless(head, more)
    where = f"127.0.0.1:{server.port}"
    assert hooks.outcome(page(server)) == HookOutcome(f"{where}: the answer is too long")


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1\r\n\r\n", b"\r\n" * 9]
)
def test_what_is_no_http_fails(hooks: Hooks, server: Http1Server, answer: bytes) -> None:
    server.routes["*"] = answer
    where = f"127.0.0.1:{server.port}"
    assert hooks.outcome(page(server)) == HookOutcome(f"{where}: the answer is no HTTP")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nX-A"])
def test_a_connection_that_ends_too_early_fails(
    hooks: Hooks, server: Http1Server, answer: bytes
) -> None:
    server.routes["*"] = answer
    outcome = hooks.outcome(page(server))
    assert "ended without an answer" in outcome.failure


@pytest.mark.parametrize("body", [b"nonsense", b"ffffffffff\r\nx", b"-5\r\n", b"3\r\nab"])
def test_a_body_that_is_nonsense_does_not_matter(
    hooks: Hooks, server: Http1Server, body: bytes
) -> None:
    server.routes["*"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    assert hooks.outcome(page(server)) == GOOD


def test_a_header_that_is_two_is_not_sent(hooks: Hooks, server: Http1Server) -> None:
    outcome = hooks.outcome(page(server, "/", ("X-A", "1\r\nX-B: s3cr3t")))
    assert outcome.failure.endswith("a header cannot be sent")
    assert server.seen == []


def test_tls_from_a_server_that_says_something_else_fails(hooks: Hooks) -> None:
    with _PlainServer(answer=b"\x15\x03\x01\x00\x02\x02\x28") as server:
        outcome = hooks.outcome(
            HttpGetAction(is_https=True, host="127.0.0.1", port=server.port, path="/")
        )
    assert outcome.failure.startswith("127.0.0.1:")


def test_many_silent_servers_hold_nobody_up(hooks: Hooks, server: Http1Server) -> None:
    silent = socket.create_server(("127.0.0.1", 0), backlog=256)
    with closing(silent):
        port = silent.getsockname()[1]
        stuck = [
            hooks.begin(HttpGetAction(is_https=False, host="127.0.0.1", port=port, path="/"))
            for _ in range(100)
        ]
        threads = threading.active_count()
        assert hooks.outcome(page(server)) == GOOD
        assert threading.active_count() <= threads + 1
        for each in stuck:
            each.abandon()


# --- ports ---------------------------------------------------------------------------------------------


def test_a_port_that_accepts_is_enough(hooks: Hooks) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        assert hooks.outcome(TcpSocketAction(host="127.0.0.1", port=port)) == GOOD
        assert hooks.outcome(TcpSocketAction(host="localhost", port=port)) == GOOD


def test_a_port_that_nobody_listens_at_fails_and_says_where(hooks: Hooks) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    outcome = hooks.outcome(TcpSocketAction(host="127.0.0.1", port=port))
    assert outcome == HookOutcome(f"127.0.0.1:{port}: connection refused")


def test_a_name_that_is_not_known_fails(hooks: Hooks) -> None:
    outcome = hooks.outcome(TcpSocketAction(host="nobody.invalid", port=80))
    assert outcome == HookOutcome("nobody.invalid:80: no such host")


@contextmanager
def no_thread_can_be_started() -> Iterator[None]:
    """Let threads want a stack that no machine has room for."""
    before = threading.stack_size(1 << 46)
    try:
        yield
    finally:
        threading.stack_size(before)


def test_names_are_looked_up_again_once_there_are_threads_again(hooks: Hooks) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        assert hooks.outcome(TcpSocketAction(host="127.0.0.1", port=port)) == GOOD
        action = TcpSocketAction(host="localhost", port=port)
        with no_thread_can_be_started():
            outcome = hooks.outcome(action)
        assert outcome.failure.endswith("there is no thread to look the name up")
        assert hooks.outcome(action) == GOOD


def test_hooks_that_are_given_up_while_a_name_server_is_silent_hold_up_no_other() -> None:
    asked, answers = threading.Semaphore(0), threading.Event()

    def look_up(host: str) -> tuple[str, ...]:
        if host == "silent.example":
            asked.release()
            assert answers.wait(PATIENCE)
        return ("127.0.0.1",)

    hooks = Hooks(look_up)
    with (
        closing(hooks.lanes),
        closing(hooks.sockets),
        closing(socket.create_server(("127.0.0.1", 0))) as listener,
    ):
        port = listener.getsockname()[1]
        silent = TcpSocketAction(host="silent.example", port=port)
        begun = [hooks.begin(silent) for _ in range(MOST_LOOKUPS)]
        assert all(asked.acquire(timeout=PATIENCE) for _ in begun)
        hooks.begin(TcpSocketAction(host="web.example", port=port))
        for each in begun:
            each.abandon()
        assert hooks.told.next() == GOOD
        answers.set()


@pytest.mark.parametrize("host", ["", "a b", "\0", "x" * 300, "é" * 70, "a..b"])
def test_a_host_that_is_no_name_fails(hooks: Hooks, host: str) -> None:
    outcome = hooks.outcome(TcpSocketAction(host=host, port=1))
    assert outcome.failure


def test_a_hook_that_is_given_up_tells_nothing(hooks: Hooks, server: Http1Server) -> None:
    server.routes["/silent"] = _silent(server)
    silent = hooks.begin(page(server, "/silent"))
    assert server.asked.wait(PATIENCE)
    silent.abandon()
    assert hooks.outcome(page(server, "/other")) == GOOD
    hooks.told.expect_silence()


def _silent(server: Http1Server) -> Reply:
    def answer(_seen: Seen, _send: Send) -> None:
        assert server.closing.wait(PATIENCE)

    return answer


def _endless(head: bytes, more: bytes) -> Reply:
    def answer(_seen: Seen, send: Send) -> None:
        send(head)
        while True:
            send(more)  # until the client has gone

    return answer


class _PlainServer:
    """Answers whatever it is told by plain HTTP, as a server does that is sent TLS."""

    def __init__(self, answer: bytes = b"HTTP/1.1 400 Bad Request\r\n\r\n") -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._answer = answer
        self.port: int = self._listener.getsockname()[1]
        self.received: list[bytes] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.received.append(connection.recv(65_536))
                connection.sendall(self._answer)
