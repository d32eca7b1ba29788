"""Asks the health service of gRPC over one connection. Pure.

One connection carries one call, so there is one stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from hpack import Decoder, Encoder, HPACKError
from typing_extensions import override

from actors.probes.exchanges import MOST_QUOTED, Answer, ProbeExchange, readable
from actors.probes.http2_frames import (
    ACK,
    END_HEADERS,
    END_STREAM,
    PREFACE,
    Frame,
    FrameReader,
    FrameType,
    FramingError,
    framed,
)
from manifests.times import format_duration
from messages.probing import ProbeOutcome, ProbeResult
from messages.units import Seconds

MOST_OF_ANSWER: Final = 65_536
"""Bytes that are read, whatever they are. An answer has some hundred."""
_STREAM: Final = 1
_PUSH: Final = 2
"""The setting that allows a server to send what nobody asked for."""
_SERVING: Final = 1
_STATUSES: Final = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
_UNIMPLEMENTED: Final = 12
_DEADLINE: Final = 4
_CODES: Final = (
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
)


def call_of(
    where: str, service: str, timeout: Seconds, user_agent: str, *, is_tls: bool = False
) -> bytes:
    """Return what asks for the health of ``service``: all of it can be sent at once."""
    head = Encoder().encode(
        (
            (b":method", b"POST"),
            (b":scheme", b"https" if is_tls else b"http"),
            (b":path", b"/grpc.health.v1.Health/Check"),
            (b":authority", where.encode()),
            (b"content-type", b"application/grpc"),
            (b"user-agent", user_agent.encode("ascii", "replace")),
            (b"te", b"trailers"),
            (b"grpc-timeout", b"%dS" % min(max(1, round(timeout)), 99_999_999)),
        ),
        huffman=False,
    )
    name = service.encode("utf-8", "replace")
    message = b"\x0a" + _varint(len(name)) + name if name else b""
    settings = _PUSH.to_bytes(2, "big") + bytes(4)
    return b"".join(
        (
            PREFACE,
            framed(FrameType.SETTINGS, 0, 0, settings),
            framed(FrameType.HEADERS, END_HEADERS, _STREAM, head),
            framed(
                FrameType.DATA,
                END_STREAM,
                _STREAM,
                b"\0" + len(message).to_bytes(4, "big") + message,
            ),
        )
    )


class GrpcExchange(ProbeExchange):
    """One call of the health service."""

    __slots__ = (
        "_block",
        "_block_flags",
        "_data",
        "_decoder",
        "_fields",
        "_frames",
        "_is_connected",
        "_read",
        "_timeout",
        "_where",
        "outgoing",
    )

    def __init__(self, where: str, call: bytes, timeout: Seconds) -> None:
        self._where = where
        self._timeout = timeout
        self._frames = FrameReader()
        self._decoder: Decoder | None = None
        """Of heads: what they have in common is said once. None before the first one."""
        self._is_connected = False
        self._read = 0
        self._data = b""
        self._fields: dict[bytes, bytes] = {}
        self._block: bytes | None = None
        """Of a head that is not complete."""
        self._block_flags = 0
        self.outgoing = call

    @override
    def connected(self) -> Answer:
        self._is_connected = True
        return None

    @override
    def received(self, data: bytes) -> Answer:
        if not self._read and data.startswith(b"HTTP/"):
            return self._failed_call("the server speaks HTTP/1.1, and no gRPC")
        is_first = self._read < 9
        self._read += len(data)
        try:
            for frame in self._frames.feed(data):
                if is_first and frame.type != FrameType.SETTINGS:
                    return self._failed_call("the server speaks no HTTP/2")
                is_first = False
                if answer := self._take(frame):
                    return answer
        except FramingError as error:
            return self._failed_call(str(error))
        except HPACKError:
            return self._failed_call("malformed HTTP/2: a head that cannot be read")
        if self._read > MOST_OF_ANSWER:
            return self._failed_call(f"the answer is longer than {MOST_OF_ANSWER} bytes")
        return None

    @override
    def ended(self) -> Answer:
        return self._failed_call("error reading from server: EOF")

    @override
    def failed(self, why: str) -> ProbeOutcome:
        if self._is_connected:
            return self._failed_call(why)
        text = f'error: failed to connect service at "{self._where}": {why}'
        return ProbeOutcome(ProbeResult.FAILURE, text[:MOST_QUOTED])

    @override
    def given_up(self, timeout: Seconds) -> ProbeOutcome:
        within = format_duration(timeout)
        if self._read:
            text = f"timeout: health rpc did not complete within {within}"
        else:
            text = f'timeout: failed to connect service "{self._where}" within {within}'
        return ProbeOutcome(ProbeResult.FAILURE, text)

    def _take(self, frame: Frame) -> Answer:
        if self._block is not None and frame.type != FrameType.CONTINUATION:
            raise FramingError("malformed HTTP/2: a head breaks off")
        if frame.stream == _STREAM:
            return self._take_of_call(frame)
        match frame.type:
            case FrameType.SETTINGS if not frame.flags & ACK:
                self.outgoing += framed(FrameType.SETTINGS, ACK, 0)
            case FrameType.PING if not frame.flags & ACK:
                self.outgoing += framed(FrameType.PING, ACK, 0, frame.payload)
            case FrameType.GOAWAY if int.from_bytes(frame.payload[:4], "big") < _STREAM:
                text = readable(frame.payload[8:])
                return self._failed_call("the server goes away" + (f": {text}" if text else ""))
            case _:
                pass
        return None

    def _take_of_call(self, frame: Frame) -> Answer:
        is_whole = bool(frame.flags & END_HEADERS)
        match frame.type:
            case FrameType.HEADERS:
                self._block, self._block_flags = frame.content, frame.flags
                return self._take_head(is_whole=is_whole)
            case FrameType.CONTINUATION if self._block is not None:
                self._block += frame.payload
                return self._take_head(is_whole=is_whole)
            case FrameType.DATA:
                self._data += frame.content
                return self._answer() if frame.flags & END_STREAM else None
            case FrameType.RST_STREAM:
                code = int.from_bytes(frame.payload[:4], "big")
                return self._failed_call(f"stream terminated by RST_STREAM with error code: {code}")
            case _:
                return None

    def _take_head(self, *, is_whole: bool) -> Answer:
        if not is_whole or self._block is None:
            return None
        self._decoder = self._decoder or Decoder(MOST_OF_ANSWER)
        self._fields.update(self._decoder.decode(self._block, raw=True))
        self._block = None
        return self._answer() if self._block_flags & END_STREAM else None

    def _answer(self) -> Answer:
        """Return what the whole of the answer says."""
        said_code = self._fields.get(b"grpc-status", b"")
        if not said_code.isdigit() or len(said_code) > 4:
            http = readable(self._fields.get(b":status", b""))[:16]
            return self._failed_call(f"unexpected HTTP status code received from server: {http}")
        code = int(said_code)
        if code:
            return self._failure(code)
        status = _status_of(self._data)
        if status is None:
            return self._failed_call("the answer is no message of the health service")
        if status == _SERVING:
            return ProbeOutcome(ProbeResult.SUCCESS, "service healthy")
        name = _STATUSES[status] if status < len(_STATUSES) else str(status)
        return _failed(f'service unhealthy (responded with "{name}")')

    def _failure(self, code: int) -> ProbeOutcome:
        said = readable(unquote(self._fields.get(b"grpc-message", b"").decode("latin-1")).encode())
        if code == _UNIMPLEMENTED:
            return _failed(
                "error: this server does not implement the grpc health protocol"
                f" (grpc.health.v1.Health): {said}"
            )
        if code == _DEADLINE:
            within = format_duration(self._timeout)
            return _failed(f"timeout: health rpc did not complete within {within}")
        name = _CODES[code] if code < len(_CODES) else f"Code({code})"
        return self._failed_call(f"rpc error: code = {name} desc = {said}")

    def _failed_call(self, why: str) -> ProbeOutcome:
        return _failed(f"error: health rpc probe failed: {why}")


def _failed(text: str) -> ProbeOutcome:
    return ProbeOutcome(ProbeResult.FAILURE, text[:MOST_QUOTED])


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _status_of(data: bytes) -> int | None:
    """Return the status in a message with its head of five bytes; None if it is none."""
    length = int.from_bytes(data[1:5], "big")
    if len(data) != 5 + length or data[:1] != b"\0":
        return None
    status, numbers = 0, _numbers(data[5:])
    try:
        for tag in numbers:
            value = next(numbers)
            if tag != 0x08:
                return None
            status = value
    except (StopIteration, ValueError):
        return None
    return status


def _numbers(data: bytes) -> Iterator[int]:
    """Yield the numbers in ``data``, one after the other. Raises ``ValueError`` if the last breaks off."""
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            yield value
            value = shift = 0
        elif shift > 63:
            raise ValueError("too large")
    if shift:
        raise ValueError("a number breaks off")
