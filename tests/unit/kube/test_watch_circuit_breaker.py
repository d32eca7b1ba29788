"""The gate of one client: one probe at a time, and what it hears all others hear."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from itertools import pairwise

import pytest

from kube.errors import ApiError
from kube.streams.circuit_breaker import Gate, LostError, Permit
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


def run(story: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 5))


async def broken_gate(rules: WatchRules = RULES) -> tuple[Gate, Permit]:
    """Return a gate whose connection broke, and the permit of a stream on that."""
    gate = Gate(rules, random.Random(3))
    stream = await gate.enter()
    gate.failed(stream, REFUSED)
    return gate, stream


async def started(*tasks: asyncio.Task[Permit]) -> None:
    """Let tasks go as far as they can."""
    for _ in tasks:
        await asyncio.sleep(0)


def entering(gate: Gate) -> asyncio.Task[Permit]:
    return asyncio.get_running_loop().create_task(gate.enter())


def test_an_open_gate_lets_everybody_in() -> None:
    async def story() -> None:
        gate = Gate(RULES, random.Random(3))
        permits = [await gate.enter() for _ in range(3)]
        assert [permit.is_probe for permit in permits] == [False] * 3
        assert all(gate.lets(permit) for permit in permits)

    run(story())


def test_one_probes_and_the_others_follow_when_it_is_answered() -> None:
    async def story() -> None:
        gate, stream = await broken_gate()
        assert not gate.lets(stream)
        first, *others = [entering(gate) for _ in range(5)]
        probe = await first
        assert probe.is_probe
        assert gate.lets(probe)
        assert [other.done() for other in others] == [False] * 4
        gate.answered(probe)
        assert [(await other).is_probe for other in others] == [False] * 4

    run(story())


def test_a_probe_that_fails_fails_for_all_who_wait() -> None:
    async def story() -> None:
        gate, _ = await broken_gate()
        first, *others = [entering(gate) for _ in range(5)]
        gate.failed(await first, REFUSED)
        heard = await asyncio.gather(*others, return_exceptions=True)
        assert [(type(each), str(each)) for each in heard] == [
            (LostError, "connection refused")
        ] * 4
        # Nobody of them has sent anything; the next to enter is the probe.
        assert not any(each.was_sent for each in heard if isinstance(each, LostError))
        assert (await gate.enter()).is_probe

    run(story())


def test_what_is_heard_of_an_earlier_connection_changes_nothing() -> None:
    async def story() -> None:
        gate, stream = await broken_gate()
        probe = await gate.enter()
        gate.failed(stream, REFUSED)
        gate.answered(stream)
        assert gate.lets(probe)
        gate.answered(probe)
        gate.failed(stream, REFUSED)
        assert not (await gate.enter()).is_probe

    run(story())


@pytest.mark.parametrize("who", [0, 1], ids=["the-probe", "one-who-waits"])
def test_a_cancelled_one_leaves_the_others_unharmed(who: int) -> None:
    async def story() -> None:
        gate, _ = await broken_gate()
        tasks = [entering(gate) for _ in range(3)]
        await started(*tasks)
        tasks.pop(who).cancel()
        done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        probe = await done.pop()
        assert probe.is_probe
        gate.answered(probe)
        assert not (await waiting.pop()).is_probe

    run(story())


def test_a_probe_without_an_answer_does_not_keep_the_others_out() -> None:
    async def story() -> None:
        gate, _ = await broken_gate()
        slow, other = entering(gate), entering(gate)
        first = await slow
        second = await other
        assert second.is_probe
        # Whichever is answered opens the gate.
        gate.answered(first)
        assert not (await gate.enter()).is_probe

    run(story())


def test_probes_are_not_sent_faster_than_the_rules_say() -> None:
    async def story() -> None:
        gate, _ = await broken_gate()
        loop = asyncio.get_running_loop()
        times = []
        for _ in range(5):
            permit = await gate.enter()
            times.append(loop.time())
            gate.failed(permit, REFUSED)
        gaps = [later - sooner for sooner, later in pairwise(times)]
        assert min(gaps) >= 0.009

    run(story())


def test_a_connection_that_breaks_while_some_wait_for_the_cap_is_tried_again() -> None:
    async def story() -> None:
        gate = Gate(RULES, random.Random(3))
        lucky, late = await gate.enter(), await gate.enter()
        gate.failed(lucky, REFUSED)
        assert not gate.lets(late)

    run(story())
