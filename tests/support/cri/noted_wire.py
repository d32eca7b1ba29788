"""A wire that carries nothing: it notes what it was given, and the test answers."""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message
from typing_extensions import override

from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import Rpc, RpcFailure, RpcInFlight, RpcOutcome, Wire


class Sent(RpcInFlight):
    """A call that was sent."""

    @override
    def cancel(self) -> bool:
        return True


class NotedWire(Wire):
    """Notes what is sent, and tells who follows one event. ``calls`` has what takes each answer."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.calls: list[Callable[[RpcOutcome], None]] = []
        self.is_closed = False

    @override
    def call(self, rpc: Rpc[Message], done: Callable[[RpcOutcome], None]) -> RpcInFlight:
        self.methods.append(rpc.method.rpartition("/")[2])
        self.calls.append(done)
        return Sent()

    @override
    def follow(
        self,
        rpc: Rpc[Message],
        told: Callable[[Message], None],
        ended: Callable[[RpcFailure], None],
    ) -> RpcInFlight:
        self.methods.append(rpc.method.rpartition("/")[2])
        told(cri.ContainerEventResponse())
        return Sent()

    @override
    def close(self) -> None:
        self.is_closed = True


def nothing(_: object) -> None:
    """Hear an outcome that nobody wants to know."""
