"""Calls that are counted: how long each took, and whether it failed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from google.protobuf.message import Message
from typing_extensions import override

from messages.units import Seconds
from runtimes.cri.figures import CallMade
from runtimes.cri.rpcs import RUN_SANDBOX
from runtimes.cri.wire.transport import Rpc, RpcFailure, RpcInFlight, RpcOutcome, Wire


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
