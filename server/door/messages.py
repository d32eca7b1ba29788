"""What the door and the agent tell each other, over one pair of sockets: a line of JSON, bytes, descriptors.

The pair keeps messages apart (``SOCK_SEQPACKET``). A message is whole or not there.
"""

from __future__ import annotations

import array
import json
import os
import socket
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

LARGEST: Final = 128 * 1024
"""Bytes of a message."""
MOST_STREAMS: Final = 100
"""At a time."""
MOST_DESCRIPTORS: Final = 4
_IS_CUT: Final = socket.MSG_TRUNC | socket.MSG_CTRUNC

# The agent tells the door.
CONTEXT: Final = "context"
"""How to speak TLS from now on: descriptors of certificate, key, and authorities if there are any."""
SWITCH: Final = "switch"
"""A connection is a stream now: its descriptor, and the first bytes to the client."""
CUT: Final = "cut"
"""A connection is to end at once."""

# The door tells the agent.
OPENED: Final = "opened"
"""There is a connection: its descriptor, and who the client's certificate says that it is."""
MOVED: Final = "moved"
"""Bytes that streams have carried so far, at most once a second."""
ENDED: Final = "ended"
"""A stream has ended, with the bytes that it has carried."""
REFUSED: Final = "refused"
"""How many connections were refused or cut since the last time, by the reason."""


class Message(NamedTuple):
    """One message, and what came with it. The descriptors are the receiver's to close."""

    kind: str
    fields: dict[str, Any]
    data: bytes
    descriptors: tuple[int, ...]


def send(
    pair: socket.socket,
    kind: str,
    fields: dict[str, Any],
    data: bytes = b"",
    descriptors: Sequence[int] = (),
) -> None:
    """Send a message. The descriptors stay the sender's to close. Raises OSError, and if it has to wait."""
    head = json.dumps({"kind": kind, **fields}).encode()
    rights = array.array("i", descriptors)
    more = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if descriptors else []
    pair.sendmsg([head, b"\n", data], more)


def receive(pair: socket.socket) -> Message | None:
    """Return the next message; None if the other side has ended. Raises BlockingIOError if there is none.

    What does not arrive whole is left out: it is too large, or no descriptor is free. Its descriptors are
    closed, so whoever waits at their other ends hears of it.
    """
    space = socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)
    while True:
        received, more, flags, _ = pair.recvmsg(LARGEST, space, socket.MSG_CMSG_CLOEXEC)
        descriptors = _descriptors(more)
        if not flags & _IS_CUT:
            break
        for each in descriptors:
            os.close(each)
    if not received:
        return None
    head, _, data = received.partition(b"\n")
    fields = json.loads(head)
    return Message(fields.pop("kind"), fields, data, descriptors)


def _descriptors(ancillary: Sequence[tuple[int, int, bytes]]) -> tuple[int, ...]:
    found = array.array("i")
    for level, kind, rights in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(rights[: len(rights) - len(rights) % found.itemsize])
    return tuple(found)


def in_memory(name: str, data: bytes) -> int:
    """Return the descriptor of a file in memory with ``data``, which no path leads to."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
