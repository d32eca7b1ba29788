"""Children that come and go: asked for, stopped, asked for again (rules 1 and 17)."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import MutableMapping
from typing import Any

from actors.kernel import (
    EXIT_STOPPED,
    EXIT_UNCLEAN,
    DynamicMessage,
    DynamicSpec,
    Key,
    OnExhausted,
    Restart,
    Runtime,
    StartChild,
    Steps,
    StopChild,
    Strategy,
    SupervisorSpec,
    Threads,
)
from actors.messages.units import Seconds
from tests.support.players import (
    STOP_YOURSELF,
    Do,
    FailsAtFirst,
    Gate,
    OwnThreadPlayer,
    Player,
    PooledPlayer,
    Say,
    Troupe,
    crash,
    key,
)
from tests.support.stage import live_stage, stage

POOL = Key[DynamicMessage]("pool")
WEB, LOG = key("web"), key("log")

TREE = SupervisorSpec(name="root", children=(DynamicSpec(key=POOL),))


def test_a_child_starts_when_it_is_asked_for(troupe: Troupe, runtime: Runtime) -> None:
    with stage(TREE, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(WEB, Say(word="hello"))

        troupe.diary.expect("web starts 1", "web hears hello")
        assert play.describe()["web"].parent == "pool"


def test_asking_for_a_child_twice_starts_it_once(
    troupe: Troupe, runtime: Runtime, logs: list[MutableMapping[str, Any]]
) -> None:
    with stage(TREE, runtime) as play:
        # Both before anything happens, and once more when it is up: harmless, all of them.
        start = StartChild(spec=troupe.child(WEB))
        play.tell_all(POOL, start, start)
        play.tell(POOL, start)

        troupe.diary.expect("web starts 1")
        troupe.diary.expect_silence()
        assert [event for event in logs if event["log_level"] == "error"] == []


def test_a_child_stops_when_it_is_asked_to(troupe: Troupe, runtime: Runtime) -> None:
    with stage(TREE, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(POOL, StopChild(path="web"))

        troupe.diary.expect("web starts 1", "web stops")
        assert "web" not in play.describe()


def test_stopping_a_child_that_does_not_exist_is_harmless(troupe: Troupe, runtime: Runtime) -> None:
    with stage(TREE, runtime) as play:
        play.tell(POOL, StopChild(path="web"))
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))

        troupe.diary.expect("web starts 1")


def test_a_child_can_be_stopped_while_it_starts(troupe: Troupe, gate: Gate) -> None:
    with live_stage(TREE) as play:
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
    with stage(TREE, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(WEB, crash())
        play.tell(POOL, StopChild(path="web"))
        play.advance(60.0)

        troupe.diary.expect("web starts 1")
        troupe.diary.expect_silence()


def test_a_child_stopped_and_started_in_one_breath_keeps_what_it_is_told(
    troupe: Troupe, runtime: Runtime
) -> None:
    with stage(TREE, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))

        play.port(POOL).tell(StopChild(path="web"))
        play.port(POOL).tell(StartChild(spec=troupe.child(WEB)))
        play.port(WEB).tell(Say(word="hello"))
        play.settle()

        # Whoever hears it, the second life is there in the end and nothing is lost.
        assert play.state(WEB) == "running"
        assert play.system.telemetry.dead_letters() == {}
        assert "web hears hello" in troupe.diary.drain()


def test_a_successor_that_is_not_wanted_any_more_does_not_start(troupe: Troupe, gate: Gate) -> None:
    with live_stage(TREE) as play:
        pool = play.port(POOL)
        assert play.system.wait_started(Seconds(5.0))
        pool.tell(StartChild(spec=troupe.child(WEB, at_stop=gate)))
        pool.tell(StopChild(path="web"))
        gate.reached()

        # While it is stopping: wanted again, and then not.
        pool.tell(StartChild(spec=troupe.child(WEB)))
        pool.tell(StopChild(path="web"))
        gate.open()

        assert play.ended.next().name == "web"
        assert "web" not in play.describe()
        troupe.diary.expect("web starts 1", "web stops")
        troupe.diary.expect_silence()


def test_a_successor_starts_when_the_one_before_it_is_down(troupe: Troupe, gate: Gate) -> None:
    with live_stage(TREE) as play:
        pool = play.port(POOL)
        assert play.system.wait_started(Seconds(5.0))
        pool.tell(StartChild(spec=troupe.child(WEB, at_stop=gate)))
        pool.tell(StopChild(path="web"))
        gate.reached()
        pool.tell(StartChild(spec=troupe.child(WEB)))
        play.port(WEB).tell(Say(word="for the second"))
        assert play.state(WEB) == "stopping"
        gate.open()

        troupe.diary.expect("web starts 1", "web stops", "web starts 2", "web hears for the second")


def test_a_child_that_crashes_is_restarted_alone(troupe: Troupe, runtime: Runtime) -> None:
    with stage(TREE, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(POOL, StartChild(spec=troupe.child(LOG)))
        play.tell(WEB, crash())
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "log starts 1", "web starts 2")


def test_a_child_in_trouble_holds_up_nobody(troupe: Troupe, runtime: Runtime) -> None:
    with stage(TREE, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB, when_made=FailsAtFirst(1))))
        play.tell(POOL, StartChild(spec=troupe.child(LOG)))

        troupe.diary.expect("log starts 1")


def test_a_child_whose_work_is_done_may_be_asked_for_again(
    troupe: Troupe, runtime: Runtime
) -> None:
    with stage(TREE, runtime) as play:
        start = StartChild(spec=troupe.child(WEB, restart=Restart.TRANSIENT))
        play.tell(POOL, start)
        play.tell(WEB, STOP_YOURSELF)
        assert "web" not in play.describe()
        play.tell(POOL, start)

        troupe.diary.expect("web starts 1", "web stops", "web starts 2")


def test_no_life_of_an_address_has_the_number_of_an_earlier_one(
    troupe: Troupe, runtime: Runtime
) -> None:
    with stage(TREE, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(POOL, StopChild(path="web"))
        # Nobody holds the old address any more.
        gc.collect()
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))

        troupe.diary.expect("web starts 1", "web stops", "web starts 2")


def test_a_restarted_supervisor_brings_back_the_children_that_are_wanted(
    troupe: Troupe, runtime: Runtime
) -> None:
    tree = SupervisorSpec(name="root", children=(DynamicSpec(key=POOL, intensity=0),))
    with stage(tree, runtime) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(POOL, StartChild(spec=troupe.child(LOG)))
        play.tell(POOL, StartChild(spec=troupe.child(key("gone"))))
        play.tell(POOL, StopChild(path="gone"))
        troupe.diary.expect("web starts 1", "log starts 1", "gone starts 1", "gone stops")

        # One child too many fails: the supervisor stops the others and is down for a while. Who
        # is asked for meanwhile starts with it, who is stopped does not.
        play.tell(WEB, crash())
        play.tell(POOL, StartChild(spec=troupe.child(key("new"))))
        play.tell(POOL, StopChild(path="log"))
        troupe.diary.expect("log stops")
        troupe.diary.expect_silence()
        play.advance(1.0)

        # Numbers are not used twice: "new" counts on behind the one that is gone.
        assert sorted(troupe.diary.drain()) == ["new starts 2", "web starts 2"]
        assert play.describe()["pool"].restarts == 1


def test_a_child_unwanted_while_its_supervisor_fails_does_not_come_back(
    troupe: Troupe, gate: Gate
) -> None:
    tree = SupervisorSpec(name="root", children=(DynamicSpec(key=POOL, intensity=0),))
    with live_stage(tree) as play:
        pool = play.port(POOL)
        pool.tell(StartChild(spec=troupe.child(WEB)))
        pool.tell(StartChild(spec=troupe.child(LOG, at_stop=gate)))
        play.system.fence(play.port(LOG))
        play.port(WEB).tell(crash())
        gate.reached()

        # The supervisor is stopping its children when one of them is stopped for good, and
        # another one asked for anew.
        pool.tell(StopChild(path="log"))
        pool.tell(StopChild(path="web"))
        pool.tell(StartChild(spec=troupe.child(WEB)))
        gate.open()

        assert [play.ended.next().name for _ in range(3)] == ["web", "log", "pool"]
        told = [troupe.diary.next() for _ in range(4)]
        assert sorted(told) == ["log starts 1", "log stops", "web starts 1", "web starts 2"]
        assert sorted(play.describe()) == ["pool", "root", "web"]


def test_a_thousand_children_stop_side_by_side(runtime: Runtime) -> None:
    troupe = Troupe(PooledPlayer)
    with stage(TREE, runtime) as play:
        starts = [StartChild(spec=troupe.child(key(f"watcher/{n}"))) for n in range(1000)]
        play.tell_all(POOL, *starts)
        assert len(play.describe()) == 1002

        assert play.stop() == EXIT_STOPPED
        assert len(troupe.diary.drain()) == 2000


def test_children_say_goodbye_side_by_side(troupe: Troupe) -> None:
    # Each waits for the other in its goodbye: one after the other they would never get there.
    meeting = threading.Barrier(2, timeout=4.0)
    with stage(TREE, Threads()) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB, at_stop=lambda _: meeting.wait())))
        play.tell(POOL, StartChild(spec=troupe.child(LOG, at_stop=lambda _: meeting.wait())))

        assert play.stop() == EXIT_STOPPED
        assert [ended.error for ended in play.endings] == ["", "", "", ""]


def test_dynamic_children_have_one_deadline_for_all(troupe: Troupe, gate: Gate) -> None:
    soon = Seconds(0.1)
    patient = Seconds(60.0)
    tree = SupervisorSpec(name="root", children=(DynamicSpec(key=POOL, shutdown=soon),))
    with live_stage(tree) as play:
        children = (
            troupe.child(key("stuck/0"), at_stop=gate, shutdown=patient),
            troupe.child(key("stuck/1"), at_stop=gate, shutdown=patient),
            troupe.child(WEB, kind=OwnThreadPlayer),
        )
        play.port(POOL).tell(StartChild(spec=children[0]))
        play.port(POOL).tell(StartChild(spec=children[1]))
        play.port(POOL).tell(StartChild(spec=children[2]))
        play.system.fence(play.port(children[0].key))
        play.system.fence(play.port(children[1].key))
        play.system.fence(play.port(children[2].key))
        play.system.stop()

        # The healthy one stops beside those that hang.
        assert play.ended.next().name == "web"
        endings = [play.ended.next(), play.ended.next()]
        assert {ended.error for ended in endings} == {"supervisor pool did not stop within 0.1 s"}
        assert play.system.wait(Seconds(5.0)) == EXIT_UNCLEAN


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


def test_nothing_of_a_child_that_was_stopped_stays_in_memory(
    troupe: Troupe, runtime: Runtime
) -> None:
    bodies: list[weakref.ref[Player]] = []
    with stage(TREE, runtime) as play:
        child = troupe.child(WEB, at_start=lambda player: bodies.append(weakref.ref(player)))
        play.tell(POOL, StartChild(spec=child))
        address = weakref.ref(play.port(WEB))
        play.tell(POOL, StopChild(path="web"))
        # Threads let go of an actor when they do something else.
        play.tell(POOL, StartChild(spec=troupe.child(LOG)))
        gc.collect()

        assert bodies[0]() is None
        assert address() is None


def test_an_actor_asks_for_children_of_its_own(troupe: Troupe, runtime: Runtime) -> None:
    tree = SupervisorSpec(name="root", children=(DynamicSpec(key=POOL), troupe.child(LOG)))
    with stage(tree, runtime) as play:
        pool = play.port(POOL)
        start = StartChild(spec=troupe.child(WEB, on_exhausted=OnExhausted.ISOLATE))
        play.tell(LOG, Do(action=lambda _player: pool.tell(start)))

        troupe.diary.expect("log starts 1", "web starts 1")


def test_what_an_abandoned_life_asks_for_is_a_dead_letter(troupe: Troupe, gate: Gate) -> None:
    def get_stuck_then_ask(_player: Player) -> None:
        gate()
        pool.tell(StopChild(path="web"))
        troupe.diary.tell("asked")

    late = troupe.child(
        LOG, at_start=get_stuck_then_ask, start_deadline=Seconds(0.05), restart=Restart.TEMPORARY
    )
    tree = SupervisorSpec(name="root", children=(DynamicSpec(key=POOL), late))
    with live_stage(tree) as play:
        pool = play.port(POOL)
        assert play.ended.next().name == "log"
        gate.open()
        troupe.diary.expect("log starts 1", "asked")

        assert play.system.telemetry.dead_letters() == {("pool", "told by an ended actor"): 1}


def test_a_dynamic_supervisor_that_is_gone_starts_nobody(troupe: Troupe, runtime: Runtime) -> None:
    with stage(TREE, runtime) as play:
        play.stop()
        play.port(POOL).tell(StartChild(spec=troupe.child(WEB)))

        assert play.system.telemetry.dead_letters() == {("pool", "address closed"): 1}


def test_a_dynamic_supervisor_restarts_with_its_group(troupe: Troupe) -> None:
    tree = SupervisorSpec(
        name="root",
        strategy=Strategy.ONE_FOR_ALL,
        children=(DynamicSpec(key=POOL), troupe.child(LOG)),
    )
    with stage(tree, Steps()) as play:
        play.tell(POOL, StartChild(spec=troupe.child(WEB)))
        play.tell(LOG, crash())
        play.advance(1.0)

        troupe.diary.expect("log starts 1", "web starts 1", "web stops")
        assert sorted(troupe.diary.drain()) == ["log starts 2", "web starts 2"]
