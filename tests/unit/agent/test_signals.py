"""What the main thread waits for."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from itertools import count
from types import FrameType

import pytest

from agent.process import HANDLED, WAKE_UP, Signals
from messages.units import Seconds

TAKING_OVER = {"signal", "set_wakeup_fd"}
"""The interpreter's functions by which signals are taken over, one after the other."""


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """Give the signals back to pytest."""
    numbers = [*HANDLED, signal.SIGUSR2]
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    sys.setprofile(None)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", HANDLED)
def test_a_signal_ends_the_wait(number: signal.Signals) -> None:
    with Signals() as signals:
        os.kill(os.getpid(), number)
        assert signals.wait(None) == number
        assert signals.wait(Seconds(0.0)) is None


@pytest.mark.parametrize("turn", range(len(HANDLED) + 1))
def test_a_signal_in_the_middle_of_taking_over_reaches_who_had_it_before_or_the_wait(
    turn: int,
) -> None:
    before: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: before.append(number))
    steps = count()

    def interrupt(_frame: FrameType | None, event: str, function: object) -> None:
        is_step = event == "c_return" and getattr(function, "__name__", "") in TAKING_OVER
        if is_step and next(steps) == turn:
            os.kill(os.getpid(), signal.SIGTERM)

    sys.setprofile(interrupt)
    with Signals() as signals:
        sys.setprofile(None)
        assert signal.SIGTERM in (*before, signals.wait(Seconds(0.0)))
    assert next(steps) == len(HANDLED) + 1


def test_signals_are_told_one_by_one() -> None:
    with Signals() as signals:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert [signals.wait(None) for _ in range(3)] == [
            signal.SIGHUP,
            signal.SIGTERM,
            signal.SIGTERM,
        ]


def test_a_wake_up_of_another_thread_ends_the_wait() -> None:
    with Signals() as signals:
        thread = threading.Thread(target=signals.wake_up)
        thread.start()
        assert signals.wait(None) == WAKE_UP
        thread.join()


def test_signals_of_others_are_none_of_its_business() -> None:
    signal.signal(signal.SIGUSR2, lambda _number, _frame: None)
    with Signals() as signals:
        signal.raise_signal(signal.SIGUSR2)
        assert signals.wait(None) is None


def test_any_number_of_wake_ups_blocks_nobody_and_none_is_too_late() -> None:
    with Signals() as signals:
        [signals.wake_up() for _ in range(100_000)]  # type: ignore[func-returns-value]
        assert signals.wait(None) == WAKE_UP
    signals.wake_up()


def test_afterwards_signals_are_ignored_and_the_descriptor_is_given_back() -> None:
    before = signal.set_wakeup_fd(-1)
    with Signals():
        pass
    assert signal.set_wakeup_fd(before) == -1
    signal.raise_signal(signal.SIGTERM)
