"""What arrives whole of the door's pair, and what becomes of the rest."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from server.door import messages

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Return the two ends of a pair, which do not block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.settimeout(0)
        theirs.settimeout(0)
        yield ours, theirs


@pytest.mark.parametrize(
    ("data", "descriptors"),
    [(bytes(messages.LARGEST), 1), (b"", 2 * messages.MOST_DESCRIPTORS)],
    ids=["too large", "too many descriptors"],
)
def test_what_does_not_arrive_whole_is_left_out_with_its_descriptors(
    pair: Pair, data: bytes, descriptors: int
) -> None:
    ours, theirs = pair
    with ExitStack() as held:
        reader, writer = os.pipe()
        held.callback(os.close, writer)
        messages.send(ours, messages.SWITCH, {"number": 1}, data, [reader] * descriptors)
        os.close(reader)
        messages.send(ours, messages.CUT, {"number": 2})

        message = messages.receive(theirs)

        assert message is not None
        assert (message.kind, message.fields) == (messages.CUT, {"number": 2})
        with pytest.raises(BrokenPipeError):  # nobody has the other end any more
            os.write(writer, b"x")
