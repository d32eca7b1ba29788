"""Calls through the mailbox: later, alarms and portions of an actor, and what a crash leaves of them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs
from typing_extensions import override

from kernel import Alarm, Backoff, Key, OnExhausted, PooledActor, Portions, SupervisorSpec
from messages.units import Seconds
from tests.support.kernel.stage import Stage, stage_for

WORKER: Key[Any] = Key("worker")
ROOT = SupervisorSpec(
    name="root",
    children=(),
    backoff=Backoff(initial=Seconds(0.1), cap=Seconds(0.1), jitter=Seconds(0.0)),
    intensity=50,
    period=Seconds(10.0),
)


class Worker(PooledActor[Any]):
    """Does what it is told, and notes what it was called with and when."""

    def __init__(self, seen: list[Any]) -> None:
        super().__init__()
        self.seen = seen

    @override
    def started(self) -> None:
        self.bell: Alarm = self.alarm(self._rings)
        self.rest: Portions[int] = self.portions(self.note, most=3)

    @override
    def receive(self, message: Any, /) -> None:
        if callable(message):
            message(self)
        else:
            self.note(message)

    def note(self, what: object) -> None:
        self.seen.append((what, self.clock.monotonic()))

    def _rings(self) -> None:
        self.note("bell")

    def fails(self, secret: str) -> None:
        self.note(len(secret))
        raise RuntimeError("a bug")


class Play:
    """A worker, and what it has noted."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.stage: Stage = stage_for(
            (WORKER, lambda _: Worker(self.seen)), root=ROOT, on_exhausted=OnExhausted.ISOLATE
        )

    def does(self, *actions: Callable[[Worker], object]) -> None:
        """Have the worker do these things, one in each turn, all of which are told before."""
        self.stage.tell_all(WORKER, *actions)

    def noted(self) -> list[Any]:
        """Return what was noted since the last look, and when."""
        found, self.seen[:] = list(self.seen), []
        return found


@pytest.fixture
def play() -> Iterator[Play]:
    """Return a worker that has started."""
    play = Play()
    play.stage.start()
    yield play
    play.stage.stop()


def asks_for_tea(worker: Worker) -> None:
    worker.later(Seconds(2.0), worker.note, "tea")
    worker.note("now")


def test_a_later_call_comes_in_a_turn_of_its_own(play: Play) -> None:
    play.does(asks_for_tea)
    play.stage.advance(5.0)
    assert play.noted() == [("now", 0.0), ("tea", 2.0)]


def test_a_later_call_that_is_cancelled_does_not_come(play: Play) -> None:
    play.does(lambda worker: worker.later(Seconds(2.0), worker.note, "tea").cancel())
    play.stage.advance(5.0)
    assert play.noted() == []


def test_a_life_that_ends_is_called_no_more_and_neither_is_the_next(play: Play) -> None:
    def asks(worker: Worker) -> None:
        worker.later(Seconds(2.0), worker.note, "tea")
        worker.bell.at(Seconds(2.0))
        worker.rest.add(range(9))

    play.stage.tell_all(WORKER, asks, lambda worker: worker.fails("x"), "still here")
    play.stage.advance(5.0)
    assert [what for what, _ in play.noted()] == [1, "still here"]


def test_logs_name_what_is_called_and_never_what_with(play: Play) -> None:
    with capture_logs() as logs:
        play.does(lambda worker: worker.later(Seconds(1.0), worker.fails, "hunter2"))
        play.stage.advance(1.0)
    assert play.stage.endings[0].message == "Later(Worker.fails)"
    assert "hunter2" not in repr(logs) + repr(play.stage.endings)


def test_an_alarm_rings_once_at_the_last_moment_that_was_set(play: Play) -> None:
    def sets(worker: Worker) -> None:
        for moment in (3.0, 9.0, 1.0, 5.0):
            worker.bell.at(Seconds(moment))

    play.does(sets)
    play.stage.advance(20.0)
    assert play.noted() == [("bell", 5.0)]
    play.does(lambda worker: worker.note(worker.bell.due))
    assert play.noted() == [(None, 20.0)]


def test_an_alarm_may_be_set_by_how_long_it_waits(play: Play) -> None:
    play.does(lambda worker: worker.bell.at(Seconds(worker.clock.monotonic() + 1.0)))
    play.does(lambda worker: worker.bell.after(Seconds(3.0)))
    play.stage.advance(20.0)
    assert play.noted() == [("bell", 3.0)]


