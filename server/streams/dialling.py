"""Connects to the container runtime for a stream, and reads what it answers. On an asyncio loop."""

from __future__ import annotations

import asyncio
import io
import os
import re
import socket
from dataclasses import dataclass, field
from http.client import HTTPException, parse_headers
from typing import Final

from messages.units import Seconds
from server.streams.upgrades import RuntimePlace

CONNECTS_WITHIN: Final = Seconds(2.0)
ANSWERS_WITHIN: Final = Seconds(30.0)
"""As long as a runtime waits for its own streams."""
LARGEST_HEAD: Final = 32 * 1024
LARGEST_BODY: Final = 64 * 1024
SWITCHING: Final = 101
_PASSED_BACK: Final[tuple[str, ...]] = ("content-type", "x-accepted-stream-protocol-versions")
_END: Final = b"\r\n\r\n"
_VERSIONS: Final = frozenset({b"HTTP/1.1", b"HTTP/1.0"})
_STATUS: Final = re.compile(rb"[1-5][0-9]{2}")
_LENGTH: Final = re.compile(r"[0-9]{1,9}")
_CHUNK_SIZE: Final = re.compile(rb"[0-9A-Fa-f]{1,8}")


class RuntimeAnswerError(Exception):
    """The runtime gives no stream. The text is a sentence for the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeAnswer:
    """What a runtime has answered."""

    status: int
    headers: dict[str, str]
    """Those that the client gets if it is no stream."""
    received: bytes = field(repr=False)
    """All bytes so far: the head, and what came with it. Of a refusal the body alone."""
    connection: socket.socket
    """The caller's to close, or to hand over."""


async def ask_runtime(place: RuntimePlace, head: bytes) -> RuntimeAnswer:
    """Return what the runtime answers to a request. Raises ``RuntimeAnswerError``."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    try:
        connection = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise _unreachable(error) from None
    connection.settimeout(0)
    try:
        return await _asked(connection, place, head)
    except BaseException:
        connection.close()
        raise


async def _asked(connection: socket.socket, place: RuntimePlace, head: bytes) -> RuntimeAnswer:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(CONNECTS_WITHIN):
            await loop.sock_connect(connection, (place.host, place.port))
            await loop.sock_sendall(connection, head)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        async with asyncio.timeout(ANSWERS_WITHIN):
            return await _read(connection)
    except TimeoutError:
        raise RuntimeAnswerError("the container runtime does not answer") from None
    except OSError as error:
        raise _unreachable(error) from None


def _unreachable(error: OSError) -> RuntimeAnswerError:
    reason = os.strerror(error.errno) if error.errno else "the connection is broken"
    return RuntimeAnswerError(f"the container runtime cannot be reached: {reason}")


async def _read(connection: socket.socket) -> RuntimeAnswer:
    loop, received = asyncio.get_running_loop(), b""
    while _END not in received:
        if len(received) > LARGEST_HEAD:
            raise RuntimeAnswerError("the container runtime answers with too large a head")
        more = await loop.sock_recv(connection, LARGEST_HEAD)
        if not more:
            raise RuntimeAnswerError("the container runtime ends the connection")
        received += more
    head, _, body = received.partition(_END)
    status, headers = _parsed(head)
    if status == SWITCHING:
        return RuntimeAnswer(status=status, headers={}, received=received, connection=connection)
    if status < 400:  # also a redirection: nobody else is asked
        raise RuntimeAnswerError(f"the container runtime answers with {status}")
    body = await _rest(connection, body, headers)
    kept = {name: headers[name] for name in _PASSED_BACK if name in headers}
    return RuntimeAnswer(status=status, headers=kept, received=body, connection=connection)


async def _rest(connection: socket.socket, body: bytes, headers: dict[str, str]) -> bytes:
    """Return the body of a refusal, as much as is of use: what is not whole is better than nothing."""
    said = headers.get("content-length", "")
    most = min(int(said), LARGEST_BODY) if _LENGTH.fullmatch(said) else LARGEST_BODY
    is_chunked = "chunked" in headers.get("transfer-encoding", "").lower()
    while len(body) < most and not (is_chunked and body.endswith(b"0\r\n\r\n")):
        try:
            async with asyncio.timeout(CONNECTS_WITHIN):
                more = await asyncio.get_running_loop().sock_recv(connection, LARGEST_BODY)
        except (TimeoutError, OSError):
            break
        if not more:
            break
        body += more
    return _without_chunks(body)[:LARGEST_BODY] if is_chunked else body[:most]


def _without_chunks(body: bytes) -> bytes:
    """Return what the chunks have that came."""
    found, at = [], 0
    while (end := body.find(b"\r\n", at)) >= 0:
        size = _CHUNK_SIZE.match(body, at)
        if size is None:
            break
        length = int(size[0], 16)
        found.append(body[end + 2 : end + 2 + length])
        at = end + 2 + length + 2
    return b"".join(found)


def _parsed(head: bytes) -> tuple[int, dict[str, str]]:
    """Return the status and the headers of an answer, with names in small letters."""
    first, _, lines = head.partition(b"\r\n")
    words = first.split(b" ", 2)
    if len(words) < 2 or words[0] not in _VERSIONS or not _STATUS.fullmatch(words[1]):
        raise RuntimeAnswerError("the container runtime answers with something else than HTTP")
    try:
        headers = parse_headers(io.BytesIO(lines + _END))
    except (HTTPException, ValueError):
        raise RuntimeAnswerError("the container runtime answers with a broken head") from None
    # A value may be folded over lines, which may not be sent on.
    return int(words[1]), {name.lower(): " ".join(value.split()) for name, value in headers.items()}
