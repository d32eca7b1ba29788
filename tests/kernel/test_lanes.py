"""Lanes of threads: order, turns, what is abandoned, and what hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from kernel import Lane
from kernel.lanes import Piece
from tests.support.agent.process import eventually
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE


class Work:
    """Pieces of work that wait until the test lets them end."""

    def __init__(self, most: int) -> None:
        self.lane = Lane("test-lane", most)
        self.begun: Probe[str] = Probe()
        self.ended: Probe[str] = Probe()
        self._gates: dict[str, threading.Event] = {}

    def starts(self, name: str, turn: str | None = None) -> Piece:
        """Start a piece of work that waits."""
        self._gates[name] = threading.Event()
        return self.lane.start(partial(self._waits, name), self.ended.tell, turn)

    def lets_end(self, name: str) -> None:
        """Let a piece end, and wait until that was told."""
        self._gates[name].set()
        assert self.ended.next() == name

    def _waits(self, name: str) -> str:
        self.begun.tell(name)
        return name if self._gates[name].wait(PATIENCE) else f"{name} was never let end"

    def close(self) -> None:
        """Let everything end."""
        self.lane.close()
        for gate in self._gates.values():
            gate.set()


def lane_threads() -> int:
    """Return how many threads lanes have."""
    return sum(each.name == "test-lane" for each in threading.enumerate())


@pytest.fixture(params=[1, 2])
def work(request: Any) -> Iterator[Work]:
    """Return a lane of one thread or two."""
    work = Work(request.param)
    yield work
    work.close()
    eventually(lambda: lane_threads() == 0)


@pytest.fixture
def one() -> Iterator[Work]:
    """Return a lane of one thread."""
    work = Work(1)
    yield work
    work.close()
    eventually(lambda: lane_threads() == 0)


def test_pieces_are_done_in_order_so_many_at_a_time(one: Work) -> None:
    for name in "abc":
        one.starts(name)
    for name in "abc":
        assert one.begun.next() == name
        assert one.begun.drain() == []
        one.lets_end(name)
    assert lane_threads() == 1


def test_pieces_of_one_turn_are_done_one_at_a_time(work: Work) -> None:
    work.starts("a", "disk")
    waits = work.starts("b", "disk")
    assert work.begun.next() == "a"
    assert not waits.has_begun
    work.lets_end("a")
    assert work.begun.next() == "b"
    work.lets_end("b")


def test_what_is_abandoned_before_a_thread_is_at_it_is_never_begun(work: Work) -> None:
    work.starts("a", "disk")
    assert work.begun.next() == "a"
    work.starts("b", "disk").abandon()
    work.starts("c", "disk")
    work.lets_end("a")
    assert work.begun.next() == "c"
    work.lets_end("c")


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
    eventually(lambda: lane_threads() == 1)


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


def test_after_the_end_nothing_begins(one: Work) -> None:
    one.starts("a")
    assert one.begun.next() == "a"
    one.starts("b")
    one.lane.close()
    one.starts("c")
    one.lets_end("a")
    eventually(lambda: lane_threads() == 0)
    assert one.begun.drain() == []
