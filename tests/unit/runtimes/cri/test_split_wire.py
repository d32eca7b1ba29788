"""A runtime may have another socket for images than for all else."""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message
from typing_extensions import override

from runtimes.cri import rpcs
from runtimes.cri.split_wire import SplitWire
from runtimes.cri.wire.transport import Rpc, RpcFailure, RpcInFlight, RpcOutcome, Wire


class Sent(RpcInFlight):
    @override
    def cancel(self) -> bool:
        return True


class NotedWire(Wire):
    """Notes what is sent."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.is_closed = False

    @override
    def call(self, rpc: Rpc[Message], done: Callable[[RpcOutcome], None]) -> RpcInFlight:
        self.methods.append(rpc.method.rpartition("/")[2])
        return Sent()

    @override
    def follow(
        self,
        rpc: Rpc[Message],
        told: Callable[[Message], None],
        ended: Callable[[RpcFailure], None],
    ) -> RpcInFlight:
        self.methods.append(rpc.method.rpartition("/")[2])
        return Sent()

    @override
    def close(self) -> None:
        self.is_closed = True


def nothing(_: object) -> None:
    return


def test_images_are_asked_for_at_their_own_socket_and_all_else_at_the_runtimes() -> None:
    images, others = NotedWire(), NotedWire()
    wire = SplitWire(images, others)
    wire.call(rpcs.image_status("busybox"), nothing)
    wire.call(rpcs.version(), nothing)
    wire.call(rpcs.start_container("c"), nothing)
    wire.follow(rpcs.container_events(), nothing, nothing)
    assert images.methods == ["ImageStatus"]
    assert others.methods == ["Version", "StartContainer", "GetContainerEvents"]


def test_both_connections_are_closed_together() -> None:
    images, others = NotedWire(), NotedWire()
    SplitWire(images, others).close()
    assert images.is_closed
    assert others.is_closed
