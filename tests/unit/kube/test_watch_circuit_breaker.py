"""The circuit breaker of one connection: one probe at a time, and all others share its result."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from itertools import pairwise

import pytest

from kube.errors import ApiError
from kube.streams.circuit_breaker import CircuitBreaker, ConnectionLostError, Permit
from kube.streams.rules import WatchRules
from messages.api import FailureKind
from messages.units import Seconds

RULES = WatchRules(
    user_agent="test",
    first_probe=Seconds(0.002),
    shortest_probe=Seconds(0.01),
    longest_probe=Seconds(0.02),
    spread=Seconds(0.01),
)
REFUSED = ApiError("connection refused", kind=FailureKind.UNREACHABLE)


async def opened_breaker(rules: WatchRules = RULES) -> tuple[CircuitBreaker, Permit]:
    """Return a circuit breaker whose connection broke, and the permit of a stream on that."""
    breaker = CircuitBreaker(rules, random.Random(3))
    stream = await breaker.acquire()
    breaker.on_failure(stream, REFUSED)
    return breaker, stream


async def started(*tasks: asyncio.Task[Permit]) -> None:
    """Let tasks go as far as they can."""
    for _ in tasks:
        await asyncio.sleep(0)


def acquiring(breaker: CircuitBreaker) -> asyncio.Task[Permit]:
    return asyncio.get_running_loop().create_task(breaker.acquire())


def test_a_closed_circuit_breaker_lets_everybody_send() -> None:
    async def story() -> None:
        breaker = CircuitBreaker(RULES, random.Random(3))
        permits = [await breaker.acquire() for _ in range(3)]
        assert [permit.is_probe for permit in permits] == [False] * 3
        assert all(breaker.is_valid(permit) for permit in permits)

    asyncio.run(story())


def test_one_probes_and_the_others_follow_when_it_is_answered() -> None:
    async def story() -> None:
        breaker, stream = await opened_breaker()
        assert not breaker.is_valid(stream)
        first, *others = [acquiring(breaker) for _ in range(5)]
        probe = await first
        assert probe.is_probe
        assert breaker.is_valid(probe)
        assert [other.done() for other in others] == [False] * 4
        breaker.on_answer(probe)
        assert [(await other).is_probe for other in others] == [False] * 4

    asyncio.run(story())


def test_those_who_waited_for_a_probe_return_one_after_another_over_the_spread() -> None:
    async def story() -> None:
        breaker, _ = await opened_breaker(replace(RULES, spread=Seconds(1e6)))
        first, *others = [acquiring(breaker) for _ in range(5)]
        breaker.on_answer(await first)
        await started(*others * 3)
        assert not any(other.done() for other in others)  # each has its own time, in days
        # Who comes after them does not wait.
        assert not (await breaker.acquire()).is_probe
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    asyncio.run(story())


def test_a_probe_that_fails_fails_for_all_who_wait() -> None:
    async def story() -> None:
        breaker, _ = await opened_breaker()
        first, *others = [acquiring(breaker) for _ in range(5)]
        breaker.on_failure(await first, REFUSED)
        heard = await asyncio.gather(*others, return_exceptions=True)
        assert [(type(each), str(each)) for each in heard] == [
            (ConnectionLostError, "connection refused")
        ] * 4
        # Nobody of them has sent anything; the next to enter is the probe.
        assert not any(each.was_sent for each in heard if isinstance(each, ConnectionLostError))
        assert (await breaker.acquire()).is_probe

    asyncio.run(story())


def test_what_is_heard_of_an_earlier_connection_changes_nothing() -> None:
    async def story() -> None:
        breaker, stream = await opened_breaker()
        probe = await breaker.acquire()
        breaker.on_failure(stream, REFUSED)
        breaker.on_answer(stream)
        assert breaker.is_valid(probe)
        breaker.on_answer(probe)
        breaker.on_failure(stream, REFUSED)
        assert not (await breaker.acquire()).is_probe

    asyncio.run(story())


@pytest.mark.parametrize("who", [0, 1], ids=["the-probe", "one-who-waits"])
def test_a_cancelled_one_leaves_the_others_unharmed(who: int) -> None:
    async def story() -> None:
        breaker, _ = await opened_breaker()
        tasks = [acquiring(breaker) for _ in range(3)]
        await started(*tasks)
        tasks.pop(who).cancel()
        done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        probe = await done.pop()
        assert probe.is_probe
        breaker.on_answer(probe)
        assert not (await waiting.pop()).is_probe

    asyncio.run(story())


def test_a_probe_without_an_answer_does_not_keep_the_others_out() -> None:
    async def story() -> None:
        breaker, _ = await opened_breaker()
        slow, other = acquiring(breaker), acquiring(breaker)
        first = await slow
        second = await other
        assert second.is_probe
        # Whichever is answered closes the circuit breaker.
        breaker.on_answer(first)
        assert not (await breaker.acquire()).is_probe

    asyncio.run(story())


def test_probes_are_not_sent_faster_than_the_rules_say() -> None:
    async def story() -> None:
        breaker, _ = await opened_breaker()
        loop = asyncio.get_running_loop()
        times = []
        for _ in range(5):
            permit = await breaker.acquire()
            times.append(loop.time())
            breaker.on_failure(permit, REFUSED)
        gaps = [later - sooner for sooner, later in pairwise(times)]
        assert min(gaps) >= 0.009

    asyncio.run(story())


def test_a_connection_that_breaks_while_some_wait_for_the_cap_is_tried_again() -> None:
    async def story() -> None:
        breaker = CircuitBreaker(RULES, random.Random(3))
        lucky, late = await breaker.acquire(), await breaker.acquire()
        breaker.on_failure(lucky, REFUSED)
        assert not breaker.is_valid(late)

    asyncio.run(story())
