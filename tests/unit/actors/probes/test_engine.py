"""When probes are carried out, what is told of them, and what outlives whom."""

from __future__ import annotations

import errno
import random
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest
from typing_extensions import override

from actors.probes import connections
from actors.probes.engine import TOLD_AGAIN_AFTER, ProbeEngine
from actors.probes.loop_messages import ProbeEdges
from actors.probes.specs import ProbeSpec
from manifests.handlers import ExecAction, HttpGetAction, TcpSocketAction, UnusableHandler
from messages.probing import ProbeKind, ProbeOutcome, ProbeResult
from messages.units import Seconds
from tests.support.kernel.clock import ManualClock
from tests.support.probes.probe_stage import (
    FIRST,
    LOOPBACK,
    SECOND,
    ProbeStage,
    probe_stage,
    spec,
    target,
)
from tests.support.probes.targets import raw_target, silent

SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE
WARNING, UNKNOWN = ProbeResult.WARNING, ProbeResult.UNKNOWN
LIVENESS, READINESS, STARTUP = ProbeKind.LIVENESS, ProbeKind.READINESS, ProbeKind.STARTUP
PASSED, FAILED = ProbeOutcome(SUCCESS, "ok"), ProbeOutcome(FAILURE, "no")
TROUBLE = ProbeOutcome(UNKNOWN, "the runtime is away")


@pytest.fixture
def stage() -> Iterator[ProbeStage]:
    with probe_stage() as stage:
        yield stage


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server((LOOPBACK, 0)) as listener:
        yield listener


def command(kind: ProbeKind = READINESS, **fields: float) -> ProbeSpec:
    return spec(ExecAction(command=("ready",)), kind, **fields)


def tcp(listener: socket.socket, kind: ProbeKind = READINESS, **fields: float) -> ProbeSpec:
    return spec(TcpSocketAction(host="", port=listener.getsockname()[1]), kind, **fields)


def run(stage: ProbeStage, outcome: ProbeOutcome) -> None:
    """Carry out the command that is due."""
    (due,) = stage.runs_due()
    stage.note(due, outcome)


# --- when ----------------------------------------------------------------------------------------------


def test_a_container_is_asked_when_its_delay_is_over_and_then_in_each_period(
    stage: ProbeStage,
) -> None:
    stage.watch(command(initial_delay=5.0, period=10.0))
    stage.advance(4.99)
    assert stage.runs_due() == []
    stage.advance(0.02)
    run(stage, PASSED)
    stage.advance(9.98)
    assert stage.runs_due() == []
    stage.advance(0.02)
    run(stage, PASSED)


def test_a_delay_is_counted_from_the_start_of_the_container(stage: ProbeStage) -> None:
    stage.advance(100)
    stage.watch(command(initial_delay=30.0), target(after=80.0))
    stage.advance(9.9)
    assert stage.runs_due() == []
    stage.advance(0.2)
    assert len(stage.runs_due()) == 1


def test_while_the_process_is_young_first_attempts_are_spread_over_a_period() -> None:
    clock = ManualClock()
    with probe_stage() as stage:
        stage.clock, stage.memory.began = clock, Seconds(0.0)
        stage.engine.close()
        stage.engine = stage.new_engine()
        for each in range(50):
            stage.watch(command(), container=f"c{each}")
        begun = []
        for _ in range(10):
            stage.advance(1)
            begun.append(len(stage.runs_due()))
    assert sum(begun) == 50
    assert max(begun) < 20


def test_an_attempt_waits_no_longer_than_a_minute_for_a_young_process() -> None:
    with probe_stage() as stage:
        stage.clock, stage.memory.began = ManualClock(), Seconds(0.0)
        stage.engine.close()
        stage.engine = stage.new_engine()
        stage.watch(command(period=10 * 365 * 86_400.0))
        stage.advance(60.1)
        assert len(stage.runs_due()) == 1


def test_what_is_due_while_an_attempt_is_in_progress_is_left_out(stage: ProbeStage) -> None:
    stage.watch(command(period=1.0))
    (due,) = stage.runs_due()
    stage.advance(3.5)
    assert stage.runs_due() == []
    stage.note(due, PASSED)
    assert stage.runs_due() == []
    stage.advance(0.51)
    assert len(stage.runs_due()) == 1
    assert stage.memory.lateness.skipped == 3


def test_many_that_are_due_at_once_all_have_their_turn(
    stage: ProbeStage, listener: socket.socket
) -> None:
    listener.listen(512)
    keys = [stage.watch(tcp(listener), container=f"c{each}") for each in range(200)]
    stage.until(lambda: all(stage.known(each).answer for each in keys))
    stage.clock.move(Seconds(10.0))
    stage.until(lambda: all(stage.known(each).successes == 2 for each in keys))


