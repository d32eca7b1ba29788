"""The logs of containers at the node's TLS port, as ``kubectl logs`` asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.wire.client import Answer
from tests.support.wire.node_port import ADMIN, NodePort, node_port

LOG = "/containerLogs/default/web/main"


@pytest.fixture
def node() -> Iterator[NodePort]:
    with node_port() as served:
        yield served


def fetched(node: NodePort, path: str) -> Answer:
    """Return what an administrator is answered."""
    return node.fetch(path, tls=node.certificate(ADMIN))


def test_why_there_is_no_log(node: NodePort) -> None:
    side = 'container "side" in pod "web"'
    for path, code, text in (
        ("default/gone/main", 404, 'pod "gone" does not exist'),
        ("other/web/main", 404, 'pod "web" does not exist'),
        ("default/web/other", 404, 'container "other" not found in pod "web"'),
        ("default/web/side", 400, f"{side} is waiting to start: trying and failing to pull image"),
        ("default/web/side?previous=true", 400, f"previous terminated {side} not found"),
        ("default/web/main?tailLines=x", 400, '{"message": "Unable to decode query."}'),
        ("default/web/main?limitBytes=0", 422, '{"message": "Invalid request."}'),
    ):
        answer = fetched(node, f"/containerLogs/{path}")
        assert (answer.status, answer.text) == (code, text), path
    assert node.console.asked == []
    node.console.lacks = "container main has no log"
    answer = fetched(node, LOG)
    assert (answer.status, answer.text) == (404, "container main has no log")


def test_which_instance_is_read_and_how(node: NodePort) -> None:
    fetched(node, LOG)
    fetched(node, f"{LOG}?previous=true&tailLines=3&tailLines=4&timestamps=true&stream=Stderr")
    now, before = node.console.asked
    assert (now.container, now.attempt, now.tail, now.with_times) == ("main", 1, None, False)
    assert (before.attempt, before.tail, before.with_times) == (0, 3, True)
    assert before.stream == "stderr"


def test_so_many_bytes_are_sent_at_the_most(node: NodePort) -> None:
    for limit, text in ((1, "o"), (4, "one\n"), (6, "one\ntw"), (99, "one\ntwo\n")):
        assert fetched(node, f"{LOG}?limitBytes={limit}").text == text


def test_a_followed_log_that_is_empty_begins_at_once_and_is_left_with_its_client(
    node: NodePort,
) -> None:
    node.console.pieces = [b""]
    with node.connected(node.certificate(ADMIN)) as client:
        client.sendall(f"GET {LOG}?follow=true HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert client.recv(15) == b"HTTP/1.1 200 OK"
    assert node.console.ends.next() is None


def test_whoever_asks_for_the_head_alone_gets_no_line_of_the_log(node: NodePort) -> None:
    head = f"HEAD {LOG}?follow=true HTTP/1.1\r\nHost: x\r\n\r\n"
    last = "GET /healthz/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with node.connected(node.certificate(ADMIN)) as client:
        client.sendall(f"{head}{last}".encode())
        answers = b"".join(iter(lambda: client.recv(2**16), b""))
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert b"one\n" not in answers
