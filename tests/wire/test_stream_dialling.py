"""What a container runtime may answer to a request for a stream, and what becomes of it."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from server.streams.dialling import (
    LARGEST_BODY,
    LARGEST_HEAD,
    RuntimeAnswer,
    RuntimeAnswerError,
    ask_runtime,
)
from server.streams.upgrades import RuntimePlace
from tests.support.patience import PATIENCE
from tests.support.wire.ports import free_ports

HEAD = b"GET /exec/token HTTP/1.1\r\nHost: x\r\n\r\n"
Says = Callable[[asyncio.StreamWriter], Awaitable[None]]


def plainly(answer: bytes) -> Says:
    """Return a runtime that answers so and ends."""

    async def says(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    return says


async def without_end(writer: asyncio.StreamWriter) -> None:
    """Answer with a body that has no end."""
    writer.write(b"HTTP/1.1 500 Broken\r\n\r\n")
    while True:
        writer.write(bytes(2**16))
        await writer.drain()


def asked(says: Says) -> RuntimeAnswer:
    """Return what comes of asking this runtime."""

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readuntil(b"\r\n\r\n") == HEAD
        with suppress(ConnectionError):
            await says(writer)
            await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def happens() -> RuntimeAnswer:
        async with await asyncio.start_server(answered, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            answer = await asyncio.wait_for(
                ask_runtime(RuntimePlace("127.0.0.1", port, "/exec/token"), HEAD), PATIENCE
            )
            answer.connection.close()
            return answer

    return asyncio.run(happens())


def test_all_bytes_of_a_stream_that_begins_are_passed_on() -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n"
    answer = asked(plainly(head + b"first frame"))
    assert (answer.status, answer.received) == (101, head + b"first frame")


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\ngone and more", b"gone "),
        (b"HTTP/1.1 404 Not Found\r\n\r\nto the end", b"to the end"),
        (
            b"HTTP/1.1 500 Broken\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            b"abcde",
        ),
        (b"HTTP/1.1 500 Broken\r\nContent-Length: 99\r\n\r\nhalf", b"half"),
        (b"HTTP/1.1 500 Broken\r\nContent-Length: %b\r\n\r\nhalf" % (b"9" * 5000), b"half"),
        (b"HTTP/1.1 500 Broken\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nabcde", b""),
    ],
)
def test_a_refusal_is_passed_on_with_its_body(answer: bytes, body: bytes) -> None:
    assert asked(plainly(answer)).received == body


def test_of_the_headers_of_a_refusal_the_client_gets_two() -> None:
    answer = asked(
        plainly(
            b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nSet-Cookie: a=b\r\n"
            b"X-Accepted-Stream-Protocol-Versions: v4.channel.k8s.io\r\nLocation: http://x/\r\n\r\n"
        )
    )
    assert answer.headers == {
        "content-type": "text/plain",
        "x-accepted-stream-protocol-versions": "v4.channel.k8s.io",
    }


def test_a_header_that_is_folded_over_lines_is_one_line_for_the_client() -> None:
    answer = asked(plainly(b"HTTP/1.1 403 No\r\nContent-Type: text/plain;\r\n charset=x\r\n\r\n"))
    assert answer.headers["content-type"] == "text/plain; charset=x"


def test_a_body_without_end_is_cut() -> None:
    assert len(asked(without_end).received) == LARGEST_BODY


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", "answers with 200"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\n\r\n", "answers with 302"),
        (b"HTTP/1.1 101 Half a head\r\n", "ends the connection"),
        (b"", "ends the connection"),
        (b"SSH-2.0-x\r\n\r\n", "something else than HTTP"),
        (b"HTTP/1.1 okay\r\n\r\n", "something else than HTTP"),
        (b"HTTP/1.1 99 Few\r\n\r\n", "something else than HTTP"),
        (b"HTTP/1.1 %b Many\r\n\r\n" % (b"5" * 5000), "something else than HTTP"),
        (b"HTTP/1.1 101 Large\r\nA: " + bytes(LARGEST_HEAD + 1), "too large a head"),
    ],
)
def test_what_is_neither_a_stream_nor_a_refusal_is_an_error(answer: bytes, why: str) -> None:
    with pytest.raises(RuntimeAnswerError, match=why):
        asked(plainly(answer))


def test_without_a_free_descriptor_the_runtime_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none_is_free(*_: object) -> socket.socket:
        raise OSError(errno.EMFILE, "")

    async def happens() -> None:
        monkeypatch.setattr(socket, "socket", none_is_free)
        with pytest.raises(RuntimeAnswerError, match="cannot be reached: Too many open files"):
            await ask_runtime(RuntimePlace("127.0.0.1", 1, "/"), HEAD)
        monkeypatch.undo()

    asyncio.run(happens())


def test_a_runtime_that_is_not_there_is_an_error() -> None:
    place = RuntimePlace("127.0.0.1", free_ports(1)[0], "/")
    with pytest.raises(RuntimeAnswerError, match="cannot be reached: Connection refused"):
        asyncio.run(ask_runtime(place, HEAD))
