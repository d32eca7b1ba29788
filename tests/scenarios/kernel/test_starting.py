"""Starting: in order, each after the one before it is up or has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from typing_extensions import override

from kernel import (
    Actor,
    ActorSystem,
    Backoff,
    ChildSpec,
    DynamicSpec,
    EndReason,
    Key,
    Restart,
    Runtime,
    SpecError,
    Strategy,
    SupervisorSpec,
    Threads,
)
from messages.units import Seconds
from tests.support.agent.process import eventually
from tests.support.kernel.players import (
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
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, live_stage, stage, stuck_stage
from tests.support.patience import PATIENCE

DISK, WEB, LOG = key("disk"), key("web"), key("log")


def test_children_start_from_left_to_right(troupe: Troupe, runtime: Runtime) -> None:
    inner = SupervisorSpec(name="inner", children=(troupe.child(WEB),))
    spec = SupervisorSpec(name="root", children=(troupe.child(DISK), inner, troupe.child(LOG)))
    with stage(spec, runtime):
        troupe.diary.expect("disk starts 1", "web starts 1", "log starts 1")


def test_a_later_child_waits_until_the_earlier_one_is_up(troupe: Troupe, gate: Gate) -> None:
    children = (troupe.child(DISK, at_start=gate), troupe.child(WEB))
    with live_stage(SupervisorSpec(name="root", children=children)) as play:
        gate.reached()
        assert play.state(DISK) == "starting"
        assert play.state(WEB) == "waiting"
        assert not play.system.wait_started(Seconds(0.0))

        gate.open()
        assert play.system.wait_started(Seconds(PATIENCE))
        troupe.diary.expect("disk starts 1", "web starts 1")


def test_a_child_that_does_not_start_in_time_is_abandoned_and_the_next_one_starts(
    troupe: Troupe, gate: Gate
) -> None:
    disk = troupe.child(
        DISK, at_start=gate, start_deadline=Seconds(0.05), restart=Restart.TEMPORARY
    )
    root = SupervisorSpec(name="root", children=(disk, troupe.child(WEB)))
    with stuck_stage(root, gate.reached) as play:
        play.pass_time(0.05)
        ended = play.ended.next()

        assert (ended.name, ended.reason, ended.abandoned) == ("disk", EndReason.FAILED, True)
        assert ended.error == "did not start within 0.05 s"
        troupe.diary.expect("disk starts 1", "web starts 1")


def test_a_start_that_waits_for_the_pool_is_not_late(gate: Gate) -> None:
    troupe = Troupe(PooledPlayer)
    web = troupe.child(WEB, start_deadline=Seconds(1.0))
    root = SupervisorSpec(name="root", children=(troupe.child(DISK), web))
    play = Stage(root, Threads(pool_threads=1))
    play.start()
    play.tell(WEB, crash())
    play.port(DISK).tell(Do(action=gate))
    gate.reached()
    play.pass_time(1.0)  # the backoff
    eventually(lambda: play.state(WEB) == "starting")
    for _ in range(3):
        play.pass_time(1.0)
        play.system.ping()
        play.system.ping()
    assert play.state(WEB) == "starting"
    gate.open()
    play.settle()
    assert play.state(WEB) == "running"
    assert [each.name for each in play.endings] == ["web"]
    troupe.diary.expect("disk starts 1", "web starts 1", "web starts 2")
    play.stop()


def test_a_child_in_backoff_does_not_hold_up_those_after_it_under_one_for_one(
    troupe: Troupe, runtime: Runtime
) -> None:
    disk = troupe.child(DISK, at_start=FailsAtFirst(1))
    with stage(SupervisorSpec(name="root", children=(disk, troupe.child(WEB))), runtime) as play:
        # The whole tree counts as started: each child had its start or its first end.
        assert play.state(DISK) == "backoff"
        assert play.state(WEB) == "running"
        assert play.system.wait_started(Seconds(PATIENCE))

        play.advance(1.0)
        troupe.diary.expect("disk starts 1", "web starts 1", "disk starts 2")


@pytest.mark.parametrize("strategy", [Strategy.REST_FOR_ONE, Strategy.ONE_FOR_ALL])
def test_a_child_in_backoff_holds_up_those_that_depend_on_it(
    troupe: Troupe, runtime: Runtime, strategy: Strategy
) -> None:
    children = (troupe.child(DISK, at_start=FailsAtFirst(1)), troupe.child(WEB))
    spec = SupervisorSpec(name="root", strategy=strategy, children=children)
    with stage(spec, runtime) as play:
        assert play.state(DISK) == "backoff"
        assert play.state(WEB) == "waiting"
        assert not play.system.wait_started(Seconds(0.0))

        play.advance(1.0)
        troupe.diary.expect("disk starts 1", "disk starts 2", "web starts 1")
        assert play.system.wait_started(Seconds(PATIENCE))


@pytest.mark.parametrize("restart", list(Restart))
def test_a_child_that_has_not_had_its_turn_starts_after_the_one_before_it_came_back(
    troupe: Troupe, runtime: Runtime, restart: Restart
) -> None:
    # Also one that is never restarted: this is its first start.
    children = (
        troupe.child(DISK, at_start=FailsAtFirst(1)),
        troupe.child(WEB, restart=restart),
    )
    spec = SupervisorSpec(name="root", strategy=Strategy.ONE_FOR_ALL, children=children)
    with stage(spec, runtime) as play:
        play.tell(WEB, Say(word="early"))
        play.advance(1.0)

        troupe.diary.expect("disk starts 1", "disk starts 2", "web starts 1", "web hears early")


def test_a_sibling_that_is_done_meanwhile_does_not_let_the_later_ones_start(
    troupe: Troupe, runtime: Runtime
) -> None:
    # The one in the middle is in backoff, and the last waits for it; then the first is done.
    children = (
        troupe.child(LOG, restart=Restart.TRANSIENT),
        troupe.child(DISK, at_start=FailsAtFirst(1)),
        troupe.child(WEB),
    )
    spec = SupervisorSpec(name="root", strategy=Strategy.REST_FOR_ONE, children=children)
    with stage(spec, runtime) as play:
        play.tell(LOG, STOP_YOURSELF)
        assert play.state(WEB) == "waiting"

        play.advance(1.0)
        troupe.diary.expect("log starts 1", "disk starts 1", "log stops")
        troupe.diary.expect("disk starts 2", "web starts 1")


def test_a_system_stopped_before_anything_started_starts_nothing(
    troupe: Troupe, runtime: Runtime
) -> None:
    play = Stage(SupervisorSpec(name="root", children=(troupe.child(WEB),)), runtime)
    # The stop is asked for before the root comes to its first child.
    with every_event_waiting(play):
        play.system.start()
        play.system.stop()
    play.settle()

    assert play.system.wait(Seconds(PATIENCE)) == 0
    troupe.diary.expect_silence()


@contextmanager
def every_event_waiting(play: Stage) -> Iterator[None]:
    """Keep the control thread at an event, so that what is asked for here waits behind it."""
    gate = Gate()
    play.system.control.post(gate)
    yield
    gate.open()


def test_a_child_that_is_done_at_once_holds_nobody_up(troupe: Troupe, runtime: Runtime) -> None:
    disk = troupe.child(DISK, at_start=lambda player: player.stop(), restart=Restart.TRANSIENT)
    with stage(SupervisorSpec(name="root", children=(disk, troupe.child(WEB))), runtime) as play:
        troupe.diary.expect("disk starts 1")
        assert sorted(troupe.diary.drain()) == ["disk stops", "web starts 1"]
        assert play.state(DISK) == "stopped"


def test_a_tree_that_fails_at_its_start_is_not_started(troupe: Troupe, runtime: Runtime) -> None:
    spec = SupervisorSpec(
        name="root", intensity=0, children=(troupe.child(WEB, at_start=FailsAtFirst(1)),)
    )
    with stage(spec, runtime) as play:
        assert not play.system.wait_started(Seconds(PATIENCE))
        assert play.system.wait(Seconds(PATIENCE)) == 70


def test_an_actor_of_ones_own_needs_only_receive(runtime: Runtime) -> None:
    class Quiet(Actor[Say]):
        @override
        def receive(self, message: Say, /) -> None:
            """Hear nothing."""

    quiet = Key[Say]("quiet")
    spec = SupervisorSpec(name="root", children=(ChildSpec(key=quiet, factory=Quiet),))
    with stage(spec, runtime) as play:
        play.tell(quiet, Say(word="hello"))

        assert play.describe()["quiet"].handled == 1
        assert play.stop() == 0


def test_each_actor_has_its_own_name_incarnation_and_clock(
    troupe: Troupe, runtime: Runtime
) -> None:
    web, seen = key("web/a"), Probe[object]()

    def look(player: Player) -> None:
        clock = player.clock
        seen.tell((player.name, player.incarnation, clock.monotonic(), clock.wall()))

    with stage(SupervisorSpec(name="root", children=(troupe.child(web),)), runtime) as play:
        play.advance(3.0)
        play.tell(web, Do(action=look))

        seen.expect(("web/a", 1, 3.0, 1_700_000_003.0))


def test_own_threads_carry_the_name_of_their_actor() -> None:
    troupe = Troupe(OwnThreadPlayer)
    spec = SupervisorSpec(name="root", children=(troupe.child(key("web/a")),))
    with stage(spec, Threads()):
        threads = {thread.name: thread for thread in threading.enumerate()}

        # All of them are daemons: a stuck one never keeps the interpreter from exiting.
        assert {"web/a", "control", "pool-0", "pool-1"} <= set(threads)
        assert all(threads[name].daemon for name in ("web/a", "control", "pool-0", "pool-1"))


@pytest.mark.parametrize(
    "make",
    [partial(SupervisorSpec, name="root"), partial(DynamicSpec, key=Key[object]("root"))],
    ids=["static", "dynamic"],
)
def test_a_limit_that_backoff_makes_unreachable_is_refused(make: Callable[..., object]) -> None:
    # 0.1 s, doubled seven times, takes longer than ten seconds: the eighth restart never counts.
    limits: dict[str, Any] = {"intensity": 8, "period": Seconds(10.0)}
    with pytest.raises(SpecError, match="root: 8 restarts take up to"):
        make(**limits)


def test_the_most_that_fits_into_the_period_is_accepted() -> None:
    backoff = Backoff(initial=Seconds(1.0), jitter=Seconds(0.0), cap=Seconds(4.0))
    # 1 + 2 + 4 + 4 s.
    SupervisorSpec(name="root", intensity=4, period=Seconds(11.0), backoff=backoff)
    with pytest.raises(SpecError):
        SupervisorSpec(name="root", intensity=4, period=Seconds(10.9), backoff=backoff)


@pytest.mark.parametrize(("intensity", "period"), [(-1, 10.0), (3, 0.0), (3, -1.0)])
def test_a_limit_that_makes_no_sense_is_refused(intensity: int, period: float) -> None:
    with pytest.raises(SpecError, match="intensity must be >= 0 and period > 0"):
        SupervisorSpec(name="root", intensity=intensity, period=Seconds(period))


def test_a_name_that_occurs_twice_anywhere_in_a_tree_is_refused(troupe: Troupe) -> None:
    inner = SupervisorSpec(name="inner", children=(troupe.child(WEB),))
    with pytest.raises(SpecError, match="root: more than one is called web"):
        SupervisorSpec(name="root", children=(inner, troupe.child(WEB)))


def test_a_supervisor_without_children_runs(runtime: Runtime) -> None:
    with stage(SupervisorSpec(name="root"), runtime) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        assert play.stop() == 0


def test_a_system_stopped_while_it_starts_comes_down(troupe: Troupe, gate: Gate) -> None:
    children = (troupe.child(DISK, at_start=gate), troupe.child(WEB))
    with live_stage(SupervisorSpec(name="root", children=children)) as play:
        gate.reached()
        play.system.stop()
        gate.open()

        # The one that was starting is up and stops; the one after it never starts.
        assert play.system.wait(Seconds(PATIENCE)) == 0
        troupe.diary.expect("disk starts 1", "disk stops")
        troupe.diary.expect_silence()


def test_the_same_system_can_be_built_from_a_spec_twice(troupe: Troupe, runtime: Runtime) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB),))
    ActorSystem(spec)
    with stage(spec, runtime) as play:
        play.tell_all(WEB, STOP_YOURSELF, crash())
        play.advance(1.0)
        assert play.describe()["web"].restarts == 2
