"""Escalation: who gives up when, and what is isolated from it."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, NoReturn

from typing_extensions import override

from kernel import (
    EXIT_FAILED,
    Backoff,
    EndReason,
    Hook,
    OnExhausted,
    Restart,
    Runtime,
    Strategy,
    SupervisorSpec,
)
from messages.units import Seconds
from tests.support.kernel.players import (
    Do,
    FailsAtFirst,
    Troupe,
    crash,
    key,
)
from tests.support.kernel.stage import Stage, stage
from tests.support.kernel.trees import tolerating
from tests.support.patience import PATIENCE

DISK, WEB, LOG = key("disk"), key("web"), key("log")


def test_more_restarts_than_tolerated_are_a_failure_of_the_supervisor(
    troupe: Troupe, runtime: Runtime
) -> None:
    spec = tolerating(2, troupe.child(DISK), troupe.child(WEB), troupe.child(LOG))
    with stage(spec, runtime) as play:
        play.tell(WEB, crash())
        play.advance(1.0)
        play.tell(WEB, crash())
        play.advance(2.0)
        play.tell(WEB, crash(ValueError("the last straw")))

        # It stops the others in reverse and fails.
        assert play.system.wait(Seconds(PATIENCE)) == EXIT_FAILED
        lived = troupe.diary.drain()
        assert lived[-2:] == ["log stops", "disk stops"]
        assert play.endings[-1].error == "web failed too often: ValueError: the last straw"
        assert (play.endings[-1].hook, play.endings[-1].reason) == (
            Hook.CHILDREN,
            EndReason.FAILED,
        )


def test_siblings_share_what_their_supervisor_tolerates(troupe: Troupe, runtime: Runtime) -> None:
    spec = SupervisorSpec(name="root", intensity=1, children=(troupe.child(WEB), troupe.child(LOG)))
    with stage(spec, runtime) as play:
        play.tell(WEB, crash())
        play.tell(LOG, crash())

        assert play.system.wait(Seconds(PATIENCE)) == EXIT_FAILED


def test_an_isolated_child_is_tried_again_for_ever_and_shown_as_failed(
    troupe: Troupe, runtime: Runtime
) -> None:
    web = troupe.child(WEB, at_start=FailsAtFirst(6), on_exhausted=OnExhausted.ISOLATE)
    spec = tolerating(2, web, troupe.child(LOG))
    with stage(spec, runtime) as play:
        # Two restarts are tolerated; from then on it is tried at the longest backoff.
        assert play.states_after(WEB, 0.0, 1.0, 2.0) == ["backoff", "backoff", "failed"]
        assert play.states_after(WEB, 7.9, 8.0, 8.0, 8.0) == ["failed"] * 4
        assert play.describe()["web"].last_error == "RuntimeError: not yet"

        # It recovers, and the others never noticed.
        assert play.states_after(WEB, 0.1) == ["running"]
        assert play.state(LOG) == "running"
        assert [line for line in troupe.diary.drain() if line.startswith("log")] == ["log starts 1"]


def test_a_life_that_ends_in_order_keeps_the_error_of_the_one_before(
    troupe: Troupe, runtime: Runtime
) -> None:
    with stage(tolerating(2, troupe.child(WEB, restart=Restart.PERMANENT)), runtime) as play:
        play.tell(WEB, crash(RuntimeError("a bug")))
        assert play.states_after(WEB, 1.0) == ["running"]
        play.tell(WEB, Do(action=lambda player: player.stop()))
        assert play.states_after(WEB, 2.0) == ["running"]
        assert (play.describe()["web"].restarts, play.describe()["web"].last_error) == (
            2,
            "RuntimeError: a bug",
        )


def test_an_isolated_child_that_was_healthy_is_no_more_exhausted(
    troupe: Troupe, runtime: Runtime
) -> None:
    web = troupe.child(WEB, at_start=FailsAtFirst(3), on_exhausted=OnExhausted.ISOLATE)
    spec = tolerating(2, web)
    with stage(spec, runtime) as play:
        assert play.states_after(WEB, 1.0, 2.0, 8.0) == ["backoff", "failed", "running"]

        play.advance(30.0)
        play.tell(WEB, crash())
        assert play.states_after(WEB, 0.0, 1.0) == ["backoff", "running"]


def test_isolated_children_do_not_count_against_the_others(
    troupe: Troupe, runtime: Runtime
) -> None:
    children = tuple(
        troupe.child(key(f"watcher/{number}"), on_exhausted=OnExhausted.ISOLATE)
        for number in range(50)
    )
    spec = SupervisorSpec(name="root", intensity=1, children=children)
    with stage(spec, runtime) as play:
        # Fifty watchers crash once each, as when their API server goes away.
        play.tell_each([child.key for child in children], crash())
        play.advance(1.0)

        states = {node.state for node in play.system.describe()}
        assert states == {"running"}


def test_an_isolated_child_holds_up_those_that_depend_on_it(
    troupe: Troupe, runtime: Runtime
) -> None:
    web = troupe.child(WEB, at_start=FailsAtFirst(2), on_exhausted=OnExhausted.ISOLATE)
    spec = tolerating(1, troupe.child(DISK), web, troupe.child(LOG), strategy=Strategy.REST_FOR_ONE)
    with stage(spec, runtime) as play:
        assert play.states_after(WEB, 0.0, 1.0) == ["backoff", "failed"]
        assert (play.state(DISK), play.state(LOG)) == ("running", "waiting")

        play.advance(8.0)
        troupe.diary.expect("disk starts 1", "web starts 1", "web starts 2", "web starts 3")
        troupe.diary.expect("log starts 1")


class BrokenBackoff(Backoff):
    """A backoff with a bug."""

    @override
    def delay(self, failures: int) -> NoReturn:
        raise ZeroDivisionError("in the supervisor")


def test_a_supervisors_own_failure_stops_its_children_and_goes_up(
    troupe: Troupe, runtime: Runtime, logs: list[MutableMapping[str, Any]]
) -> None:
    inner = SupervisorSpec(
        name="inner",
        children=(troupe.child(DISK), troupe.child(WEB), troupe.child(LOG)),
        backoff=BrokenBackoff(),
    )
    with stage(SupervisorSpec(name="root", children=(inner,)), runtime) as play:
        play.tell(WEB, crash())
        play.advance(1.0)

        # Its children were stopped in reverse, and it was restarted by its own supervisor.
        troupe.diary.expect("disk starts 1", "web starts 1", "log starts 1")
        troupe.diary.expect("log stops", "disk stops")
        troupe.diary.expect("disk starts 2", "web starts 2", "log starts 2")
        assert play.endings[-1].error == "ZeroDivisionError: in the supervisor"
        assert "supervisor failed" in [event["event"] for event in logs]


def test_a_supervisor_that_fails_with_nothing_left_to_stop_ends_at_once(
    troupe: Troupe, runtime: Runtime
) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB),), backoff=BrokenBackoff())
    with stage(spec, runtime) as play:
        play.tell(WEB, crash())

        # No time has passed.
        assert play.system.wait(Seconds(PATIENCE)) == EXIT_FAILED


def test_a_supervisor_that_cannot_stop_in_order_abandons_what_is_left(
    troupe: Troupe, runtime: Runtime
) -> None:
    # A deadline that is no number fails when it is used, in the middle of an orderly stop.
    nonsense: Any = "soon"
    nested = SupervisorSpec(name="nested", children=(troupe.child(DISK),))
    inner = SupervisorSpec(
        name="inner", children=(nested, troupe.child(WEB, shutdown=nonsense), troupe.child(LOG))
    )
    with stage(SupervisorSpec(name="root", children=(inner,)), runtime) as play:
        assert play.stop() == 1

        endings = [(ended.name, ended.reason, ended.abandoned) for ended in play.endings]
        assert sorted(endings) == [
            ("disk", EndReason.FAILED, True),
            ("inner", EndReason.FAILED, False),
            ("log", EndReason.SHUTDOWN, False),
            ("nested", EndReason.SHUTDOWN, False),
            ("root", EndReason.SHUTDOWN, False),
            ("web", EndReason.FAILED, True),
        ]


def test_a_restarted_supervisor_forgets_what_it_tolerated(troupe: Troupe, runtime: Runtime) -> None:
    inner = SupervisorSpec(name="inner", intensity=1, children=(troupe.child(WEB),))
    with stage(SupervisorSpec(name="root", children=(inner,)), runtime) as play:
        play.tell(WEB, crash())
        play.advance(1.0)
        play.tell(WEB, crash())
        play.advance(1.0)
        assert play.describe()["inner"].restarts == 1

        # One more is tolerated again; the child is the third life of its address.
        play.tell(WEB, crash())
        play.advance(1.0)
        assert play.describe()["inner"].restarts == 1
        troupe.diary.expect(*[f"web starts {life}" for life in (1, 2, 3, 4)])


def test_failures_go_up_supervisor_by_supervisor(troupe: Troupe, runtime: Runtime) -> None:
    inner = SupervisorSpec(name="inner", intensity=0, children=(troupe.child(WEB),))
    middle = SupervisorSpec(name="middle", intensity=0, children=(inner, troupe.child(LOG)))
    with stage(SupervisorSpec(name="root", children=(middle,)), runtime) as play:
        play.tell(WEB, crash())
        play.advance(1.0)

        assert [ended.name for ended in play.endings] == ["web", "inner", "log", "middle"]
        assert {node.state for node in play.system.describe()} == {"running"}
        troupe.diary.expect("web starts 1", "log starts 1", "log stops")
        troupe.diary.expect("web starts 2", "log starts 2")


def test_a_supervisor_that_fails_from_outside_ends_failed_only_once(play: Stage) -> None:
    play.system.control.post(lambda: play.system._root.fail("a reason from outside"))
    play.system.control.post(lambda: play.system._root.fail("another one"))
    play.settle()

    assert play.system.wait(Seconds(PATIENCE)) == EXIT_FAILED
    assert [ended.error for ended in play.endings] == ["", "a reason from outside"]
