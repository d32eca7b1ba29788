"""Commands of exec probes: who has the next turn, what their ends mean, and what nobody reads of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from actors.probes.watching import ProbeIs, ProbesBegan, RestProbe
from kernel import Runtime
from messages.container_runtime import ExecEnded, RuntimeFailure, RuntimeFailureKind
from messages.events import EventType
from messages.pods import PodUid
from messages.probing import ProbeKey, ProbeKind, ProbeResult
from messages.units import Seconds
from tests.support.kernel.probe import Probe
from tests.support.probes.loop_stage import KEY, LoopWorld, readiness, wish

FINE, FAILED = ExecEnded(exit_code=0), ExecEnded(exit_code=1, output="no\n")


@pytest.fixture
def world(runtime: Runtime) -> Iterator[LoopWorld]:
    world = LoopWorld(runtime)
    world.play.start()
    yield world
    world.stop()


def key(number: int) -> ProbeKey:
    return ProbeKey(PodUid(f"pod-{number}"), "main", ProbeKind.READINESS)


def texts(told: Probe[ProbeIs]) -> list[str]:
    """Return what people are to know of what was told."""
    return [each.remark.outcome.text for each in told.drain() if each.remark is not None]


def test_who_was_due_first_has_the_first_turn_and_only_so_many_run_at_once(
    world: LoopWorld,
) -> None:
    world.commands.answer = lambda: None
    target = world.start_container()
    for number in range(5):
        command = {"command": [f"{number}"]}
        world.tells(replace(wish(world, target, spec=readiness(exec=command)), key=key(number)))
        world.passes(0.1)
    assert [command for _, command in world.commands.begun] == [("0",), ("1",)]
    for count in (3, 4, 5):
        world.commands.end(world.commands.kept[0], FINE)
        world.play.settle()
        assert len(world.commands.begun) == count
    assert [command for _, command in world.commands.begun] == [(f"{n}",) for n in range(5)]


def test_a_command_that_waited_for_more_than_a_second_is_said_to_be_late_once(
    world: LoopWorld,
) -> None:
    world.commands.answer = lambda: None
    target = world.start_container()
    for number in range(4):
        world.tells(replace(wish(world, target), key=key(number)))
    world.passes(1.5)
    for asked in tuple(world.commands.kept):
        world.commands.end(asked, FINE)
    world.play.settle()
    (event,) = world.events.drain()
    assert (event.regarding.kind, event.regarding.name) == ("Node", "node1")
    assert (event.type, event.reason) == (EventType.WARNING, "ProbesLate")
    assert "has waited for 1.5 s, and 1 wait behind it" in event.message


@pytest.mark.parametrize(
    ("answer", "result", "text"),
    [
        (FAILED, ProbeResult.FAILURE, "no"),
        (ExecEnded(exit_code=3), ProbeResult.FAILURE, "the command exited with code 3"),
        (
            RuntimeFailure(
                kind=RuntimeFailureKind.REFUSED,
                message="the command did not end within 1 s",
                reason="Timeout",
            ),
            ProbeResult.FAILURE,
            "the command did not end within 1 s",
        ),
        (
            RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message="no such file"),
            ProbeResult.UNKNOWN,
            "no such file",
        ),
    ],
)
def test_how_a_command_ends_is_what_the_probe_says(
    world: LoopWorld, answer: ExecEnded | RuntimeFailure, result: ProbeResult, text: str
) -> None:
    world.commands.answer = lambda: answer
    world.tells(wish(world, world.start_container()))
    world.passes(2.0)
    told = [each.remark for each in world.told.drain() if each.remark is not None]
    assert (told[0].outcome.result, told[0].outcome.text) == (result, text)


def test_each_command_has_its_probes_timeout_as_its_deadline(world: LoopWorld) -> None:
    world.commands.answer = lambda: None
    world.tells(wish(world, world.start_container(), spec=readiness(timeoutSeconds=7)))
    world.passes(0.5)
    assert [asked.deadline for asked in world.commands.kept] == [Seconds(7.0)]


def test_a_command_that_nobody_answers_for_is_given_up(world: LoopWorld) -> None:
    world.commands.answer = lambda: None
    world.tells(wish(world, world.start_container()))
    world.passes(34.0)
    assert texts(world.told) == ["nobody said how the command ended"]
    assert len(world.commands.begun) == 4  # three tries, and the next time


def test_a_command_that_waited_for_minutes_has_one_turn_and_its_answer_counts(
    world: LoopWorld,
) -> None:
    world.commands.answer = lambda: None
    target, slow = world.start_container(), readiness(timeoutSeconds=120)
    for number in range(2):
        world.tells(replace(wish(world, target, spec=slow), key=key(number)))
    world.tells(replace(wish(world, target, spec=readiness(timeoutSeconds=1)), key=key(2)))
    world.passes(100.0)
    assert len(world.commands.begun) == 2
    world.told.drain()
    world.commands.end(world.commands.kept[0], FINE)
    world.passes(0.5)
    world.commands.end(world.commands.kept[1], FAILED)
    world.passes(0.5)
    assert [each.key for each in world.told.drain() if each.remark] == [key(0), key(2)]
    lateness = world.memory.loop.lateness
    assert (lateness.told_again, lateness.late_notes) == (1, 0)


def test_what_a_command_took_is_how_long_it_ran_and_not_how_long_it_waited(
    world: LoopWorld,
) -> None:
    world.commands.answer = lambda: None
    target = world.start_container()
    for number in range(3):
        world.tells(
            replace(wish(world, target, spec=readiness(timeoutSeconds=60)), key=key(number))
        )
    world.passes(5.0)
    world.commands.end(world.commands.kept[0], FINE)
    world.passes(2.0)
    world.commands.end(world.commands.kept[1], FINE)
    world.play.settle()
    answers = world.answers()
    assert answers[key(0)].answer.took == pytest.approx(5.0, abs=0.1)
    assert answers[key(2)].answer.took == pytest.approx(2.0, abs=0.1)
    assert answers[key(2)].seconds == pytest.approx(2.0, abs=0.1)


def test_a_late_answer_of_an_old_instance_is_dropped(world: LoopWorld) -> None:
    world.commands.answer = lambda: None
    world.tells(wish(world, world.start_container()))
    world.passes(0.5)
    (old,) = world.commands.kept
    world.tells(wish(world, world.start_container()))
    world.told.drain()
    world.commands.end(old, FAILED)
    world.passes(0.5)
    assert texts(world.told) == []
    assert [asked for asked, _ in world.commands.begun] == ["c1", "c2"]


def test_a_probe_that_rests_has_no_turn_any_more(world: LoopWorld) -> None:
    world.commands.answer = lambda: None
    target = world.start_container()
    for number in range(3):
        world.tells(replace(wish(world, target), key=key(number)))
    world.passes(0.5)
    world.tells(RestProbe(key=key(2)))
    for asked in tuple(world.commands.kept):
        world.commands.end(asked, FINE)
    world.play.settle()
    assert len(world.commands.begun) == 2


def test_commands_that_run_outlive_a_crash(world: LoopWorld) -> None:
    world.commands.answer = lambda: None
    world.tells(wish(world, world.start_container()))
    world.passes(0.5)
    world.crashes()
    (asked,) = world.commands.kept
    world.commands.end(asked, FAILED)
    world.passes(1.0)
    assert texts(world.told) == ["no"]


def test_a_loop_that_fails_is_made_anew_and_goes_on(world: LoopWorld) -> None:
    world.follows()
    world.tells(wish(world, world.start_container()))
    world.passes(8.0)
    assert world.results()[-1][0] is ProbeResult.SUCCESS
    world.ended[-1](ValueError("a bug"))
    world.passes(1.0)
    assert len(world.ended) == 2
    assert world.began.drain() == [ProbesBegan()]
    world.passes(15.0)
    assert world.results()[-1][0] is ProbeResult.FAILURE


def test_values_of_secrets_are_in_no_text_that_anybody_reads(world: LoopWorld) -> None:
    world.commands.answer = lambda: ExecEnded(exit_code=1, output="login with hunter22 failed")
    hidden = replace(wish(world, world.start_container()), hidden=("hunter22",))
    world.tells(hidden)
    world.passes(0.5)
    assert texts(world.told) == ["login with [hidden] failed"]
    assert world.answers()[KEY].answer.last.text == "login with [hidden] failed"
    world.tells(RestProbe(key=KEY))
    assert world.answers()[KEY].answer.last.text == "login with [hidden] failed"
    world.tells(replace(hidden, hidden=None, target=world.start_container()))
    world.passes(0.5)
    (text,) = texts(world.told)
    assert "hunter22" not in text
    assert "is not shown" in text


def test_where_nobody_runs_commands_an_exec_probe_passes_and_that_is_said_once(
    runtime: Runtime,
) -> None:
    world = LoopWorld(runtime, has_commands=False)
    world.play.start()
    target = world.start_container()
    world.tells(wish(world, target), wish(world, target))
    first, second = world.told.drain()
    assert first.remark is not None
    assert first.remark.outcome.result is ProbeResult.WARNING
    assert (first.result, second.result, second.remark) == (
        ProbeResult.SUCCESS,
        ProbeResult.SUCCESS,
        None,
    )
    world.passes(2.0)
    assert world.told.drain() == []
    world.stop()
