"""Answers that cross from an actor's thread to a loop."""

from __future__ import annotations

import asyncio
import sys

import pytest

from kernel import (
    ActorCrashedError,
    ActorDeadError,
    ActorSystem,
    AskTimeoutError,
    SupervisorSpec,
    Threads,
    asking,
)
from kernel.asking import LoopFuture
from messages.units import Seconds
from tests.support.kernel.players import Gate, Repeat, Troupe, crash, key
from tests.support.kernel.stage import Stage, live_stage

WEB = key("web")
SOON = Seconds(5.0)
NOW = Seconds(0.05)


def test_the_first_answer_counts(caplog: pytest.LogCaptureFixture) -> None:
    async def told() -> int:
        future: LoopFuture[int] = LoopFuture()
        future.set(1)
        future.set(2)
        future.set_exception((ValueError, ValueError(), None))
        return await future.within(SOON, "nobody")

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
        await future.within(SOON, "nobody")

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
        await future.within(SOON, "nobody")

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


def test_an_actor_is_asked_on_real_threads(live_play: Stage) -> None:
    web = live_play.port(WEB)

    async def ask() -> str:
        return await asking.ask(
            live_play.system, web, lambda reply_to: Repeat(word="hello", reply_to=reply_to)
        )

    assert asyncio.run(ask()) == "hello"
    tree = asyncio.run(asking.describe(live_play.system))
    assert [actor.name for actor in tree] == ["root", "web"]


def test_an_actor_that_is_stuck_is_named(troupe: Troupe, gate: Gate) -> None:
    child = troupe.child(WEB, at_start=gate)
    with live_stage(SupervisorSpec(name="root", children=(child,))) as play:
        web = play.port(WEB)

        async def ask() -> str:
            return await asking.ask(
                play.system, web, lambda reply_to: Repeat(word="hello", reply_to=reply_to), NOW
            )

        with pytest.raises(AskTimeoutError, match=r"web did not answer within 0\.05 s"):
            asyncio.run(ask())
        gate.open()


def test_only_who_is_there_can_be_crashed(live_play: Stage) -> None:
    assert not asyncio.run(asking.crash(live_play.system, "db"))
    assert asyncio.run(asking.crash(live_play.system, "web"))
    assert live_play.ended.next().error.endswith("InjectedCrashError: crashed on request")


def test_who_is_gone_says_so_at_once(troupe: Troupe) -> None:
    system = ActorSystem(
        SupervisorSpec(name="root", children=(troupe.child(WEB),)), runtime=Threads()
    )
    system.start()
    system.stop()
    assert system.wait(SOON) == 0

    async def ask() -> str:
        return await asking.ask(
            system, system.address(WEB), lambda reply_to: Repeat(word="hello", reply_to=reply_to)
        )

    with pytest.raises(ActorDeadError, match="web: address closed"):
        asyncio.run(ask())


def test_a_handler_that_fails_fails_who_asked(live_play: Stage) -> None:
    web = live_play.port(WEB)

    async def ask() -> str:
        return await asking.ask(live_play.system, web, lambda _: crash(ValueError("hush")))

    with pytest.raises(ActorCrashedError, match=r"^crashed with ValueError$"):
        asyncio.run(ask())
