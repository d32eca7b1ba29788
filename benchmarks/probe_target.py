"""A target of probes in a process of its own: ``python -m benchmarks.probe_target`` prints its port.

It takes connections, and answers each request by a page of two bytes, one connection for each.
"""

from __future__ import annotations

import json
import select
import socket

ANSWER = (
    b"HTTP/1.1 200 OK\r\nServer: target\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\n"
    b"Content-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
)


def main() -> None:
    """Serve until the process is ended."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4_096)
    listener.settimeout(0.0)
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    epoll = select.epoll()
    epoll.register(listener, select.EPOLLIN)
    connections: dict[int, socket.socket] = {}
    while True:
        for fd, _ in epoll.poll():
            if fd == listener.fileno():
                _accept(listener, epoll, connections)
            else:
                _answer(connections.pop(fd))


def _accept(
    listener: socket.socket, epoll: select.epoll, connections: dict[int, socket.socket]
) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            return
        connection.settimeout(0.0)
        connections[connection.fileno()] = connection
        epoll.register(connection, select.EPOLLIN)


def _answer(connection: socket.socket) -> None:
    try:
        if connection.recv(4_096):
            connection.send(ANSWER)
    except OSError:
        pass  # broken off, as probes of TCP are
    connection.close()


if __name__ == "__main__":
    main()
