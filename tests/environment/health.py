"""How containers of a machine answer those who probe them: by a command, over HTTP, gRPC or a connection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple
from zlib import crc32

from hpack import Encoder

from actors.probes.http2_frames import END_HEADERS, END_STREAM, PREFACE, FrameType, framed

ASKED: Final[Mapping[str, str]] = {
    "startupProbe": "started",
    "livenessProbe": "alive",
    "readinessProbe": "ready",
}
"""What probes ask a container, by their fields."""
COMMAND: Final = "is"
PAGE: Final = re.compile(rb"^GET /([a-z]+)/([a-z]+) ")
CALL: Final = re.compile(rb"([a-z]+)/([a-z]+)$")
_FIRST_PORT: Final = 10_000
_PORTS: Final = 50_000
_SERVING: Final = {True: 1, False: 2}
_STREAM: Final = 1


class Answer(Enum):
    """What a container answers."""

    YES = "yes"
    NO = "no"
    NONE = "none"
    """Nothing, for as long as anybody waits."""


class Question(NamedTuple):
    """What somebody asks a container."""

    container: str
    """Its name."""
    what: str

    @property
    def path(self) -> str:
        """Where it is asked over HTTP; without the first stroke the name of a service of gRPC."""
        return f"/{self.container}/{self.what}"

    @property
    def port(self) -> int:
        """The port by which it is asked over a connection, in which nothing is said."""
        return _FIRST_PORT + crc32(self.path.encode()) % _PORTS

    @property
    def command(self) -> list[str]:
        """The command that asks it."""
        return [COMMAND, self.what]


@dataclass(slots=True, eq=False)
class Health:
    """How the containers of a machine are."""

    starts_up_in: dict[str, float] = field(default_factory=dict)
    """Seconds after its start within which a container has not started yet, by its name."""
    troubles: dict[tuple[str, str], Answer] = field(default_factory=dict)
    """What containers answer in place of yes, by their ids and by what they are asked."""

    def says(self, container_id: str, name: str, what: str, age: float) -> Answer:
        """Return what a container answers so many seconds after its start."""
        if what == "started" and age < self.starts_up_in.get(name, 0.0):
            return Answer.NO
        return self.troubles.get((container_id, what), Answer.YES)


def question_of(name: str, port: int, sent: bytes) -> str:
    """Return what a container is asked over a connection. Empty if it does not understand that."""
    if not sent:
        by_port = {Question(name, what).port: what for what in ASKED.values()}
        return by_port.get(port, "")
    asked = (CALL if sent.startswith(PREFACE) else PAGE).search(sent)
    return asked.group(2).decode() if asked and asked.group(1).decode() == name else ""


def reply(sent: bytes, *, is_yes: bool) -> bytes:
    """Return what a container sends who was asked so. Empty over a connection where nothing is said."""
    if sent.startswith(PREFACE):
        return _call_ended(_SERVING[is_yes])
    status = b"200 OK" if is_yes else b"503 Service Unavailable"
    return b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n" if sent else b""


def _call_ended(status: int) -> bytes:
    """Return the answer of the health service of gRPC."""
    encoder = Encoder()
    head = encoder.encode([(b":status", b"200"), (b"content-type", b"application/grpc")])
    message = bytes((0, 0, 0, 0, 2, 0x08, status))
    return b"".join(
        (
            framed(FrameType.SETTINGS, 0, 0),
            framed(FrameType.HEADERS, END_HEADERS, _STREAM, head),
            framed(FrameType.DATA, 0, _STREAM, message),
            framed(
                FrameType.HEADERS,
                END_HEADERS | END_STREAM,
                _STREAM,
                encoder.encode([(b"grpc-status", b"0")]),
            ),
        )
    )
