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

    def __init__(self) -> None:
        self.threads = SharedThreads()
        self.threads.start()
        self.systems: list[ActorSystem] = []

    def starts(self, **options: Any) -> tuple[ActorSystem, Troupe]:
        """Start one more system."""
        troupe = Troupe(PooledPlayer)
        children = (troupe.child(WEB), troupe.child(LOG), *options.pop("more", ()))
        spec = SupervisorSpec(name="root", children=children)
        system = ActorSystem(spec, runtime=self.threads, **options)
        system.start()
        assert system.wait_started(LONG)
        self.systems.append(system)
        assert {troupe.diary.next(), troupe.diary.next()} == {"web starts 1", "log starts 1"}
        return system, troupe

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
    two, of_two = systems.starts()
    two.address(WEB).tell(crash())
    assert of_two.diary.next() == "web starts 2"
    assert len(timers) > before
    two.stop()
    assert two.wait(LONG) == EXIT_STOPPED
    assert len(timers) == before


def test_handlers_that_hang_count_at_their_own_system(systems: Systems) -> None:
    gate = Gate()
    one, _ = systems.starts(hang_limit=Seconds(0.05))
    two, of_two = systems.starts(hang_limit=Seconds(0.05))
    troupe = Troupe(PooledPlayer)
    keys = [key(f"stuck/{number}") for number in range(9)]
    children = tuple(troupe.child(each, restart=Restart.TEMPORARY) for each in keys)
    stuck = ActorSystem(
        SupervisorSpec(name="root", children=children),
        runtime=systems.threads,
        hang_limit=Seconds(0.05),
    )
    stuck.start()
    assert stuck.wait_started(LONG)
    for each in keys:
        stuck.address(each).tell(Do(action=gate))
    assert stuck.wait(LONG) == EXIT_FAILED
    two.address(LOG).tell(Say(word="well"))
    assert of_two.diary.next() == "log hears well"
    assert one.wait(Seconds(0.0)) is None
    gate.open()


def test_systems_that_share_threads_share_their_clock() -> None:
    with pytest.raises(ValueError, match="share their clock"):
        ActorSystem(SupervisorSpec(name="root"), clock=SystemClock(), runtime=SharedThreads())
