"""Asking from an asyncio loop, and crashing an actor on request, as the endpoints do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from kernel import (
    ActorCrashedError,
    ActorDeadError,
    AskTimeoutError,
    Hook,
    OnExhausted,
    Port,
    Restart,
    Runtime,
    SupervisorSpec,
    Threads,
    asking,
)
from messages.units import Seconds
from tests.support.kernel.players import (
    STOP_YOURSELF,
    Do,
    FailsAtFirst,
    Gate,
    Line,
    Player,
    Say,
    Troupe,
    crash,
    key,
    repeat,
)
from tests.support.kernel.stage import Stage, live_stage, stage
from tests.support.kernel.trees import WITH_STRICT_POOL, start_in_pool
from tests.support.patience import PATIENCE

WEB, LOG = key("web"), key("log")


def test_a_question_is_awaited(live_play: Stage) -> None:
    assert (
        asyncio.run(asking.ask(live_play.system, live_play.port(WEB), repeat("hello"))) == "hello"
    )


def test_who_awaits_hears_that_the_actor_crashed_and_nothing_of_its_words(live_play: Stage) -> None:
    with pytest.raises(ActorCrashedError, match="crashed with StopIteration") as raised:
        asyncio.run(
            asking.ask(
                live_play.system, live_play.port(WEB), lambda _: crash(StopIteration("secret"))
            )
        )

    assert "secret" not in str(raised.value)


def test_who_awaits_an_actor_that_is_gone_hears_so(troupe: Troupe) -> None:
    child = troupe.child(WEB, restart=Restart.TEMPORARY)
    with stage(SupervisorSpec(name="root", children=(child,)), Threads()) as play:
        play.tell(WEB, STOP_YOURSELF)

        with pytest.raises(ActorDeadError, match="web: address closed"):
            asyncio.run(asking.ask(play.system, play.port(WEB), repeat("hello")))


def test_who_awaits_too_long_hears_that(troupe: Troupe) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB),))
    with (
        live_stage(spec) as play,
        pytest.raises(AskTimeoutError, match=r"web did not answer within 0\.01 s"),
    ):
        asyncio.run(
            asking.ask(play.system, play.port(WEB), lambda _: Say(word="what?"), Seconds(0.01))
        )


def test_who_awaits_an_actor_that_is_stuck_hears_its_name(troupe: Troupe, gate: Gate) -> None:
    child = troupe.child(WEB, at_start=gate)
    with live_stage(SupervisorSpec(name="root", children=(child,))) as play:
        with pytest.raises(AskTimeoutError, match=r"web did not answer within 0\.05 s"):
            asyncio.run(asking.ask(play.system, play.port(WEB), repeat("hello"), Seconds(0.05)))
        gate.open()


def test_who_awaits_when_the_tree_is_down_hears_so_at_once(play: Stage) -> None:
    assert play.stop() == 0

    with pytest.raises(ActorDeadError, match="web: address closed"):
        asyncio.run(asking.ask(play.system, play.port(WEB), repeat("hello")))


def test_an_answer_after_the_loop_has_ended_is_dropped(live_play: Stage, gate: Gate) -> None:
    with pytest.raises(AskTimeoutError):
        asyncio.run(
            asking.ask(live_play.system, live_play.port(WEB), late_answer(gate), Seconds(0.01))
        )
    gate.open()
    live_play.system.fence(live_play.port(WEB))

    assert live_play.endings == []


def late_answer(gate: Gate) -> Callable[[Port[str]], Line]:
    """Return a question that is answered when the gate opens."""

    def question(reply_to: Port[str]) -> Do:
        def answer(player: Player) -> None:
            gate(player)
            reply_to.tell("too late")

        return Do(action=answer)

    return question


def test_the_tree_is_awaited(troupe: Troupe) -> None:
    with stage(SupervisorSpec(name="root", children=(troupe.child(WEB),)), Threads()) as play:
        tree = asyncio.run(asking.describe(play.system))

        assert [node.name for node in tree] == ["root", "web"]


def test_who_comes_and_goes_is_counted_in_a_summary(troupe: Troupe) -> None:
    with stage(WITH_STRICT_POOL, Threads()) as play:
        start_in_pool(play, *(troupe.child(key(f"pool/{number}")) for number in range(30)))
        summary = asyncio.run(asking.summarize(play.system))

        assert [loop.name for loop in summary.loops] == ["root", "pool"]
        (pool,) = summary.dynamic
        assert (pool.name, pool.supervisor, pool.states) == ("pool/*", "pool", {"running": 30})
        assert (pool.mailbox, pool.is_failing, pool.not_running) == (0, False, ())


def test_a_summary_shows_a_few_that_do_not_run_and_the_failed_ones_first(
    troupe: Troupe, runtime: Runtime
) -> None:
    members = [key(f"pool/{number}") for number in range(30)]
    with stage(WITH_STRICT_POOL, runtime) as play:
        start_in_pool(
            play, *(troupe.child(each, on_exhausted=OnExhausted.ISOLATE) for each in members)
        )
        fails = FailsAtFirst(2)
        worst = key("pool/worst")
        start_in_pool(play, troupe.child(worst, at_start=fails, on_exhausted=OnExhausted.ISOLATE))
        # The one that came last failed twice by now. The others fail once, and two are told something.
        play.advance(1.0)
        play.tell_each(members, crash())
        play.settle()
        play.tell_each(members[:2], Say(word="hello"))
        play.settle()

        (pool,) = play.system.summarize().dynamic
        assert pool.states == {"failed": 1, "backoff": 30}
        assert pool.mailbox == 2
        assert len(pool.not_running) == 20
        assert [(each.name, each.state) for each in pool.not_running[:2]] == [
            ("pool/worst", "failed"),
            ("pool/0", "backoff"),
        ]


def test_the_control_thread_gives_a_sign_of_life(play: Stage) -> None:
    play.system.ping()


def test_a_control_thread_that_is_stuck_gives_none(live_play: Stage, gate: Gate) -> None:
    live_play.system.control.post(gate)
    with pytest.raises(AskTimeoutError, match=r"the control thread did not answer within 0\.01 s"):
        live_play.system.ping(Seconds(0.01))
    gate.open()


def test_an_actor_crashed_on_request_recovers(troupe: Troupe, live_play: Stage) -> None:
    assert asyncio.run(asking.crash(live_play.system, "web"))

    ended = live_play.ended.next()
    assert (ended.hook, ended.message) == (Hook.RECEIVE, "Crash")
    assert ended.error.endswith("InjectedCrashError: crashed on request")
    troupe.diary.expect("web starts 1", "web starts 2")


def test_a_supervisor_crashed_on_request_recovers_with_its_children(troupe: Troupe) -> None:
    inner = SupervisorSpec(name="inner", children=(troupe.child(WEB), troupe.child(LOG)))
    with live_stage(SupervisorSpec(name="root", children=(inner,))) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        assert asyncio.run(asking.crash(play.system, "inner"))

        troupe.diary.expect("web starts 1", "log starts 1", "log stops", "web stops")
        troupe.diary.expect("web starts 2", "log starts 2")


def test_nobody_can_be_crashed_who_does_not_exist(live_play: Stage) -> None:
    assert not asyncio.run(asking.crash(live_play.system, "disk"))
