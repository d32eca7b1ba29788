"""Targets of probes on loopback that answer well or badly, each connection on a thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import grpc
from typing_extensions import override

from tests.support.patience import PATIENCE

Behave: TypeAlias = Callable[[socket.socket], None]


@dataclass
class RawTarget:
    """Listens, and does with each connection what the test says."""

    listener: socket.socket
    behave: Behave
    ending: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)
    """A connection was closed by the probe."""
    accepted: int = 0

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self.listener.getsockname()[1]
        return port

    def run(self) -> None:
        """Accept until the listener is closed."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        with connection, suppress(OSError):
            self.behave(connection)
        self.left.set()


@contextmanager
def raw_target(behave: Behave) -> Iterator[RawTarget]:
    """Start a target, and end it whatever happens."""
    target = RawTarget(socket.create_server(("127.0.0.1", 0)), behave)
    acceptor = threading.Thread(target=target.run, daemon=True)
    acceptor.start()
    try:
        yield target
    finally:
        target.ending.set()
        with suppress(OSError):
            target.listener.shutdown(socket.SHUT_RDWR)
        target.listener.close()
        acceptor.join(PATIENCE)


def answering(data: bytes, *, hold: bool = False) -> Behave:
    """Return a target that reads a request and sends ``data``; with ``hold`` it then waits to be left."""

    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(data)
        if hold:
            connection.recv(65536)

    return behave


def flooding(head: bytes, chunk: bytes) -> Behave:
    """Return a target that sends ``head``, and then ``chunk`` as long as anybody takes it."""

    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(head)
        while True:
            connection.sendall(chunk)

    return behave


def silent(connection: socket.socket) -> None:
    """Take what comes, and never say anything."""
    while connection.recv(65536):
        pass


def resetting(connection: socket.socket) -> None:
    """Read a request, and break the connection off."""
    connection.recv(65536)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


if TYPE_CHECKING:
    _Handler = grpc.GenericRpcHandler[Any, Any]
else:
    _Handler = grpc.GenericRpcHandler


class HealthService(_Handler):
    """The health service of gRPC, by a real server. What is said of each service is bytes."""

    def __init__(self, statuses: dict[str, int]) -> None:
        self.statuses = statuses
        self.metadata: dict[str, str] = {}
        """Of the last call."""

    @override
    def service(self, handler_call_details: Any) -> Any:
        """Answer ``Check``, and nothing else."""
        if handler_call_details.method != "/grpc.health.v1.Health/Check":
            return None
        self.metadata = dict(handler_call_details.invocation_metadata)
        return grpc.unary_unary_rpc_method_handler(self._check)

    def _check(self, request: bytes, context: Any) -> bytes:
        name = request[2:].decode()
        if name not in self.statuses:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no such service: {name}, ü")
        status = self.statuses[name]
        return bytes((0x08, status)) if status else b""


@contextmanager
def health_server(
    service: HealthService | None, tls: grpc.ServerCredentials | None = None
) -> Iterator[int]:
    """Start a server of gRPC, with or without the health service, and TLS. Yields its port."""
    server = grpc.server(ThreadPoolExecutor(2))
    if service is not None:
        server.add_generic_rpc_handlers((service,))
    where = "127.0.0.1:0"
    port = server.add_secure_port(where, tls) if tls else server.add_insecure_port(where)
    server.start()
    try:
        yield port
    finally:
        assert server.stop(None).wait(PATIENCE)