# --- commands ------------------------------------------------------------------------------------------


def test_a_command_is_due_with_all_that_it_takes(stage: ProbeStage) -> None:
    its_key = stage.watch(command(timeout=7.0))
    (due,) = stage.runs_due()
    assert due == (its_key, FIRST, ("ready",), 7.0, 1)


def test_only_one_run_of_a_command_is_answered_for(stage: ProbeStage) -> None:
    its_key = stage.watch(command())
    (due,) = stage.runs_due()
    stage.note(due, PASSED)
    stage.note(due, FAILED)
    assert stage.known(its_key).figures.failures == 0
    assert stage.memory.lateness.late_notes == 1


def test_a_command_that_could_not_be_run_is_tried_three_times_and_left_out(
    stage: ProbeStage,
) -> None:
    its_key = stage.watch(command(LIVENESS, failure_threshold=1))
    for _ in range(3):
        run(stage, TROUBLE)
        stage.advance(0.02)
    assert stage.runs_due() == []
    assert stage.known(its_key).count.result is SUCCESS
    (news,) = stage.news()
    assert (news.outcome, news.is_change) == (TROUBLE, False)
    stage.advance(10)
    run(stage, PASSED)
    assert stage.known(its_key).figures.unknowns == 1


@pytest.mark.parametrize("known", [PASSED, FAILED])
def test_people_are_told_when_a_probe_that_could_not_be_carried_out_counts_again(
    stage: ProbeStage, known: ProbeOutcome
) -> None:
    stage.watch(command(LIVENESS, failure_threshold=3))
    run(stage, PASSED)
    told = []
    for outcome in (TROUBLE, TROUBLE, known, PASSED, TROUBLE, PASSED):
        stage.advance(10)
        for _ in range(3 if outcome is TROUBLE else 1):
            run(stage, outcome)
            stage.advance(0.02)
        told.append([(each.outcome, each.is_change) for each in stage.news()])
    # Of one that comes and goes they are told once a minute, as of failures.
    assert told == [[(TROUBLE, False)], [], [(known, False)], [], [], []]


def test_a_command_that_nobody_answers_for_is_told_again_and_its_answer_counts(
    stage: ProbeStage,
) -> None:
    its_key = stage.watch(command(timeout=5.0))
    (due,) = stage.runs_due()
    for _ in range(2):
        stage.advance(5 + TOLD_AGAIN_AFTER - 0.1)
        assert stage.runs_due() == []
        stage.advance(0.2)
        assert stage.runs_due() == [due]
    stage.note(due, PASSED)
    assert [each.result for each in stage.news()] == [SUCCESS]
    assert stage.known(its_key).figures.successes == 1
    assert (stage.memory.lateness.told_again, stage.memory.lateness.late_notes) == (2, 0)


def test_a_command_in_progress_is_told_again_to_whoever_asks_for_the_probe_again(
    stage: ProbeStage,
) -> None:
    stage.watch(command())
    (due,) = stage.runs_due()
    stage.watch(command())
    assert stage.runs_due() == [due]


# --- what is told --------------------------------------------------------------------------------------


def test_a_success_that_changes_nothing_is_not_told(stage: ProbeStage) -> None:
    stage.watch(command(LIVENESS))
    run(stage, PASSED)
    assert stage.news() == []


def test_people_are_told_of_failures_once_a_minute_and_how_many_there_were(
    stage: ProbeStage,
) -> None:
    stage.watch(command(period=10.0, failure_threshold=3))
    told = []
    for _ in range(16):
        run(stage, FAILED)
        told += [(stage.clock.monotonic(), each.times, each.is_change) for each in stage.news()]
        stage.advance(10)
    # Readiness fails from the beginning, so no failure changes anything.
    assert told == [(0.0, 1, False), (60.0, 6, False), (120.0, 6, False)]


def test_a_change_is_told_at_once_whatever_was_told_before(stage: ProbeStage) -> None:
    stage.watch(command(failure_threshold=1))
    told = []
    for outcome in (PASSED, FAILED, PASSED, ProbeOutcome(WARNING, "elsewhere"), FAILED):
        run(stage, outcome)
        told += [(each.result, each.is_change, each.outcome.text) for each in stage.news()]
        stage.advance(10)
    assert told == [
        (SUCCESS, True, "ok"),
        (FAILURE, True, "no"),
        (SUCCESS, True, "ok"),
        (FAILURE, True, "no"),
    ]


