"""How long a message waits for its turn while other actors never run out of work.

Beside it stand Pykka's threads, which the interpreter switches every 5 ms, whoever waits.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Any

import pykka
from typing_extensions import override

from benchmarks.agent import GIVE_UP_AFTER, pause
from benchmarks.apart import apart, behave_like_the_agent
from benchmarks.messaging import PEER, Told
from benchmarks.row import Peer, Row, tail
from kernel import ActorSystem, ChildSpec, Key, PooledActor, SupervisorSpec
from messages.units import Seconds


def waiting_rows(*, quick: bool) -> list[Row]:
    """Return how long a message waits for its actor while eight others have work without end."""
    # Each of Pykka's takes a tenth of a second.
    ours = apart(waits_in_the_pool, times=50 if quick else 300)
    pykkas = apart(waits_with_pykka, times=10 if quick else 60)
    row = Row(
        what="message waits for its actor beside 8 that are always busy",
        unit="ms",
        figures=tail(ours, 1e3),
        samples=len(ours),
        peer=Peer(PEER, median(pykkas) * 1e3),
    )
    return [row]


def waits_in_the_pool(*, times: int) -> list[float]:
    """Return the waits of messages to one pooled actor."""
    behave_like_the_agent()
    waits: list[float] = []
    probe = Key[float]("probe")
    busy = [Key[str](f"busy/{number}") for number in range(8)]
    children = [ChildSpec(key=key, factory=Busy) for key in busy]
    system = ActorSystem(
        SupervisorSpec(
            name="root",
            children=(ChildSpec(key=probe, factory=lambda: Probe(waits)), *children),
        )
    )
    system.start()
    assert system.wait_started(Seconds(GIVE_UP_AFTER))
    _probe(system.address(probe), waits, times)
    system.stop()
    assert system.wait(Seconds(GIVE_UP_AFTER)) == 0
    return waits


def waits_with_pykka(*, times: int) -> list[float]:
    """Return the waits of messages to one of Pykka's actors."""
    waits: list[float] = []
    for _ in range(8):
        PykkaBusy.start().tell("again")
    _probe(PykkaProbe.start(waits), waits, times)
    return waits


def _probe(port: Told, waits: list[float], times: int) -> None:
    for number in range(times):
        pause(0.002)
        port.tell(perf_counter())
        while len(waits) <= number:
            pause(0.001)


def work() -> int:
    """Compute for about 20 us, as a typical handler does."""
    return sum(range(1000))


class Busy(PooledActor[str]):
    """Has always another message waiting."""

    @override
    def started(self) -> None:
        self.me.tell("again")

    @override
    def receive(self, message: str, /) -> None:
        work()
        self.me.tell(message)


class Probe(PooledActor[float]):
    """Notes how long ago each message was told."""

    def __init__(self, waits: list[float]) -> None:
        self._waits = waits

    @override
    def receive(self, message: float, /) -> None:
        self._waits.append(perf_counter() - message)


class PykkaBusy(pykka.ThreadingActor):
    """Has always another message waiting, too."""

    use_daemon_thread = True

    @override
    def on_receive(self, message: Any) -> None:
        work()
        self.actor_ref.tell(message)


class PykkaProbe(pykka.ThreadingActor):
    """Notes how long ago each message was told, too."""

    use_daemon_thread = True

    def __init__(self, waits: list[float]) -> None:
        super().__init__()
        self._waits = waits

    @override
    def on_receive(self, message: Any) -> None:
        self._waits.append(perf_counter() - message)
