"""Restarting: who with whom, how long after, how often, and what then."""

from __future__ import annotations

import pytest

from kernel import (
    Backoff,
    ChildSpec,
    Restart,
    Runtime,
    Strategy,
    SupervisorSpec,
    Threads,
)
from messages.units import Seconds
from tests.support.kernel.players import (
    STEADY,
    STOP_YOURSELF,
    FailsAtFirst,
    Gate,
    Line,
    Say,
    Troupe,
    crash,
    key,
)
from tests.support.kernel.stage import stage
from tests.support.kernel.trees import tolerating

DISK, WEB, LOG = key("disk"), key("web"), key("log")


def often(*children: ChildSpec[Line], strategy: Strategy = Strategy.ONE_FOR_ONE) -> SupervisorSpec:
    """Return a root that tolerates much, with a steady backoff."""
    return SupervisorSpec(
        name="root",
        children=children,
        strategy=strategy,
        backoff=STEADY,
        intensity=5,
        period=Seconds(100.0),
    )


def test_a_restart_waits_for_its_backoff(troupe: Troupe, runtime: Runtime) -> None:
    with stage(often(troupe.child(WEB)), runtime) as play:
        play.tell(WEB, crash())
        assert play.states_after(WEB, 0.9, 0.1) == ["backoff", "running"]

        # Each failure in a row waits twice as long.
        play.tell(WEB, crash())
        assert play.states_after(WEB, 1.9, 0.1) == ["backoff", "running"]
        play.tell(WEB, crash())
        assert play.states_after(WEB, 3.9, 0.1) == ["backoff", "running"]


def test_a_healthy_life_resets_the_backoff(troupe: Troupe, runtime: Runtime) -> None:
    with stage(often(troupe.child(WEB)), runtime) as play:
        play.tell(WEB, crash())
        play.advance(1.0)
        play.tell(WEB, crash())
        play.advance(2.0)

        # Thirty seconds without failure: the next one waits as if it was the first.
        play.advance(30.0)
        play.tell(WEB, crash())
        assert play.states_after(WEB, 0.9, 0.1) == ["backoff", "running"]


def test_time_in_backoff_is_no_healthy_life(troupe: Troupe, runtime: Runtime) -> None:
    patient = Backoff(
        initial=Seconds(40.0), cap=Seconds(80.0), jitter=Seconds(0.0), reset_after=Seconds(30.0)
    )
    web = troupe.child(WEB, at_start=FailsAtFirst(2))
    spec = SupervisorSpec(
        name="root", children=(web,), backoff=patient, intensity=5, period=Seconds(1000.0)
    )
    with stage(spec, runtime) as play:
        play.advance(40.0)

        # The second start failed at once: it waits 80 s.
        assert play.states_after(WEB, 79.0, 1.0) == ["backoff", "running"]


def test_restarts_long_ago_do_not_count(troupe: Troupe, runtime: Runtime) -> None:
    with stage(tolerating(1, troupe.child(WEB)), runtime) as play:
        play.tell(WEB, crash())
        play.advance(10.1)
        play.tell(WEB, crash())
        play.advance(10.1)

        assert play.describe()["web"].restarts == 2
        assert play.state(WEB) == "running"


@pytest.mark.parametrize("strategy", [Strategy.REST_FOR_ONE, Strategy.ONE_FOR_ALL])
def test_a_temporary_sibling_is_stopped_with_its_group_and_not_started_again(
    troupe: Troupe, runtime: Runtime, strategy: Strategy
) -> None:
    children = (troupe.child(WEB), troupe.child(LOG, restart=Restart.TEMPORARY))
    spec = SupervisorSpec(name="root", strategy=strategy, children=children)
    with stage(spec, runtime) as play:
        play.tell(WEB, crash())
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "log starts 1", "log stops", "web starts 2")
        troupe.diary.expect_silence()
        assert play.state(LOG) == "stopped"


@pytest.mark.parametrize("strategy", [Strategy.REST_FOR_ONE, Strategy.ONE_FOR_ALL])
def test_a_transient_sibling_that_was_done_starts_again_with_its_group(
    troupe: Troupe, runtime: Runtime, strategy: Strategy
) -> None:
    children = (troupe.child(WEB), troupe.child(LOG, restart=Restart.TRANSIENT))
    spec = SupervisorSpec(name="root", strategy=strategy, children=children)
    with stage(spec, runtime) as play:
        play.tell(LOG, STOP_YOURSELF)
        play.tell(WEB, crash())
        play.tell(LOG, Say(word="nobody hears this"))
        play.advance(1.0)
        play.tell(LOG, Say(word="back again"))

        troupe.diary.expect("web starts 1", "log starts 1", "log stops")
        troupe.diary.expect("web starts 2", "log starts 2", "log hears back again")


def test_a_group_that_grows_while_it_waits_is_restarted_once(
    troupe: Troupe, runtime: Runtime
) -> None:
    children = (troupe.child(DISK), troupe.child(WEB), troupe.child(LOG))
    spec = often(*children, strategy=Strategy.REST_FOR_ONE)
    with stage(spec, runtime) as play:
        # The group of web is down and waits; then disk, before it, fails as well.
        play.tell(WEB, crash())
        play.advance(0.5)
        play.tell(DISK, crash())
        play.advance(0.9)
        troupe.diary.expect("disk starts 1", "web starts 1", "log starts 1", "log stops")
        troupe.diary.expect_silence()

        play.advance(0.1)
        troupe.diary.expect("disk starts 2", "web starts 2", "log starts 2")
        play.advance(10.0)
        troupe.diary.expect_silence()


def test_a_failure_while_a_group_stops_is_not_counted_again(
    troupe: Troupe, runtime: Runtime
) -> None:
    # The last one says goodbye badly: its group is being restarted anyway.
    children = (troupe.child(WEB), troupe.child(LOG, at_stop=FailsAtFirst(1)))
    spec = SupervisorSpec(
        name="root", strategy=Strategy.ONE_FOR_ALL, children=children, intensity=1
    )
    with stage(spec, runtime) as play:
        play.tell(WEB, crash())
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "log starts 1", "log stops")
        troupe.diary.expect("web starts 2", "log starts 2")


def test_a_group_whose_stop_outlasts_its_backoff_starts_when_it_is_down(
    troupe: Troupe, gate: Gate
) -> None:
    children = (troupe.child(WEB), troupe.child(LOG, at_stop=gate))
    spec = often(*children, strategy=Strategy.ONE_FOR_ALL)
    with stage(spec, Threads()) as play:
        play.port(WEB).tell(crash())
        gate.reached()
        # The backoff is over, and the last one is not down yet.
        play.clock.move(Seconds(2.0))
        assert (play.state(WEB), play.state(LOG)) == ("backoff", "stopping")
        gate.open()

        troupe.diary.expect("web starts 1", "log starts 1", "log stops")
        troupe.diary.expect("web starts 2", "log starts 2")