def test_a_probe_that_is_impossible_says_why_and_changes_nothing(stage: ProbeStage) -> None:
    its_key = stage.watch(spec(UnusableHandler(why="the container has no port 'x'"), LIVENESS))
    stage.advance(10)
    (news,) = stage.news()
    assert news.outcome == ProbeOutcome(UNKNOWN, "the container has no port 'x'")
    assert (news.result, news.is_change) == (SUCCESS, False)
    assert stage.known(its_key).figures.unknowns == 2


def test_a_pod_without_an_address_is_asked_when_it_has_one(
    stage: ProbeStage, listener: socket.socket
) -> None:
    its_key = stage.watch(tcp(listener), target(ip=""))
    (news,) = stage.news()
    assert news.outcome == ProbeOutcome(UNKNOWN, "the pod has no address")
    stage.watch(tcp(listener))
    assert stage.outcome_after(its_key, 10).result is SUCCESS


def test_a_probe_that_rests_is_carried_out_no_more_until_there_is_another_instance(
    stage: ProbeStage,
) -> None:
    its_key = stage.watch(command(LIVENESS, failure_threshold=1))
    run(stage, FAILED)
    assert stage.known(its_key).answer.is_held  # type: ignore[union-attr]  # it answered
    stage.advance(100)
    assert stage.runs_due() == []
    stage.watch(command(LIVENESS, failure_threshold=1), target(SECOND, after=100.0))
    (due,) = stage.runs_due()
    assert due.container_id == SECOND
    assert stage.known(its_key).count.result is SUCCESS


# --- instances, and who asks ---------------------------------------------------------------------------


def test_asking_again_for_the_same_changes_nothing(stage: ProbeStage) -> None:
    its_key = stage.watch(command(LIVENESS))
    run(stage, FAILED)
    stage.advance(5)
    stage.watch(command(LIVENESS), initial=FAILURE)
    assert stage.known(its_key).count.in_a_row == 1
    assert stage.runs_due() == []
    stage.advance(5)
    assert len(stage.runs_due()) == 1


def test_another_instance_begins_anew_and_the_answer_of_the_last_one_is_late(
    stage: ProbeStage,
) -> None:
    its_key = stage.watch(command(LIVENESS, failure_threshold=2))
    run(stage, FAILED)
    stage.advance(10)
    (old,) = stage.runs_due()
    stage.watch(command(LIVENESS, failure_threshold=2), target(SECOND, after=10.0))
    stage.note(old, FAILED)
    assert stage.known(its_key).count == (SUCCESS, None, 0, False)
    run(stage, FAILED)
    assert stage.known(its_key).count == (SUCCESS, FAILURE, 1, False)


def test_an_instance_can_begin_with_what_counted_for_it_before(stage: ProbeStage) -> None:
    its_key = stage.watch(command(), initial=SUCCESS)
    run(stage, PASSED)
    assert stage.news() == []
    assert stage.known(its_key).count.result is SUCCESS
    stage.watch(command(STARTUP), initial=SUCCESS)
    assert stage.runs_due() == []


def test_another_probe_of_the_same_name_begins_anew(stage: ProbeStage) -> None:
    its_key = stage.watch(command(LIVENESS))
    run(stage, FAILED)
    stage.watch(replace(command(LIVENESS), failure_threshold=1))
    assert stage.known(its_key).count.in_a_row == 0
    run(stage, FAILED)
    assert [each.result for each in stage.news()][-1] is FAILURE


def test_an_attempt_at_an_address_that_the_pod_has_no_more_is_begun_again(
    stage: ProbeStage,
) -> None:
    with (
        socket.create_server((LOOPBACK, 0), backlog=0) as full,
        socket.create_connection(full.getsockname()),
    ):
        port = full.getsockname()[1]
        with socket.create_server(("127.0.0.2", port)):
            its_key = stage.watch(spec(TcpSocketAction(host="", port=port)))
            stage.engine.turn(0.0)
            assert stage.known(its_key).is_asked
            stage.watch(spec(TcpSocketAction(host="", port=port)), target(ip="127.0.0.2"))
            assert stage.outcome(its_key).result is SUCCESS


def test_a_probe_that_is_forgotten_is_carried_out_no_more(stage: ProbeStage) -> None:
    its_key = stage.watch(command())
    (due,) = stage.runs_due()
    stage.forget(its_key)
    stage.note(due, FAILED)
    stage.advance(100)
    assert (stage.runs_due(), stage.news(), stage.memory.watched) == ([], [], {})
    stage.forget(its_key)


