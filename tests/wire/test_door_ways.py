"""How bytes flow through the door: as fast as the slower end takes them, and none gets lost."""

from __future__ import annotations

import random
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import NamedTuple, cast

import pytest

from server.door.connections import TAKES_WITHIN, DoorConnection
from server.door.ways import CHUNK, PlainEnd, TlsEnd, Way

MUCH = 2**26
"""Bytes: more than two pairs of sockets hold."""


class Flow(NamedTuple):
    """A way, and who is at its two ends."""

    way: Way
    writer: socket.socket
    reader: socket.socket
    scratch: bytearray

    def goes_on(self) -> None:
        """Move as long as something moves at once."""
        while self.way.move(self.scratch):
            pass

    def reads(self) -> bytes:
        """Return all that has arrived."""
        found = b""
        try:
            while more := self.reader.recv(2**20):
                found += more
        except BlockingIOError:
            pass
        return found


@pytest.fixture
def flow() -> Iterator[Flow]:
    """Return a way between two pairs of sockets, none of which blocks."""
    with ExitStack() as held:
        pairs = [socket.socketpair() for _ in range(2)]
        for each in (socket for pair in pairs for socket in pair):
            held.callback(each.close)
            each.settimeout(0)
        (writer, source), (sink, reader) = pairs
        way = Way(PlainEnd(source), PlainEnd(sink), b"first")
        yield Flow(way, writer, reader, bytearray(CHUNK))


def test_the_first_bytes_come_first(flow: Flow) -> None:
    flow.writer.send(b" and then")
    flow.goes_on()
    assert flow.reads() == b"first and then"
    assert flow.way.moved == len(b"first and then")


def test_an_end_that_takes_nothing_stops_the_other_one(flow: Flow) -> None:
    written = 0
    try:
        while written < MUCH:
            written += flow.writer.send(bytes(CHUNK))
            flow.goes_on()
    except BlockingIOError:
        pass
    way = flow.way
    assert written < MUCH
    assert way.is_blocked
    assert way.interest(way.source) == 0
    assert way.interest(way.sink) == select.EPOLLOUT
    read = len(flow.reads())
    while len(more := (flow.goes_on(), flow.reads())[1]):
        read += len(more)
    assert read == written + len(b"first")
    assert way.interest(way.source) == select.EPOLLIN


def test_what_waits_is_written_after_the_source_has_ended(flow: Flow) -> None:
    luck, sent = random.Random(1), b""
    try:
        while True:
            data = luck.randbytes(CHUNK)
            sent += data[: flow.writer.send(data)]
            flow.goes_on()
    except BlockingIOError:
        flow.writer.close()
    assert not flow.way.is_done
    got = b""
    while not flow.way.is_done:
        got += flow.reads()
        flow.goes_on()
    assert got + flow.reads() == b"first" + sent


def test_whoever_has_ended_takes_nothing_more_and_what_they_wrote_is_still_read() -> None:
    ours, theirs = socket.socketpair()
    end, scratch = PlainEnd(ours), bytearray(CHUNK)
    end.write(memoryview(b"never read"))
    theirs.send(b"last words")
    theirs.close()

    assert end.write(memoryview(b"more")) == len(b"more")
    read = end.read(memoryview(scratch))
    assert read is not None
    assert scratch[:read] == b"last words"
    assert end.read(memoryview(scratch)) == 0
    end.close()


def test_a_client_has_a_minute_from_when_something_waits_for_it_and_its_own_bytes_do_not_count() -> (
    None
):
    client, door_side = socket.socketpair()
    connection = DoorConnection(1, cast(TlsEnd, PlainEnd(door_side)), "10.0.0.9", now=0.0)
    with client, connection.open(0.0) as agent:
        agent.settimeout(0)
        scratch = bytearray(CHUNK)
        with suppress(BlockingIOError):  # nothing came for long, and now more than it takes
            while agent.send(bytes(CHUNK)):
                connection.move(scratch, 100.0)
        assert connection.is_late(100.0 + TAKES_WITHIN) == ""
        client.send(b"but it says something")
        connection.move(scratch, 130.0)
        assert connection.is_late(100.1 + TAKES_WITHIN) == "client takes nothing"
        client.recv(2**20)
        connection.move(scratch, 140.0)
        assert connection.is_late(100.1 + TAKES_WITHIN) == ""
        connection.close()
