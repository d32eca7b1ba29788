"""A small real HTTP/1.1 server on loopback that answers what the test wants, well or badly.

Each connection carries one request. What it answers is bytes, so that everything can be wrong with it.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.support.patience import PATIENCE


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    target: str
    """Path and query, or the whole URL where the server is used as a proxy."""
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""

    def values(self, name: str) -> list[str]:
        """Return all values of one header."""
        return [value for one, value in self.headers if one == name]


Send: TypeAlias = Callable[[bytes], None]
Reply: TypeAlias = bytes | Callable[[Seen, Send], None]


def reply(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """Return a complete answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    """Return an answer that leads elsewhere."""
    return reply(b"", f"Location: {location}", status=status)


NOT_FOUND = reply(status="404 Not Found")


@dataclass
class Http1Server:
    """What is answered to whom. ``routes`` has paths without their queries; ``*`` is any other."""

    listener: socket.socket
    tls: ssl.SSLContext | None = None
    routes: dict[str, Reply] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    """There was a request."""
    closing: threading.Event = field(default_factory=threading.Event)
    hung_up: threading.Event = field(default_factory=threading.Event)
    """A client closed its connection before it had its answer."""
    _threads: list[threading.Thread] = field(default_factory=list)

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self.listener.getsockname()[1]
        return port

    def url(self, target: str = "/", *, user: str = "", host: str = "127.0.0.1") -> str:
        """Return the URL of ``target``."""
        at = f"{user}@" if user else ""
        return f"{'https' if self.tls else 'http'}://{at}{host}:{self.port}{target}"

    def trickle(
        self, head: bytes, chunk: bytes, pause: float = 0.02
    ) -> Callable[[Seen, Send], None]:
        """Return a reply that never ends: ``head``, then ``chunk`` again and again."""

        def send_for_ever(_seen: Seen, send: Send) -> None:
            send(head)
            try:
                while not self.closing.wait(pause):
                    send(chunk)
            except OSError:
                self.hung_up.set()

        return send_for_ever

    def run(self) -> None:
        """Accept until the listener is closed."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            # In this order: before its start nobody can wait for its end.
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        """End every thread."""
        self.closing.set()
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        with ExitStack() as open_sockets, suppress(OSError):
            open_sockets.enter_context(connection)
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
                open_sockets.enter_context(connection)
            seen = _read_request(connection)
            if seen is None:
                return
            self.seen.append(seen)
            self.asked.set()
            path = seen.target.partition("?")[0]
            answer = self.routes.get(path, self.routes.get("*", NOT_FOUND))
            if isinstance(answer, bytes):
                connection.sendall(answer)
            else:
                answer(seen, connection.sendall)


def _read_request(connection: socket.socket) -> Seen | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    first, *lines = data.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")
    pairs = (line.split(": ", 1) for line in lines)
    return Seen(first.split(" ")[1], tuple((name.lower(), value) for name, value in pairs))


@contextmanager
def http1_server(tls: ssl.SSLContext | None = None) -> Iterator[Http1Server]:
    """Start a server, and end it whatever happens."""
    server = Http1Server(socket.create_server(("127.0.0.1", 0)), tls)
    acceptor = threading.Thread(target=server.run, daemon=True)
    acceptor.start()
    try:
        yield server
    finally:
        server.close()
        acceptor.join(PATIENCE)
