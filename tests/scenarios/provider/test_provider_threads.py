"""Calls on real threads: of plain and of async classes, with their exceptions, and given up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from typing_extensions import override

from messages.pods import Pod
from runtimes.provider.calls import (
    ProviderCall,
    ProviderCallEnded,
    ProviderFailure,
    Returned,
    ThreadedCalls,
)
from runtimes.provider.pods import Method
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE

WEB = make_pod("web")


class Threaded:
    """The threads, and whoever is told."""

    def __init__(self) -> None:
        self.calls = ThreadedCalls()
        self.told: Probe[ProviderCallEnded] = Probe()
        self._ref = 0

    def start(self, function: Callable[..., object], *arguments: object) -> ProviderCall:
        """Begin a call."""
        self._ref += 1
        call = ProviderCall(self._ref, Method.RUN, partial(function, *arguments))
        self.calls.start(call, self.told)
        return call

    def outcome(self, call: ProviderCall) -> Returned | ProviderFailure:
        """Return its outcome, once that was told."""
        self.told.expect(ProviderCallEnded(ref=call.ref))
        assert call.outcome is not None
        return call.outcome

    def value(self, function: Callable[..., object], *arguments: object) -> object:
        """Return what a call returns."""
        outcome = self.outcome(self.start(function, *arguments))
        assert isinstance(outcome, Returned), outcome
        return outcome.value


@pytest.fixture
def threads() -> Iterator[Threaded]:
    threaded = Threaded()
    yield threaded
    threaded.calls.close()


def name_of_thread(_pod: Pod) -> str:
    return threading.current_thread().name


async def name_of_loop(_pod: Pod) -> tuple[str, int]:
    await asyncio.sleep(0)
    return threading.current_thread().name, id(asyncio.get_running_loop())


def test_a_plain_method_runs_on_a_thread_of_its_own(threads: Threaded) -> None:
    assert threads.value(name_of_thread, WEB) == "provider-run"


def test_async_methods_run_on_one_loop(threads: Threaded) -> None:
    first, second = threads.value(name_of_loop, WEB), threads.value(name_of_loop, WEB)
    assert first == second
    assert isinstance(first, tuple)
    assert first[0] == "provider-loop"


def test_a_plain_method_may_return_something_to_await(threads: Threaded) -> None:
    value = threads.value(lambda: name_of_loop(WEB))
    assert isinstance(value, tuple)
    assert value[0] == "provider-loop"


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), KeyboardInterrupt()])
def test_whatever_is_raised_is_the_outcome(threads: Threaded, error: BaseException) -> None:
    def plain() -> None:
        raise error

    async def later() -> None:
        await asyncio.sleep(0)
        raise error

    functions = (plain, later) if isinstance(error, ValueError) else (plain,)
    for function in functions:
        outcome = threads.outcome(threads.start(function))
        assert isinstance(outcome, ProviderFailure)
        assert (outcome.kind, outcome.text) == (type(error).__name__, str(error))
        assert "test_provider_threads.py:" in outcome.where


def test_an_exception_that_cannot_say_what_it_is_is_one_all_the_same(threads: Threaded) -> None:
    class Mute(Exception):  # noqa: N818  # a test's
        @override
        def __str__(self) -> str:
            raise RuntimeError("not even this")

    def fail() -> None:
        raise Mute

    outcome = threads.outcome(threads.start(fail))
    assert isinstance(outcome, ProviderFailure)
    assert (outcome.kind, outcome.text) == ("Mute", "")


def test_an_async_call_that_is_given_up_is_cancelled(threads: Threaded) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    call = threads.start(endless)
    assert begun.wait(PATIENCE)
    threads.calls.give_up(call)
    assert cancelled.wait(PATIENCE)
    outcome = threads.outcome(call)
    assert isinstance(outcome, ProviderFailure)
    assert outcome.kind == "CancelledError"


def test_a_plain_call_that_hangs_holds_up_no_other(threads: Threaded) -> None:
    gate = threading.Event()
    hanging = threads.start(gate.wait)
    threads.calls.give_up(hanging)
    assert threads.value(name_of_thread, WEB) == "provider-run"
    gate.set()
    assert isinstance(threads.outcome(hanging), Returned)
