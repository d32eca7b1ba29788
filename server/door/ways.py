"""How bytes flow from one end of a connection to the other: as fast as the slower one takes them.

Nothing here waits. An end says for which events it is to be called again.
"""

from __future__ import annotations

import select
import socket
import ssl
from contextlib import suppress
from typing import Final, Protocol

CHUNK: Final = 64 * 1024
"""Bytes that are read at once, and that may wait for a slow end. More than a record of TLS: what stays in it
when it was decrypted is seen by no ``epoll``."""
TURN: Final = 4
"""So often one end is read before others have their turn."""


class End(Protocol):
    """One end of a connection."""

    number: int
    """Its descriptor."""
    reads_on: int
    """What to wait for before the next read, if the last one had nothing."""
    writes_on: int

    def read(self, into: memoryview) -> int | None:
        """Return how many bytes were read; 0 at the end, None if there are none yet. Raises OSError."""
        ...

    def write(self, data: memoryview) -> int:
        """Return how many bytes were taken. Raises OSError."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class PlainEnd:
    """A socket. Whoever has closed its other side takes nothing more; what they wrote is still read."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self.number = connection.fileno()
        self.reads_on = select.EPOLLIN
        self.writes_on = select.EPOLLOUT
        self._connection = connection

    def read(self, into: memoryview) -> int | None:
        """Read what is there."""
        try:
            return self._connection.recv_into(into)
        except BlockingIOError:
            return None
        except ConnectionResetError:  # they closed it, and had not read all
            return 0

    def write(self, data: memoryview) -> int:
        """Write what fits."""
        try:
            return self._connection.send(data)
        except BlockingIOError:
            return 0
        except (BrokenPipeError, ConnectionResetError):  # the next read says so
            return len(data)

    def close(self) -> None:
        """Close it."""
        self._connection.close()


class TlsEnd:
    """A client that speaks TLS. A read may have to write before, and a write to read."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self.number = connection.fileno()
        self.reads_on = select.EPOLLIN
        self.writes_on = select.EPOLLOUT
        self.tls = connection

    def read(self, into: memoryview) -> int | None:
        """Read what was decrypted."""
        try:
            return self.tls.recv_into(into)
        except ssl.SSLWantReadError:
            self.reads_on = select.EPOLLIN
        except ssl.SSLWantWriteError:
            self.reads_on = select.EPOLLOUT
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return 0
        return None

    def write(self, data: memoryview) -> int:
        """Encrypt what fits."""
        try:
            return self.tls.send(data)
        except ssl.SSLWantReadError:
            self.writes_on = select.EPOLLIN
        except ssl.SSLWantWriteError:
            self.writes_on = select.EPOLLOUT
        return 0

    def shakes_hands(self) -> bool:
        """Go on with the handshake. Return whether it has ended. Raises OSError."""
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            self.reads_on = select.EPOLLIN
        except ssl.SSLWantWriteError:
            self.reads_on = select.EPOLLOUT
        else:
            return True
        return False

    def close(self) -> None:
        """Say that it ends, if that is possible at once, and close it."""
        with suppress(OSError, ValueError):
            self.tls.unwrap()
        self.tls.close()


class Way:
    """From one end to the other. What the other one does not take at once waits here."""

    def __init__(self, source: End, sink: End, first: bytes = b"") -> None:
        self.source = source
        self.sink = sink
        self.moved = 0
        """Bytes that the sink has taken."""
        self.has_ended = False
        """The source has: what waits is all that is left."""
        self._waits = memoryview(first)

    @property
    def is_blocked(self) -> bool:
        """Whether something waits for the sink."""
        return len(self._waits) > 0

    @property
    def is_done(self) -> bool:
        """Whether the sink has all that the source had."""
        return self.has_ended and not self._waits

    def move(self, scratch: bytearray) -> bool:
        """Move what can be moved in one turn. Return whether there may be more at once. Raises OSError."""
        for _ in range(TURN):
            if self._waits:
                self._waits = self._waits[self._put(self._waits) :]
                if self._waits:
                    return False
            if self.has_ended:
                return False
            read = self.source.read(memoryview(scratch))
            if read is None:
                return False
            self.has_ended = read == 0
            data = memoryview(scratch)[:read]
            put = self._put(data) if read else 0
            if put < read:
                self._waits = memoryview(bytes(data[put:]))
        return True

    def interest(self, end: End) -> int:
        """Return the events at ``end`` that this way waits for."""
        if self._waits:
            return self.sink.writes_on if end is self.sink else 0
        if self.has_ended or end is not self.source:
            return 0
        return self.source.reads_on

    def _put(self, data: memoryview) -> int:
        put = self.sink.write(data)
        self.moved += put
        return put
