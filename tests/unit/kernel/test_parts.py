"""Parts of the kernel on their own: timers, counts, endings, the control thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import MutableMapping
from functools import partial
from typing import Any, NoReturn

import pytest
from typing_extensions import override

from kernel import SECONDS_BUCKETS, Key, Steps
from kernel.actor import BaseActor
from kernel.clock import Timer, Timers
from kernel.control import Control
from kernel.endings import one_line, with_traceback
from kernel.executors import PoolExecutor
from kernel.incarnation import Incarnation
from kernel.mailbox import CoalescingQueue
from kernel.telemetry import Meter, Telemetry
from messages.units import Seconds
from tests.support.kernel.clock import ManualClock
from tests.support.kernel.players import Gate
from tests.support.kernel.stage import stage_for
from tests.support.patience import PATIENCE


def fired(timers: Timers, now: float) -> list[object]:
    """Return what the actions that are due say."""
    said: list[object] = []
    while (action := timers.pop_due(Seconds(now))) is not None:
        said.append(action())
    return said


def adding(timers: Timers, due: float, says: object) -> Timer:
    """Add a timer whose action says something."""
    action: Any = lambda: says  # noqa: E731  # typed as an action that says nothing
    return timers.add(Seconds(due), action)[0]


def test_timers_fire_in_the_order_of_their_time_and_then_of_their_making() -> None:
    timers = Timers()
    adding(timers, 2.0, "second")
    adding(timers, 1.0, "first")
    adding(timers, 2.0, "third")

    assert timers.next_due() == 1.0
    assert fired(timers, 2.0) == ["first", "second", "third"]
    assert timers.next_due() is None


def test_a_timer_that_is_the_next_to_fire_says_so() -> None:
    timers = Timers()

    assert timers.add(Seconds(2.0), lambda: None)[1]
    assert timers.add(Seconds(1.0), lambda: None)[1]
    assert not timers.add(Seconds(1.5), lambda: None)[1]


def test_cancelling_again_or_too_late_changes_nothing() -> None:
    timers = Timers()
    first, second = adding(timers, 1.0, "first"), adding(timers, 2.0, "second")
    first.cancel()
    first.cancel()
    assert len(timers) == 1

    assert fired(timers, 2.0) == ["second"]
    second.cancel()
    assert len(timers) == 0


def test_half_of_the_heap_at_most_is_cancelled_entries() -> None:
    timers = Timers()
    alive = [adding(timers, 100.0 + number, number) for number in range(100)]
    dead = [adding(timers, float(number), "dead") for number in range(1000)]
    for timer in dead:
        timer.cancel()

    assert len(timers) == len(alive)
    assert len(timers._heap) <= 2 * len(alive)
    assert fired(timers, 300.0) == list(range(100))


def test_cleared_timers_do_not_fire() -> None:
    timers = Timers()
    adding(timers, 1.0, "never")
    timers.clear()

    assert fired(timers, 2.0) == []


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0.0, 0), (0.0001, 0), (0.00011, 1), (5.0, 9), (5.1, 10)]
)
def test_a_message_is_counted_in_the_first_bucket_that_holds_it(
    seconds: float, bucket: int
) -> None:
    meter = Meter("web")
    meter.handled(seconds)

    statistics = meter.statistics()
    assert statistics.buckets.index(1) == bucket
    assert (statistics.handled, statistics.seconds) == (1, seconds)
    assert len(statistics.buckets) == len(SECONDS_BUCKETS) + 1


def test_dead_letters_are_counted_by_role_and_reason() -> None:
    telemetry = Telemetry()
    telemetry.dead_letter("web/a", "str", "address closed")
    telemetry.dead_letter("web/b", "str", "address closed")
    telemetry.dead_letter("web/b", "str", "told to an ended life")

    assert telemetry.dead_letters() == {
        ("web", "address closed"): 2,
        ("web", "told to an ended life"): 1,
    }


def test_an_error_is_one_line_and_its_traceback_is_many() -> None:
    with pytest.raises(ValueError, match="two lines") as raised:
        raise ValueError("on\ntwo lines")

    assert one_line(raised.value) == "ValueError: on two lines"
    assert "test_an_error_is_one_line" in with_traceback(raised.value)


def test_an_error_that_cannot_be_shown_is_shown_all_the_same() -> None:
    class Unspeakable(Exception):  # noqa: N818  # an error without words
        @override
        def __str__(self) -> NoReturn:
            raise ZeroDivisionError

    assert "Unspeakable" in one_line(Unspeakable())


def test_two_keys_of_one_path_are_equal() -> None:
    assert Key[str]("web/a") == Key[str]("web/a", coalesce=len)
    assert len({Key[str]("web/a"), Key[str]("web/a"), Key[str]("web/b")}) == 2
    assert Key[str]("web/a") != "web/a"
    assert repr(Key[str]("web/a")) == "Key('web/a')"
    assert Key[str]("web/a/b").role == "web"


def test_nothing_comes_out_of_an_empty_mailbox() -> None:
    with pytest.raises(IndexError):
        CoalescingQueue(str).popleft()


def test_control_goes_on_after_an_event_that_fails(logs: list[MutableMapping[str, Any]]) -> None:
    control, done = Control(ManualClock()), list[str]()
    control.post(partial(sys.exit, 3))
    control.post(lambda: done.append("next"))

    assert (control.step(), control.step(), control.step()) == (True, True, False)
    assert done == ["next"]
    assert [event["event"] for event in logs] == ["control event failed"]


def test_an_event_is_work_until_it_is_done() -> None:
    control, seen = Control(ManualClock()), list[bool]()
    control.post(lambda: seen.append(control.has_work))
    control.step()

    assert seen == [True]
    assert not control.has_work


def test_a_timer_that_fires_is_work_until_it_is_done() -> None:
    control, seen = Control(ManualClock()), list[bool]()
    control.set_timer(Seconds(0.0), lambda: seen.append(control.has_work))
    control.step()

    assert seen == [True]
    assert not control.has_work


def test_what_is_posted_after_the_end_of_control_happens_at_once() -> None:
    control, done = Control(ManualClock()), list[str]()
    control.open()
    thread = next(thread for thread in threading.enumerate() if thread.name == "control")
    control.close()
    control.post(lambda: done.append("posted before the end"))
    thread.join(PATIENCE)
    control.post(lambda: done.append("posted after it"))

    assert done == ["posted before the end", "posted after it"]


def test_a_pool_that_gets_no_more_threads_says_so(
    gate: Gate, logs: list[MutableMapping[str, Any]]
) -> None:
    class Poor(PoolExecutor):
        """Has threads at its opening and none later."""

        is_open = False

        @override
        def _add_worker(self) -> None:
            if self.is_open:
                raise RuntimeError("can't start new thread")
            super()._add_worker()

    class StuckIncarnation(Incarnation):
        """Hangs in its turn."""

        @override
        def turn(self, batch: int) -> bool:
            gate()
            return False

    nobody: Any = None
    pool = Poor(threads=1)
    pool.open()
    pool.is_open = True
    pool.start(StuckIncarnation(nobody, nobody, 1, pool, nobody, nobody))
    gate.reached()

    assert len(pool.hanging(-1.0)) == 1
    assert [event["event"] for event in logs] == ["no thread can be had to replace one that hangs"]


def test_single_steps_need_a_system_that_was_started() -> None:
    with pytest.raises(AssertionError, match="not started"):
        Steps().step()


def test_actors_that_keep_each_other_busy_for_ever_end_with_their_names_after_so_many_steps() -> (
    None
):
    class Restless(BaseActor[int]):
        """Tells itself so many times to go on."""

        @override
        def receive(self, message: int) -> None:
            if message:
                play.port(busy).tell(message - 1)

    busy: Key[int] = Key("busy")
    play = stage_for((busy, lambda _stage: Restless()), runtime=Steps(limit=100))
    play.start()
    play.tell(busy, 90)
    with pytest.raises(RuntimeError, match="does not settle after 100 steps: busy"):
        play.tell(busy, 110)
    play.settle()  # what was left takes fewer


def test_an_actor_does_nothing_special_at_its_start_and_stop() -> None:
    class Quiet(BaseActor[str]):
        """Implements what it must."""

        @override
        def receive(self, message: str, /) -> None:
            """Hear nothing."""

    Quiet.started(object.__new__(Quiet))
    Quiet.stopping(object.__new__(Quiet))
