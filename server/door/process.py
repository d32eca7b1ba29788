"""The agent's side of the door: its process, and the messages to and from it. On an asyncio loop."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from server.door import messages

PROGRAM: Final = "server.door.program"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsContext:
    """How the door speaks TLS."""

    certificate: bytes
    """PEM, with what leads to its authority."""
    key: bytes = field(repr=False)
    authorities: bytes = b""
    """Those whose client certificates count. Without any no certificate is asked for."""
    least: str = "TLSv1_2"
    """The lowest version, as ``ssl.TLSVersion`` names it."""
    ciphers: str = ""
    """As OpenSSL writes it; empty for its own choice."""


class DoorListener(Protocol):
    """Who hears of what happens at the door. On the loop."""

    def opened(self, number: int, connection: socket.socket, told: dict[str, Any]) -> None:
        """Hear of a connection: the agent's side of it, and who the client's certificate says that it is."""
        ...

    def moved(self, streams: dict[int, tuple[int, int]]) -> None:
        """Hear how many bytes streams have carried so far, from the client and to it."""
        ...

    def ended(self, number: int, up: int, down: int) -> None:
        """Hear that a stream has ended, with the bytes that it has carried."""
        ...

    def refused(self, reasons: dict[str, int]) -> None:
        """Hear how many connections were refused since the last time, by reasons of a closed list."""
        ...

    def gone(self) -> None:
        """Hear that the process has ended, with all its connections."""
        ...


class DoorProcess:
    """A door that runs. It ends by itself, with its last stream, once this side is closed."""

    def __init__(self, sockets: Sequence[socket.socket], listener: DoorListener) -> None:
        """Start it. ``sockets`` listen, and stay the caller's. Raises OSError."""
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[tuple[str, dict[str, Any], bytes, tuple[int, ...]]] = deque()
        self._pair, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = _started(theirs, sockets)
        except OSError:
            self._pair.close()
            raise
        finally:
            theirs.close()
        self._pair.settimeout(0)
        self._loop.add_reader(self._pair.fileno(), self._hear)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def wait(self) -> None:
        """Return when it has ended. It may block: as long as there are streams."""
        self._process.wait()

    def use(self, context: TlsContext) -> None:
        """Have connections from now on speak TLS so. Raises OSError if there is no memory for the files."""
        files: list[int] = []
        try:
            files.append(messages.in_memory("certificate", context.certificate))
            files.append(messages.in_memory("key", context.key))
            if context.authorities:
                files.append(messages.in_memory("authorities", context.authorities))
            fields = {"least": context.least, "ciphers": context.ciphers}
            self._send(messages.CONTEXT, fields, descriptors=tuple(files))
        except OSError:
            for each in files:
                os.close(each)
            raise

    def switch(self, number: int, descriptor: int, first: bytes) -> None:
        """Make a connection a stream between the client and a descriptor, which belongs to the door then.

        ``first`` are the first bytes to the client. The agent's side of the connection may be closed after
        this call.
        """
        self._send(messages.SWITCH, {"number": number}, first, (descriptor,))

    def cut(self, number: int) -> None:
        """End a connection at once."""
        self._send(messages.CUT, {"number": number})

    def close(self) -> None:
        """Let go of it: it accepts nothing more, and ends with its last stream."""
        if self._pair.fileno() < 0:
            return
        self._loop.remove_reader(self._pair.fileno())
        self._loop.remove_writer(self._pair.fileno())
        self._pair.close()
        while self._unsent:
            *_, descriptors = self._unsent.popleft()
            _close_all(descriptors)
        # Whoever ends later is nobody's zombie: it is waited for by what started the agent.
        self._process.poll()

    def _send(
        self,
        kind: str,
        fields: dict[str, Any],
        data: bytes = b"",
        descriptors: tuple[int, ...] = (),
    ) -> None:
        self._unsent.append((kind, fields, data, descriptors))
        self._send_all()

    def _send_all(self) -> None:
        while self._unsent:
            kind, fields, data, descriptors = self._unsent[0]
            try:
                messages.send(self._pair, kind, fields, data, descriptors)
            except BlockingIOError:
                self._loop.add_writer(self._pair.fileno(), self._send_all)
                return
            except OSError:
                pass  # it has ended, which is heard of
            self._unsent.popleft()
            _close_all(descriptors)
        self._loop.remove_writer(self._pair.fileno())

    def _hear(self) -> None:
        while self._pair.fileno() >= 0:
            try:
                message = messages.receive(self._pair)
            except BlockingIOError:
                return
            except OSError:
                message = None
            if message is None:
                self.close()
                self._listener.gone()
            else:
                self._tell(message)

    def _tell(self, message: messages.Message) -> None:
        told, listener = message.fields, self._listener
        match message.kind:
            case messages.OPENED:
                connection = socket.socket(fileno=message.descriptors[0])
                listener.opened(told.pop("number"), connection, told)
            case messages.MOVED:
                listener.moved(
                    {int(each): (up, down) for each, (up, down) in told["streams"].items()}
                )
            case messages.ENDED:
                listener.ended(told["number"], told["up"], told["down"])
            case messages.REFUSED:
                listener.refused(told["reasons"])
            case _:
                pass


def _started(pair: socket.socket, sockets: Sequence[socket.socket]) -> subprocess.Popen[bytes]:
    numbers = [pair.fileno(), [each.fileno() for each in sockets]]
    return subprocess.Popen(  # noqa: S603  # our own program
        [sys.executable, "-P", "-m", PROGRAM, json.dumps(numbers)],
        # It finds what this process finds, wherever this one was started.
        env={"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        pass_fds=(pair.fileno(), *(each.fileno() for each in sockets)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # what ends the agent's group does not end streams
    )


def _close_all(descriptors: Sequence[int]) -> None:
    for each in descriptors:
        with suppress(OSError):
            os.close(each)