def test_an_alarm_that_is_moved_to_later_sets_no_timer_for_that(play: Play) -> None:
    def moves(worker: Worker) -> None:
        for number in range(100):
            worker.bell.at(Seconds(1.0 + number))

    timers = play.stage.system.control.timers
    before = len(timers)
    play.does(moves)
    assert len(timers) == before + 1
    play.stage.advance(200.0)
    assert play.noted() == [("bell", 100.0)]


def test_an_alarm_that_is_stopped_does_not_ring_and_may_be_set_again(play: Play) -> None:
    play.does(lambda worker: worker.bell.at(Seconds(1.0)), lambda worker: worker.bell.at(None))
    play.stage.advance(5.0)
    assert play.noted() == []
    play.does(lambda worker: worker.bell.at(Seconds(7.0)))
    play.stage.advance(5.0)
    assert play.noted() == [("bell", 7.0)]


def test_an_alarm_in_the_past_rings_in_a_turn_of_its_own(play: Play) -> None:
    play.stage.advance(5.0)

    def sets(worker: Worker) -> None:
        worker.bell.at(Seconds(1.0))
        worker.note("set")

    play.does(sets)
    assert play.noted() == [("set", 5.0), ("bell", 5.0)]


def test_an_alarm_may_be_set_where_it_rings(play: Play) -> None:
    def rings(worker: Worker) -> None:
        worker.note("ring")
        if worker.clock.monotonic() < 3.0:
            alarms[0].at(Seconds(worker.clock.monotonic() + 1.0))

    def makes(worker: Worker) -> None:
        alarms.append(worker.alarm(lambda: rings(worker)))
        alarms[0].at(Seconds(1.0))

    alarms: list[Alarm] = []
    play.does(makes)
    play.stage.advance(9.0)
    assert play.noted() == [("ring", 1.0), ("ring", 2.0), ("ring", 3.0)]


def test_portions_let_other_messages_in_after_each(play: Play) -> None:
    play.stage.tell_all(WORKER, lambda worker: worker.rest.add(range(7)), "a", "b", "c")
    assert [what for what, _ in play.noted()] == ["a", "b", "c", 0, 1, 2, 3, 4, 5, 6]
    play.stage.tell_all(
        WORKER,
        lambda worker: worker.rest.add(range(7)),
        lambda worker: worker.me.tell("between"),
    )
    assert [what for what, _ in play.noted()] == [0, 1, 2, "between", 3, 4, 5, 6]


def test_a_key_that_waits_is_not_called_with_twice_and_keeps_its_place(play: Play) -> None:
    play.does(lambda worker: worker.rest.add([1, 2]), lambda worker: worker.rest.add([3, 1]))
    assert [what for what, _ in play.noted()] == [1, 2, 3]


def test_a_key_that_is_discarded_is_not_called_with(play: Play) -> None:
    play.does(lambda worker: worker.rest.add([1, 2]), lambda worker: worker.rest.discard(1))
    assert [what for what, _ in play.noted()] == [2]


def test_an_actor_names_its_own_messages_alone_for_coalescing() -> None:
    def name(message: Any) -> str:
        if not isinstance(message, str):
            raise TypeError("none of mine")
        return message

    key: Key[Any] = Key("worker", coalesce=name)
    seen: list[Any] = []
    stage = stage_for((key, lambda _: Impatient(seen)))
    with capture_logs() as logs:
        stage.start()
        stage.advance(5.0)
        stage.stop()
    assert seen == [("tea", 2.0)]
    assert "message could not be named" not in [each["event"] for each in logs]


class Impatient(Worker):
    """Asks for tea when it starts."""

    @override
    def started(self) -> None:
        self.later(Seconds(2.0), self.note, "tea")


def test_alarms_and_portions_keep_no_dead_actor_in_memory(play: Play) -> None:
    lives: list[Any] = []

    def remembers(worker: Worker) -> None:
        worker.bell.at(Seconds(9.0))
        worker.rest.add(range(9))
        lives.append(weakref.ref(worker))

    gc.disable()
    try:
        play.stage.tell_all(WORKER, remembers, lambda worker: worker.fails("x"))
        play.stage.advance(1.0)
        assert lives[0]() is None
    finally:
        gc.enable()
