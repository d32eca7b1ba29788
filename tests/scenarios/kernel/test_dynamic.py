"""Children that come and go: asked for, stopped, asked for again."""

from __future__ import annotations

import gc
from collections.abc import MutableMapping
from typing import Any

from kernel import (
    DynamicMessage,
    DynamicSpec,
    Key,
    OnExhausted,
    Port,
    Restart,
    Runtime,
    StartChild,
    StopChild,
    SupervisorSpec,
)
from messages.units import Seconds
from tests.support.kernel.players import (
    STOP_YOURSELF,
    Do,
    FailsAtFirst,
    Gate,
    Say,
    Troupe,
    crash,
    key,
)
from tests.support.kernel.stage import Stage, live_stage, stage
from tests.support.kernel.trees import POOL, WITH_POOL
from tests.support.patience import PATIENCE

WEB, LOG = key("web"), key("log")


def test_a_child_starts_when_it_is_asked_for(troupe: Troupe, runtime: Runtime) -> None:
    with stage(WITH_POOL, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(WEB, Say(word="hello"))

        troupe.diary.expect("web starts 1", "web hears hello")
        assert play.describe()["web"].parent == "pool"


def test_asking_for_a_child_twice_starts_it_once(
    troupe: Troupe, runtime: Runtime, logs: list[MutableMapping[str, Any]]
) -> None:
    with stage(WITH_POOL, runtime) as play:
        # Both before anything happens, and once more when it is up: harmless, all of them.
        start = StartChild(spec=troupe.child(WEB))
        play.tell_all(POOL, start, start)
        play.tell(POOL, start)

        troupe.diary.expect("web starts 1")
        troupe.diary.expect_silence()
        assert [event for event in logs if event["log_level"] == "error"] == []


def test_a_child_stops_when_it_is_asked_to(troupe: Troupe, runtime: Runtime) -> None:
    with stage(WITH_POOL, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(POOL, StopChild(path="web"))

        troupe.diary.expect("web starts 1", "web stops")
        assert "web" not in play.describe()


def test_stopping_a_child_that_does_not_exist_is_harmless(troupe: Troupe, runtime: Runtime) -> None:
    with stage(WITH_POOL, runtime) as play:
        play.tell(POOL, StopChild(path="web"))
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))

        troupe.diary.expect("web starts 1")


def test_a_child_can_be_stopped_while_it_starts(troupe: Troupe, gate: Gate) -> None:
    with live_stage(WITH_POOL) as play:
        pool = play.port(POOL)
        pool.tell(StartChild(spec=troupe.child(WEB, at_start=gate)))
        gate.reached()
        pool.tell(StopChild(path="web"))
        assert play.state(WEB) == "stopping"
        gate.open()

        assert play.ended.next().name == "web"
        troupe.diary.expect("web starts 1", "web stops")
        assert "web" not in play.describe()


def test_a_child_can_be_stopped_in_backoff(troupe: Troupe, runtime: Runtime) -> None:
    with stage(WITH_POOL, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(WEB, crash())
        play.tell(POOL, StopChild(path="web"))
        play.advance(60.0)

        troupe.diary.expect("web starts 1")
        troupe.diary.expect_silence()


def test_a_child_stopped_and_started_in_one_breath_keeps_what_it_is_told(
    troupe: Troupe, runtime: Runtime
) -> None:
    with stage(WITH_POOL, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))

        play.port(POOL).tell(StopChild(path="web"))
        play.port(POOL).tell(StartChild(spec=troupe.child(WEB)))
        play.port(WEB).tell(Say(word="hello"))
        play.settle()

        # Whoever hears it, the second life is there in the end and nothing is lost.
        assert play.state(WEB) == "running"
        assert play.system.telemetry.dead_letters() == {}
        assert "web hears hello" in troupe.diary.drain()


def pool_with_a_child_that_is_stopping(
    play: Stage, troupe: Troupe, gate: Gate
) -> Port[DynamicMessage]:
    """Return the port of a supervisor whose child stops as soon as the gate is opened."""
    pool = play.port(POOL)
    assert play.system.wait_started(Seconds(PATIENCE))
    pool.tell(StartChild(spec=troupe.child(WEB, at_stop=gate)))
    pool.tell(StopChild(path="web"))
    gate.reached()
    return pool


