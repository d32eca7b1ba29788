"""Calls that are counted: how long each took, and whether it failed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from google.protobuf.message import Message
from typing_extensions import override

from messages.units import Seconds
from runtimes.cri.figures import CallMade
from runtimes.cri.wire.transport import Rpc, RpcFailure, RpcInFlight, RpcOutcome, Wire


class CountedWire(Wire):
    """Carries calls as another one does, and notes each that has ended. Streams are not counted."""

    def __init__(self, wire: Wire, noted: deque[CallMade], monotonic: Callable[[], float]) -> None:
        self._wire = wire
        self._noted = noted
        self._monotonic = monotonic

    @override
    def call(self, rpc: Rpc[Message], done: Callable[[RpcOutcome], None]) -> RpcInFlight:
        began = self._monotonic()

        def ended(outcome: RpcOutcome) -> None:
            took = Seconds(self._monotonic() - began)
            self._noted.append(CallMade(rpc.method, took, isinstance(outcome, RpcFailure)))
            done(outcome)

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
