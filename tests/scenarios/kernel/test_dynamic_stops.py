"""Children that come and go, when they or their supervisor stop or fail."""

from __future__ import annotations

import gc
import threading
import weakref

from kernel import (
    EXIT_STOPPED,
    EXIT_UNCLEAN,
    DynamicSpec,
    Restart,
    Runtime,
    StartChild,
    Steps,
    StopChild,
    Strategy,
    SupervisorSpec,
    Threads,
)
from messages.units import Seconds
from tests.support.kernel.players import (
    Gate,
    OwnThreadPlayer,
    Player,
    PooledPlayer,
    Troupe,
    crash,
    key,
)
from tests.support.kernel.stage import live_stage, stage, stuck_stage
from tests.support.kernel.trees import POOL, WITH_POOL
from tests.support.patience import PATIENCE

WEB, LOG = key("web"), key("log")


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
    with stage(WITH_POOL, runtime) as play:
        starts = [StartChild(spec=troupe.child(key(f"watcher/{n}"))) for n in range(1000)]
        play.tell_all(POOL, *starts)
        assert len(play.describe()) == 1002

        assert play.stop() == EXIT_STOPPED
        assert len(troupe.diary.drain()) == 2000


def test_children_say_goodbye_side_by_side(troupe: Troupe) -> None:
    # Each waits for the other in its goodbye: one after the other they would never get there.
    meeting = threading.Barrier(2, timeout=PATIENCE)
    with stage(WITH_POOL, Threads()) as play:
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
        assert play.system.wait(Seconds(PATIENCE)) == EXIT_UNCLEAN


def test_nothing_of_a_child_that_was_stopped_stays_in_memory(
    troupe: Troupe, runtime: Runtime
) -> None:
    bodies: list[weakref.ref[Player]] = []
    with stage(WITH_POOL, runtime) as play:
        child = troupe.child(WEB, at_start=lambda player: bodies.append(weakref.ref(player)))
        play.tell(POOL, StartChild(spec=child))
        address = weakref.ref(play.port(WEB))
        play.tell(POOL, StopChild(path="web"))
        # Threads let go of an actor when they do something else.
        play.tell(POOL, StartChild(spec=troupe.child(LOG)))
        gc.collect()

        assert bodies[0]() is None
        assert address() is None


def test_what_an_abandoned_life_asks_for_is_a_dead_letter(troupe: Troupe, gate: Gate) -> None:
    def get_stuck_then_ask(_player: Player) -> None:
        gate()
        pool.tell(StopChild(path="web"))
        troupe.diary.tell("asked")

    late = troupe.child(
        LOG, at_start=get_stuck_then_ask, start_deadline=Seconds(0.05), restart=Restart.TEMPORARY
    )
    tree = SupervisorSpec(name="root", children=(DynamicSpec(key=POOL), late))
    with stuck_stage(tree, gate.reached) as play:
        pool = play.port(POOL)
        play.pass_time(0.05)
        assert play.ended.next().name == "log"
        gate.open()
        troupe.diary.expect("log starts 1", "asked")

        assert play.system.telemetry.dead_letters() == {("pool", "told by an ended actor"): 1}


def test_a_dynamic_supervisor_that_is_gone_starts_nobody(troupe: Troupe, runtime: Runtime) -> None:
    with stage(WITH_POOL, runtime) as play:
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