def test_destinations_are_counted_as_long_as_somebody_asks_them(
    stage: ProbeStage, listener: socket.socket
) -> None:
    keys = [stage.watch(tcp(listener, period=0.1), container=f"c{each}") for each in range(3)]
    ((_, rate),) = stage.memory.per_second.items()
    assert rate == pytest.approx(30.0)
    for each in keys:
        stage.forget(each)
    assert stage.memory.per_second == {}


# --- crashes -------------------------------------------------------------------------------------------


def test_another_engine_goes_on_with_the_counts_and_the_run_in_progress(stage: ProbeStage) -> None:
    its_key = stage.watch(command(LIVENESS, failure_threshold=2))
    run(stage, FAILED)
    stage.advance(10)
    (due,) = stage.runs_due()
    stage.engine.close()
    first, stage.engine = stage.engine, stage.new_engine()
    assert not first.is_current
    stage.engine.turn(0.0)
    assert stage.runs_due() == [due]
    stage.note(due, FAILED)
    assert stage.known(its_key).count.result is FAILURE


def test_another_engine_makes_attempts_anew_that_were_in_progress(stage: ProbeStage) -> None:
    held = stage.watch(command(STARTUP), initial=SUCCESS)
    with raw_target(silent) as asked:
        page = HttpGetAction(is_https=False, host="", port=asked.port, path="/")
        its_key = stage.watch(spec(page))
        stage.until(lambda: asked.accepted == 1)
        stage.engine.close()
        stage.engine = stage.new_engine()
        stage.until(lambda: asked.accepted == 2)
        assert stage.known(its_key).is_asked
    assert stage.known(held).count.is_held


def test_a_bug_in_one_attempt_is_no_other_probes(
    stage: ProbeStage, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise RuntimeError("a bug")

    with monkeypatch.context() as broken:
        broken.setattr(connections.ProbeConnection, "proceed", fail)
        its_key = stage.watch(tcp(listener, LIVENESS))
        stage.until(lambda: stage.known(its_key).tries)
        assert not stage.known(its_key).answer
        stage.advance(0.02)
        stage.until(lambda: stage.known(its_key).tries == 2)
        stage.advance(0.02)
        text = "the agent failed over it: RuntimeError"
        stage.until(lambda: stage.known(its_key).answer)
    assert [each.outcome for each in stage.news()] == [ProbeOutcome(UNKNOWN, text)]
    assert stage.outcome_after(its_key, 10).result is SUCCESS


def test_a_bug_in_beginning_an_attempt_is_no_other_probes(
    stage: ProbeStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> object:
        raise RuntimeError("a bug")

    with monkeypatch.context() as broken:
        broken.setattr("actors.probes.engine.prepare", fail)
        stage.watch(spec(TcpSocketAction(host="", port=80)), container="broken")
    stage.watch(command(LIVENESS))
    assert len(stage.runs_due()) == 1


# --- what is no fault of the target --------------------------------------------------------------------


def test_a_stall_of_the_agent_is_not_counted_against_the_target(
    stage: ProbeStage, listener: socket.socket
) -> None:
    with (
        socket.create_server((LOOPBACK, 0), backlog=0) as full,
        socket.create_connection(full.getsockname()),
    ):
        its_key = stage.watch(spec(TcpSocketAction(host="", port=full.getsockname()[1])))
        stage.watch(tcp(listener), container="other")
        stage.engine.turn(0.0)
        # The thread comes 2 s late, and nobody knows since when it could not run.
        stage.advance(3.0)
        assert stage.known(its_key).answer is None
        stage.advance(0.9)
        assert stage.known(its_key).answer is None
        assert stage.outcome_after(its_key, 0.12).result is FAILURE
    assert stage.memory.lateness.stalls >= 1


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EADDRNOTAVAIL])
def test_what_this_machine_lacks_is_tried_again_and_then_left_out(
    stage: ProbeStage, listener: socket.socket, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    class Exhausted(socket.socket):
        @override
        def connect_ex(self, _address: object, /) -> int:
            return code

    with monkeypatch.context() as lacking:
        lacking.setattr(socket, "socket", Exhausted)
        its_key = stage.watch(tcp(listener, LIVENESS, failure_threshold=1))
        for _ in range(3):
            stage.advance(0.02)
        (news,) = stage.news()
        assert news.outcome.result is UNKNOWN
        assert news.outcome.text.startswith("no connection can be made: ")
        assert stage.known(its_key).count.result is SUCCESS
    assert stage.outcome_after(its_key, 10).result is SUCCESS


def test_an_engine_has_its_chance_of_the_world(stage: ProbeStage) -> None:
    edges = ProbeEdges(clock=stage.clock, tell=stage.take, user_agent="x")
    assert isinstance(edges.chance, random.Random)
    ProbeEngine(stage.memory, edges).close()
