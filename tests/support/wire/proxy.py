"""A proxy on loopback that does CONNECT and nothing else, and an HTTP/1.1 server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @override
    def log_message(self, format: str, *args: Any) -> None:
        pass


class ConnectProxy(_Handler):
    """Joins its client to the server it asks for; a refusal to those without authorization."""

    def do_CONNECT(self) -> None:  # the standard library's name
        self.server.seen.append((self.path, self.headers.get("Proxy-Authorization", "")))  # type: ignore[attr-defined]
        host, _, port = self.path.partition(":")
        if "Proxy-Authorization" not in self.headers:
            self.send_error(407)
            return
        with socket.create_connection((host, int(port))) as upstream:
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            back = threading.Thread(target=_pump, args=(upstream, self.connection))
            back.start()
            _pump(self.connection, upstream)
            back.join()


class Http1(_Handler):
    """Answers every GET with an object whose name is ``by-http-1.1``."""

    @override
    def finish(self) -> None:
        # Whoever speaks HTTP/2 gets its refusal before the end: closing with something unread is a RST.
        self.connection.shutdown(socket.SHUT_WR)
        while self.connection.recv(65536):
            pass
        super().finish()

    def do_GET(self) -> None:  # the standard library's name
        body = b'{"metadata": {"name": "by-http-1.1"}}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(handler: type[ConnectProxy | Http1]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Serve; give ``host:port``, and what a proxy saw: whom to join to, and the authorization."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    seen: list[tuple[str, str]] = []
    server.seen = seen  # type: ignore[attr-defined]
    server.daemon_threads = False
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
