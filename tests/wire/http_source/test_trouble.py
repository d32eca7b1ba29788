"""The manifest URL over real sockets: answers that are cut or wrong, and deadlines."""

from __future__ import annotations

import gzip
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.patience import PATIENCE
from tests.support.sources.http_wire import (
    OK,
    SECRET,
    failure,
)
from tests.support.wire.http1_server import Http1Server, Seen, Send, http1_server, redirect, reply


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"rubbish\r\n\r\n", id="no HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", id="half a body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="half a head"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", id="half a chunk"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", id="no chunk"),
        pytest.param(reply(b"hunter2", "Content-Encoding: gzip"), id="no gzip"),
        pytest.param(
            reply(gzip.compress(b"hunter2" * 999)[:-20], "Content-Encoding: gzip"), id="half a gzip"
        ),
    ],
)
def test_an_answer_that_is_cut_or_wrong_is_an_error(server: Http1Server, answer: bytes) -> None:
    server.routes["/"] = answer
    assert failure(server.url(f"/?{SECRET}")).sentence.startswith(
        ("no connection", "no usable answer")
    )


def test_scenario_15_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    sentence = failure(f"http://me:{SECRET}@127.0.0.1:{port}/?{SECRET}").sentence
    assert sentence.startswith("no connection: Connection refused")


def test_a_body_that_trickles_ends_at_the_deadline(server: Http1Server) -> None:
    server.routes["/"] = server.trickle(f"{OK}\r\n".encode(), b"x")
    assert failure(server.url(), deadline=0.3).sentence == "no complete answer within 0.3 s"
    assert server.hung_up.wait(PATIENCE)


def test_redirects_do_not_prolong_the_deadline(server: Http1Server) -> None:
    pause = threading.Event()

    def slow(_seen: Seen, send: Send) -> None:
        pause.wait(0.2)
        send(redirect("/"))

    server.routes["/"] = slow
    # With a deadline for each of them this would be a word about too many redirects.
    assert failure(server.url(), deadline=0.5).sentence == "no complete answer within 0.5 s"


def test_a_deadline_that_meets_an_answer_ends_the_redirects_all_the_same() -> None:
    """The library forgets a cancelling in such a moment: one time in twenty here."""
    pause = threading.Event()

    def kind(number: int) -> str:
        with http1_server() as server:

            def slow(_seen: Seen, send: Send) -> None:
                pause.wait(0.02)
                send(redirect("/"))

            server.routes["/"] = slow
            sentence = failure(server.url(), deadline=0.05 + number / 5000).sentence
            return sentence.partition(" within")[0]

    with ThreadPoolExecutor(12) as many:
        assert set(many.map(kind, range(100))) == {"no complete answer"}


def test_a_server_that_says_nothing_ends_at_the_deadline(server: Http1Server) -> None:
    server.routes["/"] = server.trickle(b"", b"")
    assert failure(server.url(), deadline=0.3).sentence == "no complete answer within 0.3 s"
