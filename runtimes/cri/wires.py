"""Wires before the real one: calls are counted, wait for the socket, or go to a socket for images.

A runtime may not be found yet, and may have another socket for calls about images.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

from google.protobuf.message import Message
from typing_extensions import override

from messages.units import Seconds
from runtimes.cri.figures import CallMade
from runtimes.cri.rpcs import IMAGE_SERVICE, RUN_SANDBOX
from runtimes.cri.runtime_socket import RuntimeSocket
from runtimes.cri.wire.transport import Rpc, RpcCode, RpcFailure, RpcInFlight, RpcOutcome, Wire


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


class CountedWire(Wire):
    """Carries calls as another one does, and notes each that has ended. Streams are not counted.

    ``sandbox_begins`` is told of each call that makes a sandbox, and what it returns is called at its end.
    """

    def __init__(
        self,
        wire: Wire,
        noted: deque[CallMade],
        monotonic: Callable[[], float],
        sandbox_begins: Callable[[], Callable[[], None]],
    ) -> None:
        self._wire = wire
        self._sandbox_begins = sandbox_begins
        self._noted = noted
        self._monotonic = monotonic

    @override
    def call(self, rpc: Rpc[Message], done: Callable[[RpcOutcome], None]) -> RpcInFlight:
        began = self._monotonic()
        sandbox_ends = self._sandbox_begins() if rpc.method == RUN_SANDBOX else None

        def ended(outcome: RpcOutcome) -> None:
            took = Seconds(self._monotonic() - began)
            self._noted.append(CallMade(rpc.method, took, isinstance(outcome, RpcFailure)))
            done(outcome)
            if sandbox_ends is not None:
                sandbox_ends()

        return self._wire.call(rpc, ended)

    @override
    def follow(
        self,
        rpc: Rpc[Message],
        told: Callable[[Message], None],
        ended: Callable[[RpcFailure], None],
    ) -> RpcInFlight:
        return self._wire.follow(rpc, told, ended)

    @override
    def close(self) -> None:
        self._wire.close()
