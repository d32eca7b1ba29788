"""Calls about images by another connection than all others: a runtime may have another socket for them."""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message
from typing_extensions import override

from runtimes.cri.rpcs import IMAGE_SERVICE
from runtimes.cri.wire.transport import Rpc, RpcFailure, RpcInFlight, RpcOutcome, Wire


class SplitWire(Wire):
    """Carries calls about images over one wire, and all others and the streams over another."""

    def __init__(self, images: Wire, others: Wire) -> None:
        self._images = images
        self._others = others

    @override
    def call(self, rpc: Rpc[Message], done: Callable[[RpcOutcome], None]) -> RpcInFlight:
        wire = self._images if rpc.method.startswith(IMAGE_SERVICE) else self._others
        return wire.call(rpc, done)

    @override
    def follow(
        self,
        rpc: Rpc[Message],
        told: Callable[[Message], None],
        ended: Callable[[RpcFailure], None],
    ) -> RpcInFlight:
        return self._others.follow(rpc, told, ended)

    @override
    def close(self) -> None:
        self._images.close()
        self._others.close()