def test_a_successor_that_is_not_wanted_any_more_does_not_start(troupe: Troupe, gate: Gate) -> None:
    with live_stage(WITH_POOL) as play:
        pool = pool_with_a_child_that_is_stopping(play, troupe, gate)

        # While it is stopping: wanted again, and then not.
        pool.tell(StartChild(spec=troupe.child(WEB)))
        pool.tell(StopChild(path="web"))
        gate.open()

        assert play.ended.next().name == "web"
        assert "web" not in play.describe()
        troupe.diary.expect("web starts 1", "web stops")
        troupe.diary.expect_silence()


def test_a_successor_starts_when_the_one_before_it_is_down(troupe: Troupe, gate: Gate) -> None:
    with live_stage(WITH_POOL) as play:
        pool = pool_with_a_child_that_is_stopping(play, troupe, gate)
        pool.tell(StartChild(spec=troupe.child(WEB)))
        play.port(WEB).tell(Say(word="for the second"))
        assert play.state(WEB) == "stopping"
        gate.open()

        troupe.diary.expect("web starts 1", "web stops", "web starts 2", "web hears for the second")


def test_a_child_that_crashes_is_restarted_alone(troupe: Troupe, runtime: Runtime) -> None:
    with stage(WITH_POOL, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(POOL, StartChild(spec=troupe.child(LOG)))
        play.tell(WEB, crash())
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "log starts 1", "web starts 2")


def test_a_child_in_trouble_holds_up_nobody(troupe: Troupe, runtime: Runtime) -> None:
    with stage(WITH_POOL, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB, when_made=FailsAtFirst(1))))
        play.tell(POOL, StartChild(spec=troupe.child(LOG)))

        troupe.diary.expect("log starts 1")


def test_a_child_whose_work_is_done_may_be_asked_for_again(
    troupe: Troupe, runtime: Runtime
) -> None:
    with stage(WITH_POOL, runtime) as play:
        start = StartChild(spec=troupe.child(WEB, restart=Restart.TRANSIENT))
        play.tell(POOL, start)
        play.tell(WEB, STOP_YOURSELF)
        assert "web" not in play.describe()
        play.tell(POOL, start)

        troupe.diary.expect("web starts 1", "web stops", "web starts 2")


def test_no_life_of_an_address_has_the_number_of_an_earlier_one(
    troupe: Troupe, runtime: Runtime
) -> None:
    with stage(WITH_POOL, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(POOL, StopChild(path="web"))
        # Nobody holds the old address any more.
        gc.collect()
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))

        troupe.diary.expect("web starts 1", "web stops", "web starts 2")


def test_the_name_of_another_child_is_refused(
    troupe: Troupe, runtime: Runtime, logs: list[MutableMapping[str, Any]]
) -> None:
    tree = SupervisorSpec(name="root", children=(troupe.child(WEB), DynamicSpec(key=POOL)))
    with stage(tree, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))

        troupe.diary.expect("web starts 1")
        troupe.diary.expect_silence()
        refused = [event["actor"] for event in logs if event["event"].startswith("child refused")]
        assert refused == ["web"]


def test_the_name_becomes_free_with_its_child(troupe: Troupe, runtime: Runtime) -> None:
    other = Key[DynamicMessage]("other")
    tree = SupervisorSpec(name="root", children=(DynamicSpec(key=POOL), DynamicSpec(key=other)))
    with stage(tree, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(POOL, StopChild(path="web"))
        play.tell(other, StartChild(spec=troupe.child(WEB)))

        assert play.describe()["web"].parent == "other"


def test_an_actor_asks_for_children_of_its_own(troupe: Troupe, runtime: Runtime) -> None:
    tree = SupervisorSpec(name="root", children=(DynamicSpec(key=POOL), troupe.child(LOG)))
    with stage(tree, runtime) as play:
        pool = play.port(POOL)
        start = StartChild(spec=troupe.child(WEB, on_exhausted=OnExhausted.ISOLATE))
        play.tell(LOG, Do(action=lambda _player: pool.tell(start)))

        troupe.diary.expect("log starts 1", "web starts 1")
