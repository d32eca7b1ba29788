"""Answers that cross from an actor's thread to a loop."""

from __future__ import annotations

import asyncio
import sys

import pytest

from kernel import (
    ActorCrashedError,
    ActorDeadError,
    AskTimeoutError,
)
from kernel.asking import LoopFuture
from messages.units import Seconds
from tests.support.patience import PATIENCE

LONG = Seconds(PATIENCE)
NOW = Seconds(0.05)


def test_the_first_answer_counts(caplog: pytest.LogCaptureFixture) -> None:
    async def told() -> int:
        future: LoopFuture[int] = LoopFuture()
        future.set(1)
        future.set(2)
        future.set_exception((ValueError, ValueError(), None))
        return await future.within(LONG, "nobody")

    assert asyncio.run(told()) == 1
    assert caplog.records == []  # where a loop complains


@pytest.mark.parametrize(
    ("error", "raised", "said"),
    [
        (ActorDeadError("web: gone"), ActorDeadError, "web: gone"),
        (ActorCrashedError("SystemExit: 3"), ActorCrashedError, "SystemExit: 3"),
        (ValueError("hush"), ActorCrashedError, "crashed with ValueError"),
        (StopIteration("hush"), ActorCrashedError, "crashed with StopIteration"),
    ],
)
def test_what_a_bug_says_stays_inside(error: Exception, raised: type[Exception], said: str) -> None:
    async def told() -> None:
        future: LoopFuture[int] = LoopFuture()
        future.set_exception((type(error), error, None))
        await future.within(LONG, "nobody")

    with pytest.raises(raised) as caught:
        asyncio.run(told())
    assert str(caught.value) == said


def test_the_exception_being_handled_is_meant_when_none_is_named() -> None:
    async def told() -> None:
        future: LoopFuture[int] = LoopFuture()
        try:
            sys.stdin.fileno(1)  # type: ignore[call-arg]  # a TypeError
        except TypeError:
            future.set_exception()
        await future.within(LONG, "nobody")

    with pytest.raises(ActorCrashedError, match="crashed with TypeError"):
        asyncio.run(told())


def test_an_answer_that_comes_too_late_is_dropped() -> None:
    async def told() -> LoopFuture[int]:
        future: LoopFuture[int] = LoopFuture()
        with pytest.raises(AskTimeoutError, match=r"web did not answer within 0\.05 s"):
            await future.within(NOW, "web")
        future.set(1)
        return future

    asyncio.run(told()).set(2)  # and the loop is closed by now


def test_whoever_is_cancelled_as_the_answer_comes_is_cancelled() -> None:
    async def cancelled_with_the_answer() -> bool:
        future: LoopFuture[str] = LoopFuture()
        asker = asyncio.create_task(future.within(Seconds(5.0), "somebody"))
        await asyncio.sleep(0)  # lets the asker begin to wait
        future.set("an answer")
        asyncio.get_running_loop().call_soon(asker.cancel)  # behind the answer, before the asker
        await asyncio.wait([asker])
        return asker.cancelled()

    assert asyncio.run(cancelled_with_the_answer())
