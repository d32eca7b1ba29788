"""How long an actor is away when it crashes, apart from the backoff that its supervisor adds."""

from __future__ import annotations

from time import perf_counter

from typing_extensions import override

from benchmarks.agent import GIVE_UP_AFTER, pause
from benchmarks.apart import apart, behave_like_the_agent
from benchmarks.row import Row, tail
from kernel import (
    Actor,
    ActorSystem,
    Backoff,
    BaseActor,
    ChildSpec,
    Key,
    PooledActor,
    SupervisorSpec,
)
from messages.units import Seconds


def restart_rows(*, quick: bool) -> list[Row]:
    """Return how long it takes from a failing message to the next life, for both actor types."""
    types: dict[str, type[Fragile | PooledFragile]] = {
        "with a thread of its own": Fragile,
        "pooled": PooledFragile,
    }
    return [
        Row(
            what=f"actor {words}: crashed until it runs again, no backoff",
            unit="ms",
            figures=tail(seconds := apart(restart_seconds, kind, times=50 if quick else 500), 1e3),
            samples=len(seconds),
        )
        for words, kind in types.items()
    ]


class _Fragility(BaseActor[float]):
    """Fails at each message; its next life notes how long ago that was told."""

    def __init__(self, crashes: list[float], seconds: list[float]) -> None:
        self._crashes = crashes
        self._seconds = seconds

    @override
    def started(self) -> None:
        if self._crashes:
            self._seconds.append(perf_counter() - self._crashes.pop())

    @override
    def receive(self, message: float, /) -> None:
        self._crashes.append(message)
        raise ValueError("on purpose")


class Fragile(_Fragility, Actor[float]):
    """With a thread of its own."""


class PooledFragile(_Fragility, PooledActor[float]):
    """In the pool."""


def restart_seconds(kind: type[Fragile | PooledFragile], *, times: int) -> list[float]:
    """Return the times from telling what crashes an actor to its next ``started``."""
    behave_like_the_agent()
    crashes: list[float] = []
    seconds: list[float] = []
    key = Key[float]("fragile")
    none = Seconds(0.0)
    spec = SupervisorSpec(
        name="root",
        children=(ChildSpec(key=key, factory=lambda: kind(crashes, seconds)),),
        intensity=times,
        backoff=Backoff(initial=none, cap=none, jitter=none),
    )
    system = ActorSystem(spec)
    system.start()
    assert system.wait_started(Seconds(GIVE_UP_AFTER))
    port = system.address(key)
    for number in range(times):
        port.tell(perf_counter())
        while len(seconds) <= number:
            pause(0.001)
    system.stop()
    assert system.wait(Seconds(GIVE_UP_AFTER)) == 0
    return seconds
