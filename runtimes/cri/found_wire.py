"""Calls to a runtime that may not be found yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from google.protobuf.message import Message
from typing_extensions import override

from runtimes.cri.runtime_socket import RuntimeSocket
from runtimes.cri.wire.transport import Rpc, RpcCode, RpcFailure, RpcInFlight, RpcOutcome, Wire


class FoundWire(Wire):
    """Carries calls to the socket once it is known. Before that each fails at once, as without a runtime."""

    def __init__(self, socket: RuntimeSocket, connect: Callable[[Path], Wire]) -> None:
        self._socket = socket
        self._connect = connect
        self._wires: dict[Path, Wire] = {}
        """One at most. Two threads may both make it: one of the two is dropped, unused."""

    @override
    def call(self, rpc: Rpc[Message], done: Callable[[RpcOutcome], None]) -> RpcInFlight:
        wire = self._wire()
        if wire is None:
            done(self._failure())
            return _NotSent()
        return wire.call(rpc, done)

    @override
    def follow(
        self,
        rpc: Rpc[Message],
        told: Callable[[Message], None],
        ended: Callable[[RpcFailure], None],
    ) -> RpcInFlight:
        wire = self._wire()
        if wire is None:
            ended(self._failure())
            return _NotSent()
        return wire.follow(rpc, told, ended)

    @override
    def close(self) -> None:
        for wire in self._wires.values():
            wire.close()

    def _wire(self) -> Wire | None:
        path = self._socket.found
        if path is None:
            return None
        return self._wires.get(path) or self._wires.setdefault(path, self._connect(path))

    def _failure(self) -> RpcFailure:
        return RpcFailure(code=RpcCode.UNAVAILABLE, message=self._socket.trouble)


class _NotSent(RpcInFlight):
    @override
    def cancel(self) -> bool:
        return False
