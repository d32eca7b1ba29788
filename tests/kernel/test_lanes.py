"""Lanes of threads: order, turns, what is abandoned, what hangs, and threads that cannot be had."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

from kernel import BugError, BusyError, Failure, InFlight, Lanes, LaneSize, StepError
from kernel.lanes import on_a_thread
from tests.support.agent.process import eventually
from tests.support.kernel.players import Gate
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE

LANE: Final = "lane"
OTHER: Final = "other"


class Work:
    """Jobs that wait until the test lets them end. The other lane has one thread, always."""

    def __init__(self, most: int) -> None:
        self.lanes = Lanes("test", {LANE: LaneSize(most), OTHER: LaneSize(1, more=0)})
        self.begun: Probe[str] = Probe()
        self.ended: Probe[Any] = Probe()
        self._gates: dict[str, threading.Event] = {}

    def starts(self, name: str, turn: str | None = None, lane: str = LANE, **how: bool) -> InFlight:
        """Start a job that waits."""
        self._gates[name] = threading.Event()
        return self.lanes[lane].start(partial(self._waits, name), self.ended.tell, turn, **how)

    def lets_end(self, name: str) -> None:
        """Let a job end, and wait until that was told."""
        self._gates[name].set()
        assert self.ended.next() == name

    def fails(self) -> Exception:
        """Return the error of a job that has failed."""
        failure = self.ended.next()
        assert isinstance(failure, Failure)
        return failure.error

    def _waits(self, name: str) -> str:
        self.begun.tell(name)
        return name if self._gates[name].wait(PATIENCE) else f"{name} was never let end"

    def close(self) -> None:
        """Let everything end."""
        self.lanes.close()
        for gate in self._gates.values():
            gate.set()


def threads_of(lane: str = LANE) -> int:
    """Return how many threads a lane has."""
    return sum(each.name == f"test-{lane}" for each in threading.enumerate())


def no_threads() -> bool:
    """Return whether no lane has any."""
    return threads_of() == threads_of(OTHER) == 0


@pytest.fixture(params=[1, 2])
def work(request: Any) -> Iterator[Work]:
    """Return a lane of one thread or two."""
    work = Work(request.param)
    yield work
    work.close()
    eventually(no_threads)


@pytest.fixture
def one() -> Iterator[Work]:
    """Return a lane of one thread."""
    work = Work(1)
    yield work
    work.close()
    eventually(no_threads)


# --- what comes of a job ------------------------------------------------------------------------------


def raising(error: BaseException) -> object:
    raise error


def test_each_job_tells_its_result_or_why_there_is_none(one: Work) -> None:
    space = OSError(28, "No space left on device")
    for job in (lambda: 7, partial(raising, space), lambda: None):
        one.lanes[LANE].start(job, one.ended.tell)
    assert one.ended.next() == 7
    assert one.fails() is space
    assert one.ended.next() is None


@pytest.mark.parametrize("bug", [ValueError("hunter2"), SystemExit("hunter2")])
def test_a_bug_says_its_type_alone_and_takes_no_thread_and_no_turn(
    one: Work, bug: BaseException
) -> None:
    with capture_logs() as logs:
        one.lanes[LANE].start(partial(raising, bug), one.ended.tell, "turn")
        error = one.fails()
    assert isinstance(error, BugError)
    assert error.kind == type(bug).__name__
    assert "hunter2" not in f"{error} {logs}"
    one.starts("next", "turn")
    assert one.begun.next() == "next"
    one.lets_end("next")


# --- order --------------------------------------------------------------------------------------------


def test_jobs_are_done_in_order_so_many_at_a_time(one: Work) -> None:
    for name in "abc":
        one.starts(name)
    for name in "abc":
        assert one.begun.next() == name
        assert one.begun.drain() == []
        one.lets_end(name)
    assert threads_of() == 1


def test_no_more_threads_are_begun_than_were_allowed(gate: Gate) -> None:
    work = Work(2)
    for _ in range(5):
        work.lanes[LANE].start(gate, work.ended.tell)
    gate.reached()
    assert threads_of() == 2
    gate.open()
    work.ended.expect(*[None] * 5)
    work.close()


def test_a_thread_that_has_nothing_to_do_is_used_again(one: Work) -> None:
    lanes = Lanes("test", {LANE: LaneSize(100)})
    threads = set()
    for _ in range(100):
        lanes[LANE].start(threading.get_ident, one.ended.tell)
        threads.add(one.ended.next())
    assert len(threads) <= 3
    lanes.close()


def test_a_thread_that_had_nothing_to_do_for_a_while_ends(one: Work) -> None:
    lanes = Lanes("test", {LANE: LaneSize(2)}, idle_for=0.001)
    for _ in range(3):
        lanes[LANE].start(lambda: "done", one.ended.tell)
        one.ended.expect("done")
        eventually(no_threads)


def test_jobs_of_one_turn_are_done_one_at_a_time(work: Work) -> None:
    work.starts("a", "disk")
    waits = work.starts("b", "disk")
    assert work.begun.next() == "a"
    assert not waits.has_begun
    work.lets_end("a")
    assert work.begun.next() == "b"
    work.lets_end("b")


def test_jobs_of_one_turn_are_done_in_order_across_lanes_and_take_no_thread_meanwhile(
    one: Work,
) -> None:
    one.starts("gone", "pod")
    one.starts("made again", "pod", OTHER)
    one.starts("gone again", "pod")
    assert one.begun.next() == "gone"
    one.starts("of others", None, OTHER)
    assert one.begun.next() == "of others"
    one.lets_end("of others")
    for name in ("gone", "made again", "gone again"):
        one.lets_end(name)
    assert one.begun.drain() == ["made again", "gone again"]


def test_a_job_that_does_not_wait_for_its_turn_fails_at_once_until_the_earlier_one_ended(
    work: Work,
) -> None:
    hangs = work.starts("hangs", "disk", waits=False)
    assert work.begun.next() == "hangs"
    hangs.abandon()
    for _ in range(3):
        work.starts("again", "disk", waits=False)
        assert isinstance(work.fails(), BusyError)
    work.starts("other", "memory", waits=False)
    assert work.begun.next() == "other"
    for name in ("other", "hangs"):
        work.lets_end(name)
    work.starts("again", "disk", waits=False)
    assert work.begun.next() == "again"
    work.lets_end("again")


# --- what nobody waits for any more -------------------------------------------------------------------


def test_what_is_abandoned_before_a_thread_is_at_it_is_never_begun(work: Work) -> None:
    work.starts("a", "disk")
    assert work.begun.next() == "a"
    work.starts("b", "disk").abandon()
    work.starts("c", "disk")
    work.lets_end("a")
    assert work.begun.next() == "c"
    work.lets_end("c")


@pytest.mark.parametrize("turn", [None, "disk"])
def test_what_is_due_anyway_is_done_though_nobody_waits_for_it(one: Work, turn: str | None) -> None:
    one.starts("a", turn)
    assert one.begun.next() == "a"
    one.starts("b", turn, is_due_anyway=True).abandon()
    one.lets_end("a")
    assert one.begun.next() == "b"
    one.lets_end("b")


def test_what_was_due_anyway_and_hangs_holds_up_nobody(one: Work) -> None:
    one.starts("a")
    assert one.begun.next() == "a"
    one.starts("hangs", is_due_anyway=True).abandon()
    one.starts("waits")
    one.lets_end("a")
    assert {one.begun.next(), one.begun.next()} == {"hangs", "waits"}
    one.lets_end("waits")
    one.lets_end("hangs")


def test_one_that_waits_for_a_thread_may_be_abandoned_and_its_turn_goes_on(one: Work) -> None:
    one.starts("a")
    assert one.begun.next() == "a"
    waits = one.starts("b", "disk")
    one.starts("c", "disk")
    waits.abandon()
    one.lets_end("a")
    assert one.begun.next() == "c"
    one.lets_end("c")


def test_while_one_hangs_that_nobody_waits_for_another_thread_does_what_waits(one: Work) -> None:
    hangs = one.starts("hangs")
    assert one.begun.next() == "hangs"
    one.starts("waits")
    assert one.begun.drain() == []
    hangs.abandon()
    hangs.abandon()
    assert one.begun.next() == "waits"
    one.lets_end("waits")
    one.lets_end("hangs")
    eventually(lambda: threads_of() == 1)


def test_a_lane_whose_jobs_touch_what_is_one_threads_alone_has_no_other_one(one: Work) -> None:
    hangs = one.starts("hangs", lane=OTHER)
    assert one.begun.next() == "hangs"
    hangs.abandon()
    one.starts("waits", lane=OTHER)
    assert threads_of(OTHER) == 1
    one.lets_end("hangs")
    assert one.begun.next() == "waits"
    one.lets_end("waits")


def test_the_next_of_its_turn_waits_for_one_that_hangs(one: Work) -> None:
    hangs = one.starts("hangs", "disk")
    assert one.begun.next() == "hangs"
    one.starts("next", "disk")
    hangs.abandon()
    one.starts("other", "memory")
    assert one.begun.next() == "other"
    one.lets_end("other")
    assert one.begun.drain() == []
    one.lets_end("hangs")
    assert one.begun.next() == "next"
    one.lets_end("next")


# --- threads that cannot be had -----------------------------------------------------------------------


class Scarce:
    """Begins workers on threads while there are any."""

    def __init__(self) -> None:
        self.left = 0

    def begin(self, name: str, worker: Callable[[], bool]) -> None:
        if self.left == 0:
            raise RuntimeError("can't start new thread")
        self.left -= 1
        on_a_thread(name, worker)


def test_what_waits_fails_when_no_thread_can_be_had_and_later_jobs_have_one(one: Work) -> None:
    scarce = Scarce()
    one.lanes = Lanes("test", {LANE: LaneSize(1), OTHER: LaneSize(1)}, begin=scarce.begin)
    for turn in (None, "disk", "disk"):
        one.starts("a", turn)
        assert isinstance(one.fails(), StepError)
    scarce.left = 1
    one.starts("b", "disk")
    assert one.begun.next() == "b"
    one.lets_end("b")


def test_a_lane_that_has_a_thread_waits_for_it_when_no_other_can_be_had() -> None:
    work, scarce = Work(2), Scarce()
    work.lanes = Lanes("test", {LANE: LaneSize(2)}, begin=scarce.begin)
    scarce.left = 1
    work.starts("a")
    assert work.begun.next() == "a"
    work.starts("b")
    work.lets_end("a")
    assert work.begun.next() == "b"
    scarce.left = 1
    work.starts("c")
    assert work.begun.next() == "c"
    work.lets_end("b")
    work.lets_end("c")
    work.close()


# --- the end ------------------------------------------------------------------------------------------


def test_after_the_end_nothing_begins_and_who_waits_hears_of_it(one: Work) -> None:
    one.starts("a", "disk")
    assert one.begun.next() == "a"
    one.starts("b")
    one.starts("c", "disk")
    one.lanes.close()
    one.starts("d")
    errors = [one.fails() for _ in "bcd"]
    assert {str(each) for each in errors} == {"nothing is begun any more"}
    one.lets_end("a")
    eventually(no_threads)
    assert one.begun.drain() == []


# --- a model ------------------------------------------------------------------------------------------


class Hand:
    """Workers that the test gives a turn, one at a time."""

    def __init__(self) -> None:
        self.workers: list[Callable[[], bool]] = []

    def begin(self, _: str, worker: Callable[[], bool]) -> None:
        self.workers.append(worker)


class Model:
    """Jobs that call others while they are being done: so several are under way at once."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.hand = Hand()
        self.most = {"x": 1, "y": 2}
        sizes = {"x": LaneSize(1, more=0), "y": LaneSize(2)}
        self.lanes = Lanes("model", sizes, begin=self.hand.begin, idle_for=0.0)
        self.jobs: list[InFlight] = []
        self.due: set[int] = set()
        self.abandoned: set[int] = set()
        self.under_way: list[int] = []
        self.order: dict[str, list[int]] = {}
        self.told: Counter[int] = Counter()
        self.done: list[int] = []
        self.lane: dict[int, str] = {}
        self.depth = 0

    def begins(self) -> None:
        number, turn = len(self.jobs), self.random.choice([None, "a", "b"])
        lane = self.lane[number] = self.random.choice("xy")
        is_due = self.random.random() < 0.3
        if is_due:
            self.due.add(number)
        if turn is not None:
            self.order.setdefault(turn, []).append(number)
        self.jobs.append(None)  # type: ignore[arg-type]  # a job may be told within start
        self.jobs[number] = self.lanes[lane].start(
            partial(self._does, number, turn),
            lambda _: self.told.update([number]),
            turn,
            is_due_anyway=is_due,
        )

    def abandons(self) -> None:
        number = self.random.randrange(len(self.jobs))
        if not self.jobs[number].has_begun:
            self.abandoned.add(number)
        self.jobs[number].abandon()

    def works(self) -> None:
        if self.hand.workers:
            worker = self.hand.workers.pop(self.random.randrange(len(self.hand.workers)))
            if worker():
                self.hand.workers.append(worker)

    def steps(self) -> None:
        self.random.choice([self.begins, self.abandons, self.works, self.works])()

    def _does(self, number: int, turn: str | None) -> int:
        of_turn = [] if turn is None else self.order[turn]
        assert not {*self.under_way} & {*of_turn}, "two of one turn"
        at_once = [each for each in self.under_way if self.lane[each] == "x"]
        assert self.lane[number] == "y" or not at_once, "two in a lane of one"
        self.under_way.append(number)
        self.depth += 1
        if self.depth < 6:
            for _ in range(self.random.randrange(4)):
                self.steps()
        self.depth -= 1
        self.under_way.remove(number)
        self.done.append(number)
        return number


@pytest.mark.parametrize("seed", range(60))
def test_whatever_happens_each_job_is_done_once_in_its_turn_or_was_abandoned(seed: int) -> None:
    model = Model(seed)
    model.begins()
    for _ in range(150):
        model.steps()
    while model.hand.workers:
        model.works()
    never = model.abandoned - model.due
    wanted = {*range(len(model.jobs))} - never
    assert {*model.done} == wanted
    assert model.told == Counter(wanted)
    for line in model.order.values():
        done = [each for each in model.done if each in line]
        assert done == sorted(done)
