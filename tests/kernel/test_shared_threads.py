"""Several systems on one pool and one control thread: what one of them does is nothing to the others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kernel import (
    EXIT_FAILED,
    EXIT_STOPPED,
    ActorSystem,
    AnySpec,
    Backoff,
    OnExhausted,
    Restart,
    SharedThreads,
    SupervisorSpec,
    SystemClock,
)
from messages.units import Seconds
from tests.support.agent.process import eventually
from tests.support.kernel.players import Do, Gate, PooledPlayer, Say, Troupe, after, crash, key
from tests.support.patience import PATIENCE

WEB, LOG = key("web"), key("log")
LONG = Seconds(PATIENCE)


class Systems:
    """Systems that share their threads. Each has a troupe with two players of the pool."""

    def __init__(self, **options: Any) -> None:
        self.threads = SharedThreads(**options)
        self.threads.start()
        self.systems: list[ActorSystem] = []

    def starts(self) -> tuple[ActorSystem, Troupe]:
        """Start one more system."""
        troupe = Troupe(PooledPlayer)
        system = self._started((troupe.child(WEB), troupe.child(LOG)))
        assert {troupe.diary.next(), troupe.diary.next()} == {"web starts 1", "log starts 1"}
        return system, troupe

    def gets_stuck(self, times: int, gate: Gate) -> ActorSystem:
        """Start one more system, in which so many actors get stuck at a gate."""
        troupe = Troupe(PooledPlayer)
        keys = [key(f"stuck/{number}") for number in range(times)]
        system = self._started(
            tuple(troupe.child(each, restart=Restart.TEMPORARY) for each in keys)
        )
        for each in keys:
            system.address(each).tell(Do(action=gate))
        return system

    def fails_at_once(self) -> tuple[ActorSystem, Troupe]:
        """Start one more system, in which one crash of an actor is too many, and soon over."""
        troupe = Troupe(PooledPlayer)
        child = troupe.child(WEB, on_exhausted=OnExhausted.ISOLATE)
        soon = Backoff(initial=Seconds(0.01), cap=Seconds(0.01), jitter=Seconds(0.0))
        system = self._started((child,), intensity=0, backoff=soon)
        assert troupe.diary.next() == "web starts 1"
        return system, troupe

    def _started(self, children: tuple[AnySpec, ...], **options: Any) -> ActorSystem:
        spec = SupervisorSpec(name="root", children=children, **options)
        system = ActorSystem(spec, runtime=self.threads)
        system.start()
        assert system.wait_started(LONG)
        self.systems.append(system)
        return system

    def end(self) -> None:
        """Stop all, and end the threads."""
        for system in self.systems:
            system.stop()
            system.wait(LONG)
        self.threads.end()


@pytest.fixture
def systems() -> Iterator[Systems]:
    systems = Systems()
    yield systems
    systems.end()


def kernel_threads() -> list[str]:
    """Return the names of the threads of pools and controls."""
    names = (each.name for each in threading.enumerate())
    return sorted(name for name in names if name.startswith(("pool-", "control")))


def test_three_systems_have_the_threads_of_one_and_give_them_back() -> None:
    eventually(lambda: kernel_threads() == [])
    systems = Systems()
    for _ in range(3):
        systems.starts()
    assert kernel_threads() == ["control", "pool-0", "pool-1"]
    systems.end()
    eventually(lambda: kernel_threads() == [])


def test_a_system_that_stops_or_crashes_leaves_the_others_as_they_are(systems: Systems) -> None:
    one, of_one = systems.starts()
    two, _ = systems.starts()
    three, of_three = systems.starts()
    three.address(WEB).tell(after(0.2, "in time"))
    one.address(WEB).tell(crash())
    two.stop()
    assert two.wait(LONG) == EXIT_STOPPED
    assert of_one.diary.next() == "web starts 2"
    assert of_three.diary.next() == "web hears in time"
    three.address(LOG).tell(Say(word="well"))
    assert of_three.diary.next() == "log hears well"
    assert [each.restarts for each in three.describe()] == [0, 0, 0]


def test_a_system_that_is_down_leaves_no_timer_behind(systems: Systems) -> None:
    one, _ = systems.starts()
    timers = one.control.timers
    before = len(timers)
    two, of_two = systems.fails_at_once()
    two.address(WEB).tell(crash())
    assert of_two.diary.next() == "web starts 2"
    two.address(WEB).tell(after(3600.0, "too late"))
    two.fence(two.address(WEB))
    # That, and when the actor counts as healthy again.
    eventually(lambda: len(timers) == before + 2)
    two.stop()
    assert two.wait(LONG) == EXIT_STOPPED
    assert len(timers) == before


@pytest.fixture
def hasty() -> Iterator[Systems]:
    """Return systems of which a turn may take no longer than a moment."""
    systems = Systems(hang_limit=Seconds(0.05))
    yield systems
    systems.end()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


def test_the_ninth_handler_of_a_system_that_hangs_ends_that_system_alone(
    hasty: Systems, gate: Gate
) -> None:
    one, of_one = hasty.starts()
    eight = hasty.gets_stuck(8, gate)
    nine = hasty.gets_stuck(9, gate)
    assert nine.wait(LONG) == EXIT_FAILED
    eventually(lambda: not any(each.state == "running" for each in eight.describe()[1:]))
    one.address(LOG).tell(Say(word="well"))
    assert of_one.diary.next() == "log hears well"
    assert one.wait(Seconds(0.0)) is None
    assert eight.wait(Seconds(0.0)) is None


def test_the_sixty_fourth_handler_of_a_process_that_hangs_ends_all_its_systems(
    hasty: Systems, gate: Gate
) -> None:
    well, _ = hasty.starts()
    stopped, _ = hasty.starts()
    stopped.stop()
    assert stopped.wait(LONG) == EXIT_STOPPED
    stuck = [hasty.gets_stuck(8, gate) for _ in range(7)]
    stuck.append(hasty.gets_stuck(7, gate))
    eventually(lambda: threads_of_pool() == 63 + 2)
    assert well.wait(Seconds(0.0)) is None
    stuck.append(hasty.gets_stuck(1, gate))
    assert [each.wait(LONG) for each in (well, *stuck)] == [EXIT_FAILED] * 10


def threads_of_pool() -> int:
    """Return how many threads of pools there are, those that were given up among them."""
    return sum(name.startswith("pool-") for name in kernel_threads())


def test_systems_that_share_threads_share_their_clock() -> None:
    with pytest.raises(ValueError, match="share their clock"):
        ActorSystem(SupervisorSpec(name="root"), clock=SystemClock(), runtime=SharedThreads())
