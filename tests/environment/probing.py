"""Carries out the probes of an agent in its time: the loop without its thread, and without sockets."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

from typing_extensions import override

from actors.probes.connections import ProbeConnection, Progress, SocketAddress, UnreachableTarget
from actors.probes.engine import ProbeEngine
from actors.probes.exchanges import ProbeExchange
from actors.probes.loop_messages import (
    ForgetProbe,
    Loop,
    MakeLoop,
    NoteRun,
    ProbeCommand,
    ProbeEdges,
    WatchProbe,
)
from actors.probes.specs import ProbeSpec
from actors.probes.watched import ProbeFact, ProbeMemory
from actors.probes.watching import ProbeTarget
from kernel import Clock
from messages.probing import ProbeKey, ProbeOutcome, ProbeResult
from messages.units import Seconds
from tests.environment.health import Answer, reply
from tests.environment.runtimes.runtime import InThisLife


class LoopInTime(Loop):
    """The engine of the real loop, which takes its turns when something is due."""

    def __init__(self, engine: ProbeEngine, clock: Clock, in_this_life: InThisLife) -> None:
        self._engine = engine
        self._clock = clock
        self._in_this_life = in_this_life
        self._wakes_at = math.inf
        self._is_closed = False
        self._wake_at(clock.monotonic())

    @override
    def watch(
        self,
        key: ProbeKey,
        spec: ProbeSpec,
        target: ProbeTarget,
        initial: ProbeResult | None = None,
    ) -> None:
        self._call(WatchProbe(key, spec, target, initial))

    @override
    def forget(self, key: ProbeKey) -> None:
        self._call(ForgetProbe(key))

    @override
    def note(
        self, key: ProbeKey, run: int, outcome: ProbeOutcome, took: Seconds | None = None
    ) -> None:
        self._call(NoteRun(key, run, outcome, took))

    @override
    def close(self) -> None:
        self._is_closed = True
        self._engine.close()

    def _call(self, command: ProbeCommand) -> None:
        self._engine.call(command)
        self._wake_at(self._clock.monotonic())

    def _wake_at(self, due: float) -> None:
        if due < self._wakes_at:
            self._wakes_at = due
            wait = max(0.0, due - self._clock.monotonic())
            self._in_this_life(wait, lambda: self._wake(due), lambda: self._wakes_at != due)

    def _wake(self, due: float) -> None:
        if self._is_closed or self._wakes_at != due or not self._engine.is_current:
            return
        self._wakes_at = math.inf
        self._engine.turn(0.0)
        following = self._engine._next_due()
        if following is not None:
            self._wake_at(max(following, self._clock.monotonic()))


Asked: TypeAlias = Callable[[str, int, bytes], Answer | None]
"""Returns what is answered at an address and a port to what was sent. None where nobody listens."""


class ConnectionInTime(ProbeConnection):
    """A connection that is answered at once, or never."""

    def __init__(
        self,
        exchange: ProbeExchange,
        address: SocketAddress,
        asked: Asked,
    ) -> None:
        super().__init__(exchange, address)
        self._asked = asked

    @override
    def open(self) -> Progress:
        host, port = self._address.place
        exchange, sent = self._exchange, self._exchange.outgoing
        said = self._asked(host, port, sent)
        answer = reply(sent, is_yes=said is Answer.YES)
        if said is Answer.NONE:
            self.fd = os.eventfd(0, os.EFD_CLOEXEC)  # nothing ever comes
            return None
        if said is None or (said is Answer.NO and not answer):
            return UnreachableTarget(exchange.failed(f"dial tcp {host}:{port}: connection refused"))
        exchange.outgoing = b""
        return exchange.connected() or exchange.received(answer) or exchange.ended()

    @override
    def proceed(self, events: int) -> Progress:
        return None

    @override
    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def loops(asked: Asked, in_this_life: InThisLife) -> MakeLoop:
    """Return what makes the loops of one life of an agent."""
    chance = random.Random(1)  # spreads load

    def connect(exchange: ProbeExchange, address: SocketAddress, **_: object) -> ProbeConnection:
        return ConnectionInTime(exchange, address, asked)

    def make(
        memory: ProbeMemory,
        tell: Callable[[Sequence[ProbeFact]], None],
        ended: Callable[[BaseException], None],
        clock: Clock,
    ) -> Loop:
        del ended  # what fails in a turn fails the history
        edges = ProbeEdges(
            clock=clock,
            tell=tell,
            user_agent="kube-probe/1.34",
            chance=chance,
            connect=connect,
        )
        return LoopInTime(ProbeEngine(memory, edges), clock, in_this_life)

    return make
