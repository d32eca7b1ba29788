"""What is due in which tick, and when a container is asked next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.probes.specs import ProbeSpec
from actors.probes.tick_queue import TICK, TickQueue, TickRoom, first_due, next_due
from manifests.handlers import TcpSocketAction
from messages.probing import ProbeKind
from messages.units import Seconds

TIMES = st.floats(0.0, 1e6).map(Seconds)


def spec(initial_delay: float = 0.0, period: float = 10.0) -> ProbeSpec:
    return ProbeSpec(
        kind=ProbeKind.LIVENESS,
        handler=TcpSocketAction(host="", port=80),
        initial_delay=Seconds(initial_delay),
        period=Seconds(period),
    )


@given(st.lists(TIMES, max_size=20), st.lists(st.integers(0, 19)), TIMES)
def test_nothing_is_due_early_or_more_than_a_tick_late(
    dues: list[Seconds], dropped: list[int], now: Seconds
) -> None:
    tick_queue: TickQueue[int] = TickQueue()
    ticks = [tick_queue.add(due, item) for item, due in enumerate(dues)]
    left = set(range(len(dues))) - set(dropped)
    for item in set(dropped) & set(range(len(dues))):
        tick_queue.discard(ticks[item], item)
    taken = tick_queue.take_due(now)
    assert {item for item in left if dues[item] <= now - 2 * TICK} <= set(taken) <= left
    assert all(dues[item] <= now + 1e-3 for item in taken)
    later = [dues[item] for item in left - set(taken)]
    following = tick_queue.next_due()
    assert (following is None) == (not later)
    assert following is None or min(later) <= following + 1e-3


def test_what_is_due_comes_in_its_order_and_no_more_than_asked_for() -> None:
    tick_queue: TickQueue[str] = TickQueue()
    for due, item in ((0.5, "b"), (0.2, "a"), (0.5, "c"), (9.0, "d")):
        tick_queue.add(Seconds(due), item)
    assert tick_queue.take_due(Seconds(0.1)) == []
    assert tick_queue.take_due(Seconds(1.0), most=2) == ["a", "b"]
    assert tick_queue.take_due(Seconds(1.0), most=2) == ["c"]
    assert tick_queue.next_due() == 9.0


def test_what_was_taken_away_is_due_no_more() -> None:
    tick_queue: TickQueue[str] = TickQueue()
    tick = tick_queue.add(Seconds(0.5), "a")
    tick_queue.discard(tick, "a")
    tick_queue.discard(tick, "a")
    assert tick_queue.next_due() is None
    tick_queue.discard(tick, "a")


def test_in_each_tick_there_is_room_for_so_many() -> None:
    room = TickRoom(2)
    assert [room.take(Seconds(5.001)) for _ in range(3)] == [True, True, False]
    assert [room.take(Seconds(5.012)) for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(("age", "due"), [(0.0, 105.0), (2.0, 103.0), (9.0, 100.0), (-1e9, 105.0)])
def test_a_container_is_asked_first_when_its_delay_is_over(age: float, due: float) -> None:
    assert first_due(spec(initial_delay=5.0), age, 0.0, Seconds(100.0)) == due


def test_the_first_attempts_are_spread_over_a_period() -> None:
    assert first_due(spec(initial_delay=5.0), 0.0, 2.5, Seconds(100.0)) == 107.5


@pytest.mark.parametrize(
    ("now", "due", "skipped"),
    [(100.1, 110.0, 0), (110.0, 110.0, 0), (110.1, 120.0, 1), (145.0, 150.0, 4)],
)
def test_what_was_missed_is_left_out(now: float, due: float, skipped: int) -> None:
    assert next_due(spec(), Seconds(100.0), Seconds(now)) == (due, skipped)
