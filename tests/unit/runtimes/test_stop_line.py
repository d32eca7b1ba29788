"""Stops wait for their turn in the order of their ends, are never lost, and no grace grows meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages.units import Seconds
from runtimes.containers.stopping import COUNTS_FOR, StopLine, WaitingStop


def stop(ref: int, grace: float = 30.0, asked_at: float = 0.0) -> WaitingStop:
    return WaitingStop(ref, Seconds(asked_at), Seconds(grace))


def turns(line: StopLine, now: float, most: int | None = 1) -> list[int]:
    return [each.ref for each in line.turns(Seconds(now), most)]


def test_with_no_bound_nobody_waits() -> None:
    line = StopLine()
    for ref in range(100):
        line.add(stop(ref))
    assert turns(line, 0.0, None) == list(range(100))
    assert line.next_turn() is None


def test_a_short_grace_is_never_behind_a_long_one() -> None:
    line = StopLine()
    for ref, grace in enumerate((600.0, 30.0, 5.0, 0.0)):
        line.add(stop(ref, grace))
    assert turns(line, 0.0) == [3]
    line.end(3)
    assert turns(line, 0.1) == [2]
    assert turns(line, 0.1) == []
    line.end(2)
    assert turns(line, 0.2) == [1]


def test_one_that_takes_its_time_keeps_its_turn_from_nobody() -> None:
    line = StopLine()
    for ref in range(3):
        line.add(stop(ref, 600.0))
    assert turns(line, 1.0) == [0]
    assert line.next_turn() == 1.0 + COUNTS_FOR
    assert turns(line, 1.0 + COUNTS_FOR) == [1]


@pytest.mark.parametrize(
    ("grace", "left"),
    [(0.5, 0.5), (1.9, 1.9), (2.0, 2.0), (2.1, 2.0), (4.0, 2.0), (4.2, 2.1), (30.0, 15.0)],
)
def test_half_of_the_grace_is_left_and_two_seconds_of_it_whatever_else_is_told(
    grace: float, left: float
) -> None:
    line = StopLine()
    for ref in range(100):
        line.add(stop(ref, grace))
    line.add(stop(100, 0.0))
    assert turns(line, 0.0) == [100]
    told = list(line.turns(Seconds(grace / 2), 1))
    assert sorted(each.ref for each in told) == list(range(100))
    assert {each.left(Seconds(grace / 2)) for each in told} == {left}


def test_of_no_grace_nothing_is_left_however_long_it_waits() -> None:
    assert stop(0, 0.0).left(Seconds(9.0)) == 0.0


def test_one_that_is_not_wanted_any_more_is_not_told() -> None:
    line = StopLine()
    line.add(stop(0))
    line.add(stop(1))
    assert turns(line, 0.0) == [0]
    assert (0 in line, 1 in line, line.waiting()) == (False, True, (1,))
    line.end(1)
    line.end(0)
    assert turns(line, 0.1) == []


@given(
    graces=st.lists(st.sampled_from([0.0, 0.3, 2.0, 30.0, 600.0]), min_size=1, max_size=40),
    most=st.integers(1, 4),
    pauses=st.lists(st.sampled_from([0.0, 0.1, 1.0]), min_size=60, max_size=60),
)
def test_each_is_told_once_and_with_half_of_its_grace_if_it_is_woken_in_time(
    graces: list[float], most: int, pauses: list[float]
) -> None:
    line, now, told = StopLine(), 0.0, list[int]()
    for ref, grace in enumerate(graces):
        line.add(stop(ref, grace, asked_at=now))
        for each in line.turns(Seconds(now), most):
            told.append(each.ref)
            assert each.left(Seconds(now)) * 2 >= each.grace - 0.001
        due, pause = line.next_turn(), pauses[ref]
        assert due is None or due >= now
        now = now + pause if due is None else min(now + pause, due)
    while (due := line.next_turn()) is not None:
        now = max(now, due)
        for each in line.turns(Seconds(now), most):
            told.append(each.ref)
            assert each.left(Seconds(now)) * 2 >= each.grace - 0.001
    assert sorted(told) == list(range(len(graces)))
