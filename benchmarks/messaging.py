"""What actors cost: memory each, and how many messages a second they handle.

Beside it stands Pykka's own ``ThreadingActor``, a thread for each, with the same work to do.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Sequence
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import pykka
from typing_extensions import override

from benchmarks.agent import GIVE_UP_AFTER
from benchmarks.apart import apart, behave_like_the_agent
from benchmarks.row import Peer, Row, Target, rates, spread
from kernel import (
    ActorSystem,
    ChildSpec,
    DynamicMessage,
    DynamicSpec,
    Key,
    PooledActor,
    StartChild,
    SupervisorSpec,
)
from messages.units import Seconds

PEER = "Pykka's ThreadingActor"
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Sizes(NamedTuple):
    """How much is measured."""

    actors: int
    """Of ours."""
    pykka_actors: int
    """Ten thousand threads keep two cores from anything else for minutes: 5,000 of them handled
    3,000 messages a second there, 2,000 handled 12,000, so that fewer flatter them."""
    rounds: int
    messages: int


_QUICK = Sizes(1_000, 1_000, 1, 50_000)
_FULL = Sizes(10_000, 2_000, 3, 300_000)


class Told(Protocol):
    """Whoever can be told something: our ports and Pykka's references."""

    def tell(self, message: Any, /) -> None:
        """Put ``message`` into its mailbox."""
        ...


class Cast(NamedTuple):
    """What one run of many actors measured."""

    actors: int
    per_second: list[float]
    """Messages told and handled."""
    bytes_each: float


class Tally:
    """Counts what all actors handled, and says when that is enough. Needs no lock: ``next`` is atomic."""

    def __init__(self) -> None:
        self._handled = count(1)
        self._enough = 0
        self._reached = threading.Event()

    def expect(self, messages: int) -> None:
        """Start anew, and wait for ``messages``."""
        self._handled, self._enough = count(1), messages
        self._reached.clear()

    def handled(self) -> None:
        """Count one message."""
        if next(self._handled) == self._enough:
            self._reached.set()

    def wait(self) -> None:
        """Return once everything expected was handled."""
        if not self._reached.wait(GIVE_UP_AFTER):
            raise TimeoutError("messages were lost")


def actors_rows(*, quick: bool) -> list[Row]:
    """Return throughput and memory with many actors and with a hundred."""
    many, beside, rounds, messages = _QUICK if quick else _FULL
    ours, pykkas = [], []
    for _ in range(rounds):
        # By turns, so that a machine that is busy for a while is unfair to both.
        ours.append(apart(measure_ours, actors=many, messages=messages))
        # Fewer messages: it is thirty times slower where there are many actors.
        pykkas.append(apart(measure_pykka, actors=beside, messages=messages // 30))
    few = apart(measure_ours, actors=100, messages=messages)
    few_pykka = apart(measure_pykka, actors=100, messages=messages // 3)
    throughput = Target(200_000.0, at_least=True)
    return [
        _throughput_row(f"tells handled, {many:,} actors", ours, pykkas, throughput),
        _memory_row(f"memory per actor, {many:,} actors", ours, pykkas),
        _throughput_row("tells handled, 100 actors", (few,), (few_pykka,), None),
    ]


def _throughput_row(
    what: str, ours: Sequence[Cast], pykkas: Sequence[Cast], target: Target | None
) -> Row:
    per_second = [rate for cast in ours for rate in cast.per_second]
    beside = [rate for cast in pykkas for rate in cast.per_second]
    return Row(
        what=what,
        unit="/s",
        figures=rates(per_second),
        samples=len(per_second),
        target=target,
        peer=Peer(_peer(pykkas), median(beside)),
    )


def _memory_row(what: str, ours: Sequence[Cast], pykkas: Sequence[Cast]) -> Row:
    kilobytes = [cast.bytes_each / 1e3 for cast in ours]
    return Row(
        what=what,
        unit="kB",
        figures=spread(kilobytes),
        samples=len(kilobytes),
        target=Target(4.0),
        peer=Peer(_peer(pykkas), median(cast.bytes_each for cast in pykkas) / 1e3),
    )


def _peer(pykkas: Sequence[Cast]) -> str:
    return f"{PEER}, {pykkas[0].actors:,} of them"


class Counting(PooledActor[str]):
    """Counts what it hears."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    @override
    def receive(self, message: str, /) -> None:
        self._tally.handled()


class PykkaCounting(pykka.ThreadingActor):
    """Counts what it hears, on a thread of its own."""

    use_daemon_thread = True

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self._tally = tally

    @override
    def on_receive(self, message: Any) -> None:
        self._tally.handled()


def measure_ours(*, actors: int, messages: int) -> Cast:
    """Return what pooled actors under a supervisor do, and what each of them takes."""
    behave_like_the_agent()
    supervisor = Key[DynamicMessage]("counting")
    system = ActorSystem(SupervisorSpec(name="root", children=(DynamicSpec(key=supervisor),)))
    system.start()
    assert system.wait_started(Seconds(GIVE_UP_AFTER))
    tally = Tally()

    def start() -> list[Told]:
        port = system.address(supervisor)
        keys = [Key[str](f"counting/{number}") for number in range(actors)]
        for key in keys:
            port.tell(StartChild(spec=ChildSpec(key=key, factory=lambda: Counting(tally))))
        return [system.address(key) for key in keys]

    cast = _measure(start, tally, messages)
    system.stop()
    assert system.wait(Seconds(GIVE_UP_AFTER)) == 0
    return cast


def measure_pykka(*, actors: int, messages: int) -> Cast:
    """Return what as many of Pykka's actors do; they end with the process."""
    tally = Tally()

    def start() -> list[Told]:
        return [PykkaCounting.start(tally) for _ in range(actors)]

    return _measure(start, tally, messages)


def _measure(start: Callable[[], Sequence[Told]], tally: Tally, messages: int) -> Cast:
    gc.collect()
    before = _resident_bytes()
    ports = start()
    _round(ports, tally, len(ports))  # once each has handled something, each has started
    gc.collect()
    bytes_each = (_resident_bytes() - before) / len(ports)
    per_second = [_round(ports, tally, messages) for _ in range(3)]
    return Cast(len(ports), per_second, bytes_each)


def _round(ports: Sequence[Told], tally: Tally, messages: int) -> float:
    """Tell ``messages``, to one after the other; return how many per second were handled."""
    tally.expect(messages)
    began = perf_counter()
    for port in islice(cycle(ports), messages):
        port.tell("hello")
    tally.wait()
    return messages / (perf_counter() - began)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE
