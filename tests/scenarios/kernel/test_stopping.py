"""Stopping: in exact reverse order, with deadlines, and what the process says."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kernel import (
    EXIT_FAILED,
    EXIT_STOPPED,
    EXIT_UNCLEAN,
    EndReason,
    Hook,
    Restart,
    Runtime,
    Strategy,
    SupervisorSpec,
)
from messages.units import Seconds
from tests.support.kernel.players import (
    Do,
    Gate,
    Player,
    Say,
    Troupe,
    after,
    crash,
    key,
)
from tests.support.kernel.stage import Stage, live_stage, stage
from tests.support.patience import PATIENCE

DISK, WEB, LOG, NET = key("disk"), key("web"), key("log"), key("net")

SOON = Seconds(0.05)


def test_children_stop_in_the_exact_reverse_of_their_start(
    troupe: Troupe, runtime: Runtime
) -> None:
    inner = SupervisorSpec(name="inner", children=(troupe.child(WEB), troupe.child(NET)))
    spec = SupervisorSpec(name="root", children=(troupe.child(DISK), inner, troupe.child(LOG)))
    with stage(spec, runtime) as play:
        troupe.diary.expect("disk starts 1", "web starts 1", "net starts 1", "log starts 1")

        assert play.stop() == EXIT_STOPPED

        troupe.diary.expect("log stops", "net stops", "web stops", "disk stops")


def test_the_one_before_stops_only_after_the_later_one_is_down(troupe: Troupe, gate: Gate) -> None:
    children = (troupe.child(DISK), troupe.child(WEB, at_stop=gate))
    with live_stage(SupervisorSpec(name="root", children=children)) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        play.system.stop()
        gate.reached()
        assert (play.state(DISK), play.state(WEB)) == ("running", "stopping")

        gate.open()
        assert play.system.wait(Seconds(PATIENCE)) == EXIT_STOPPED
        troupe.diary.expect("disk starts 1", "web starts 1", "web stops", "disk stops")


def test_a_child_that_does_not_stop_in_time_is_abandoned_and_the_exit_says_so(
    troupe: Troupe, gate: Gate
) -> None:
    children = (troupe.child(DISK), troupe.child(WEB, at_stop=gate, shutdown=SOON))
    with live_stage(SupervisorSpec(name="root", children=children)) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        play.system.stop()

        ended = play.ended.next()
        assert (ended.name, ended.hook, ended.abandoned) == ("web", Hook.STOPPING, True)
        assert ended.error == "did not stop within 0.05 s"

        # Those before it still stop in order.
        assert play.system.wait(Seconds(PATIENCE)) == EXIT_UNCLEAN
        troupe.diary.expect("disk starts 1", "web starts 1", "web stops", "disk stops")


def test_a_child_stuck_in_its_handler_is_abandoned_at_the_stop(troupe: Troupe, gate: Gate) -> None:
    web = troupe.child(WEB, shutdown=SOON)
    with live_stage(SupervisorSpec(name="root", children=(troupe.child(DISK), web))) as play:
        play.port(WEB).tell(Do(action=gate))
        gate.reached()
        play.system.stop()

        assert play.system.wait(Seconds(PATIENCE)) == EXIT_UNCLEAN
        troupe.diary.expect("disk starts 1", "web starts 1", "disk stops")


def test_the_deadline_of_a_supervisor_covers_its_subtree(troupe: Troupe, gate: Gate) -> None:
    # Two children that would be patient on their own, under an impatient supervisor.
    def hold_a_disk(player: Player) -> None:
        player.resources.callback(troupe.diary.tell, f"{player.name} gives back")

    inner = SupervisorSpec(
        name="inner",
        shutdown=SOON,
        children=(troupe.child(WEB, at_start=hold_a_disk), troupe.child(NET, at_stop=gate)),
    )
    with live_stage(SupervisorSpec(name="root", children=(troupe.child(DISK), inner))) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        play.system.stop()

        endings = [play.ended.next(), play.ended.next(), play.ended.next(), play.ended.next()]
        assert [(ended.name, ended.abandoned) for ended in endings] == [
            ("net", True),
            ("web", True),
            ("inner", False),
            ("disk", False),
        ]
        assert endings[0].error == "supervisor inner did not stop within 0.05 s"
        assert play.system.wait(Seconds(PATIENCE)) == EXIT_UNCLEAN

        # What was only waiting for its turn gives back what it holds.
        troupe.diary.expect("disk starts 1", "web starts 1", "net starts 1", "net stops")
        assert {troupe.diary.next(), troupe.diary.next()} == {"web gives back", "disk stops"}


def test_an_abandoned_supervisor_starts_nothing_any_more(troupe: Troupe, gate: Gate) -> None:
    # The root's deadline passes while the later child hangs: the inner supervisor, which was not
    # even asked to stop, must not take the end of its children for a failure.
    inner = SupervisorSpec(name="inner", children=(troupe.child(WEB),))
    spec = SupervisorSpec(
        name="root", shutdown=SOON, children=(inner, troupe.child(NET, at_stop=gate))
    )
    with live_stage(spec) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        play.system.stop()

        assert play.system.wait(Seconds(PATIENCE)) == EXIT_UNCLEAN
        assert play.system.telemetry.meter("web").statistics().restarts == {}
        assert [ended.name for ended in play.endings] == ["net", "web", "inner", "root"]


def test_the_root_has_one_hard_deadline(troupe: Troupe, gate: Gate) -> None:
    patient = Seconds(60.0)
    inner = SupervisorSpec(
        name="inner",
        shutdown=patient,
        children=(troupe.child(WEB, at_stop=gate, shutdown=patient),),
    )
    with live_stage(SupervisorSpec(name="root", shutdown=SOON, children=(inner,))) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        play.system.stop()

        assert play.system.wait(Seconds(PATIENCE)) == EXIT_UNCLEAN


def test_a_life_abandoned_long_before_the_stop_does_not_make_it_unclean(
    troupe: Troupe, gate: Gate
) -> None:
    web = troupe.child(WEB, at_start=gate, start_deadline=SOON, restart=Restart.TEMPORARY)
    with live_stage(SupervisorSpec(name="root", children=(web,))) as play:
        assert play.ended.next().abandoned
        play.system.stop()

        assert play.system.wait(Seconds(PATIENCE)) == EXIT_STOPPED


def test_a_root_that_gives_up_exits_with_70(troupe: Troupe, runtime: Runtime) -> None:
    spec = SupervisorSpec(name="root", intensity=0, children=(troupe.child(WEB),))
    with stage(spec, runtime) as play:
        play.tell(WEB, crash())

        assert play.system.wait(Seconds(PATIENCE)) == EXIT_FAILED == 70


def test_a_child_in_backoff_is_stopped_without_another_start(troupe: Troupe, play: Stage) -> None:
    play.tell(WEB, crash())

    assert play.stop() == EXIT_STOPPED

    play.advance(60.0)
    troupe.diary.expect("web starts 1")
    troupe.diary.expect_silence()


@pytest.mark.parametrize("strategy", [Strategy.REST_FOR_ONE, Strategy.ONE_FOR_ALL])
def test_a_group_in_backoff_is_stopped_without_another_start(
    troupe: Troupe, runtime: Runtime, strategy: Strategy
) -> None:
    children = (troupe.child(WEB), troupe.child(LOG))
    spec = SupervisorSpec(name="root", strategy=strategy, children=children)
    with stage(spec, runtime) as play:
        play.tell(WEB, crash())

        assert play.stop() == EXIT_STOPPED

        play.advance(60.0)
        troupe.diary.expect("web starts 1", "log starts 1", "log stops")
        troupe.diary.expect_silence()


def test_a_factory_that_fails_while_its_group_stops_is_an_ending_all_the_same(
    troupe: Troupe, runtime: Runtime
) -> None:
    # The stop is asked for inside the factory, and so comes before the report of its failure.
    def stop_and_fail() -> None:
        play.system.stop()
        raise RuntimeError("a bug")

    children = (troupe.child(WEB, when_made=stop_and_fail), troupe.child(LOG))
    play = Stage(SupervisorSpec(name="root", children=children), runtime)
    play.start()

    assert play.system.wait(Seconds(PATIENCE)) == EXIT_STOPPED
    assert [(ended.name, ended.reason, ended.hook) for ended in play.endings] == [
        ("web", EndReason.FAILED, Hook.FACTORY),
        ("root", EndReason.SHUTDOWN, None),
    ]


def test_stopping_twice_is_stopping_once(troupe: Troupe, play: Stage) -> None:
    play.system.stop()
    play.system.stop()

    assert play.stop() == EXIT_STOPPED
    assert play.stop() == EXIT_STOPPED
    troupe.diary.expect("web starts 1", "web stops")
    troupe.diary.expect_silence()


def test_nobody_hears_what_is_told_after_the_end(play: Stage) -> None:
    play.stop()
    play.port(WEB).tell(Say(word="anybody?"))

    assert play.system.telemetry.dead_letters() == {("web", "address closed"): 1}


@contextmanager
def every_lock_held(play: Stage) -> Iterator[None]:
    """Hold what an interrupted thread could hold at the worst moment."""
    system = play.system
    with (
        system.addresses._lock,
        system.addresses._cells["web"]._lock,
        system.control.timers._lock,
        system.telemetry._lock,
    ):
        yield


def test_a_stop_may_be_asked_for_in_a_signal_handler(play: Stage) -> None:
    handled = threading.Event()

    def handler(_number: int, _frame: object) -> None:
        play.system.stop()
        handled.set()

    before = signal.signal(signal.SIGUSR2, handler)
    # The handler runs on the thread that holds the locks: one more would never be had.
    with every_lock_held(play):
        signal.raise_signal(signal.SIGUSR2)
        assert handled.wait(PATIENCE)
    signal.signal(signal.SIGUSR2, before)

    assert play.stop() == EXIT_STOPPED


def test_nothing_runs_after_the_end(troupe: Troupe, runtime: Runtime) -> None:
    with stage(SupervisorSpec(name="root", children=(troupe.child(WEB),)), runtime) as play:
        play.tell(WEB, after(1.0, "late"))
        play.stop()
        play.clock.move(Seconds(60.0))

        # No deadline is left, not even the kernel's own.
        play.runtime.work_off()
        assert troupe.diary.drain() == ["web starts 1", "web stops"]
