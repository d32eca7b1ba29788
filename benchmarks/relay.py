"""A relay on loopback whose connections can be cut all at once, in a process of its own.

``python -m benchmarks.relay PORT`` joins whoever comes to that port of this machine, and says on its
first line at which port it is. Then it answers each line: ``cut`` ends every connection at once without
a farewell; anything else does nothing. The answer says how many came so far, and how many are joined.
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import struct
import sys
from contextlib import suppress
from typing import cast

from typing_extensions import override

_LINGER_NOT = struct.pack("ii", 1, 0)


class Relay:
    """Who is joined at present, and how many came."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._ends: set[End] = set()
        self._joining: set[asyncio.Task[None]] = set()
        self._dials = 0

    def accepted(self) -> End:
        """Return the end of somebody who came."""
        return End(self)

    def opened(self, end: End) -> None:
        """Join somebody who came to the target, whom nothing is read from meanwhile."""
        self._dials += 1
        end.transport.pause_reading()
        task = asyncio.get_running_loop().create_task(self._join(end))
        self._joining.add(task)
        task.add_done_callback(self._joining.discard)

    async def _join(self, end: End) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: End(self, end), "127.0.0.1", self._target)
        except OSError:
            end.transport.abort()
            return
        with suppress(RuntimeError):  # gone meanwhile
            end.transport.resume_reading()

    def note(self, end: End, *, is_joined: bool) -> None:
        """Know of an end, or know of it no more."""
        (self._ends.add if is_joined else self._ends.discard)(end)

    def answer(self, question: str) -> dict[str, int]:
        """Do what is asked; return how it is."""
        if question == "cut":
            for end in tuple(self._ends):
                end.cut()
        return {"dials": self._dials, "joined": len(self._ends) // 2}


class End(asyncio.Protocol):
    """One of the two ends of what is joined."""

    def __init__(self, relay: Relay, other: End | None = None) -> None:
        self._relay = relay
        self.other = other

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        if self.other is None:
            self._relay.opened(self)
        else:
            self.other.other = self
            for end in (self, self.other):
                self._relay.note(end, is_joined=True)

    def cut(self) -> None:
        """End the connection with a reset."""
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        self.transport.abort()

    @override
    def data_received(self, data: bytes) -> None:
        assert self.other is not None
        self.other.transport.write(data)

    @override
    def pause_writing(self) -> None:
        assert self.other is not None
        with suppress(RuntimeError):  # gone meanwhile
            self.other.transport.pause_reading()

    @override
    def resume_writing(self) -> None:
        assert self.other is not None
        with suppress(RuntimeError):
            self.other.transport.resume_reading()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._relay.note(self, is_joined=False)
        if self.other is not None:
            self.other.transport.close()


async def serve(target: int) -> None:
    """Join and answer until there are no more questions."""
    loop = asyncio.get_running_loop()
    relay = Relay(target)
    server = await loop.create_server(relay.accepted, "127.0.0.1", 0, backlog=4096)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        print(json.dumps(relay.answer(line.decode().strip())), flush=True)


if __name__ == "__main__":
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(serve(int(sys.argv[1])))
