"""Frames of HTTP/2, taken apart and put together. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MOST_OF_FRAME: Final = 16_384
"""Bytes that a frame may carry as long as nobody allowed more."""
_HEAD: Final = 9
_PADDED, _PRIORITY = 0x08, 0x20


class FrameType(IntEnum):
    """Those that matter here. All others are skipped."""

    DATA = 0
    HEADERS = 1
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    CONTINUATION = 9


ACK: Final = 0x01
END_STREAM: Final = 0x01
END_HEADERS: Final = 0x04


class FramingError(Exception):
    """What came is no HTTP/2. The text is for people."""


class Frame(NamedTuple):
    """One frame."""

    type: int
    flags: int
    stream: int
    payload: bytes

    @property
    def content(self) -> bytes:
        """The payload of data or a head, without what only fills. Raises ``FramingError``."""
        begin, end = 0, len(self.payload)
        if self.flags & _PADDED:
            begin, end = 1, end - (self.payload[0] if self.payload else 0)
        if self.type == FrameType.HEADERS and self.flags & _PRIORITY:
            begin += 5
        if begin > end:
            raise FramingError("malformed HTTP/2 frame")
        return self.payload[begin:end]


def framed(kind: FrameType, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame as it is sent."""
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
    return head + payload


class FrameReader:
    """Takes frames out of what arrives, however it is cut."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take ``data``, and yield the frames that are whole. Raises ``FramingError``."""
        buffer = self._buffer + data if self._buffer else data
        while len(buffer) >= _HEAD:
            length = int.from_bytes(buffer[:3], "big")
            if length > MOST_OF_FRAME:
                raise FramingError("malformed HTTP/2 frame")
            if len(buffer) < _HEAD + length:
                break
            stream = int.from_bytes(buffer[5:9], "big") & 0x7FFF_FFFF
            frame = Frame(buffer[3], buffer[4], stream, buffer[_HEAD : _HEAD + length])
            buffer = buffer[_HEAD + length :]
            self._buffer = buffer
            yield frame
        self._buffer = buffer
