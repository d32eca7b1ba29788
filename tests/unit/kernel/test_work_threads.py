"""Work that may block is done on threads of its own, no more of them than it needs."""

from __future__ import annotations

import threading

from kernel.work_threads import WorkThreads
from tests.support.kernel.players import Gate
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE


def one() -> int:
    return 1


def test_what_work_returns_is_told() -> None:
    threads, told = WorkThreads("work", 1), Probe[object]()
    threads.start(lambda: "seven", told.tell)
    threads.start(lambda: None, told.tell)
    told.expect("seven", None)
    threads.close()


def test_a_thread_is_free_before_its_result_is_told() -> None:
    threads, told = WorkThreads("work", 100), Probe[int]()
    threads_used = set()
    for _ in range(100):
        threads.start(threading.get_ident, told.tell)
        threads_used.add(told.next())
    assert len(threads_used) == 1
    threads.close()


def test_no_more_threads_are_begun_than_were_allowed(gate: Gate) -> None:
    threads, told = WorkThreads("some-work", 2), Probe[object]()
    for _ in range(5):
        threads.start(gate, told.tell)
    gate.reached()
    assert [each.name for each in threading.enumerate()].count("some-work") == 2
    gate.open()
    told.expect(*[None] * 5)
    threads.close()


def test_one_thread_more_takes_what_waits_for_one_that_hangs(gate: Gate) -> None:
    threads, told = WorkThreads("work", 1), Probe[int]()
    threads.start(gate, lambda _: None)
    gate.reached()
    threads.start(one, told.tell)
    threads.add_one()
    told.expect(1)
    threads.close()


def test_what_was_begun_before_the_end_is_done_and_then_the_threads_are_gone(gate: Gate) -> None:
    threads, told = WorkThreads("last-work", 1), Probe[int]()
    threads.start(gate, lambda _: None)
    gate.reached()
    threads.start(one, told.tell)
    threads.close()
    [thread] = [each for each in threading.enumerate() if each.name == "last-work"]
    gate.open()
    told.expect(1)
    thread.join(PATIENCE)
    assert not thread.is_alive()
