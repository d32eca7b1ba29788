"""What ``runtimes/lifecycle_hooks/messages.py`` says of whoever carries hooks out: one suite for all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from manifests.handlers import ExecAction, UnusableHandler
from messages.units import Seconds
from runtimes.lifecycle_hooks.messages import SHORTENED, ForgetHook, HookKind, SleepAction
from tests.support.runtimes.hooks_stage import HOOK_RUNNERS, HooksStage, hooks_stage

SLEEP = SleepAction(seconds=Seconds(10.0))


@pytest.fixture(params=sorted(HOOK_RUNNERS))
def stage(request: pytest.FixtureRequest) -> Iterator[HooksStage]:
    with hooks_stage(HOOK_RUNNERS[request.param]) as made:
        yield made


def test_a_command_that_ends_with_0_succeeds(stage: HooksStage) -> None:
    stage.run(ExecAction(command=("true",)))
    assert stage.failures() == [""]


def test_a_command_that_ends_otherwise_fails_and_says_with_what(stage: HooksStage) -> None:
    stage.run(ExecAction(command=("sh", "-c", "echo s3cr3t; exit 3")))
    assert stage.failures() == ["the command exited with code 3"]


def test_a_command_in_a_container_that_is_not_there_fails(stage: HooksStage) -> None:
    stage.container_id = "hollow://nobody"
    stage.run(ExecAction(command=("true",)))
    (failure,) = stage.failures()
    assert "not" in failure


def test_a_hook_that_cannot_be_carried_out_fails_at_once(stage: HooksStage) -> None:
    stage.run(UnusableHandler(why="the container has no port 'x'"))
    assert stage.failures() == ["the container has no port 'x'"]


def test_a_sleep_takes_its_time(stage: HooksStage) -> None:
    stage.run(SLEEP)
    stage.play.advance(9.9)
    assert stage.failures() == []
    stage.play.advance(0.2)
    assert stage.failures() == [""]


def test_a_sleep_of_just_its_time_succeeds(stage: HooksStage) -> None:
    stage.run(SLEEP, within=10.0)
    stage.play.advance(10.1)
    assert stage.failures() == [""]


def test_a_hook_that_takes_too_long_is_given_up_at_its_deadline(stage: HooksStage) -> None:
    stage.run(SLEEP, within=4.0)
    stage.play.advance(3.9)
    assert stage.failures() == []
    stage.play.advance(0.2)
    assert stage.failures() == ["given up after 4s"]
    stage.play.advance(100)
    assert stage.failures() == []


def test_a_hook_may_get_less_time_and_never_more(stage: HooksStage) -> None:
    stage.run(SLEEP, within=8.0)
    stage.shorten(100)
    stage.shorten(5)
    stage.shorten(7)
    stage.play.advance(4.9)
    assert stage.failures() == []
    stage.play.advance(0.2)
    assert stage.failures() == [SHORTENED]


def test_a_hook_without_time_is_given_up_now(stage: HooksStage) -> None:
    stage.run(SLEEP)
    stage.shorten(0)
    assert stage.failures() == [SHORTENED]


def test_less_time_than_enough_changes_nothing(stage: HooksStage) -> None:
    stage.run(SLEEP, within=100.0)
    stage.shorten(11)
    stage.play.advance(10.1)
    assert stage.failures() == [""]


def test_the_same_hook_again_is_carried_out_once(stage: HooksStage) -> None:
    stage.run(SLEEP)
    stage.play.advance(6)
    stage.run(SLEEP)
    stage.play.advance(4.1)
    assert stage.failures() == [""]
    stage.play.advance(20)
    assert stage.failures() == []


def test_who_asks_again_is_answered_again(stage: HooksStage) -> None:
    stage.run(ExecAction(command=("false",)))
    stage.run(SLEEP)
    assert stage.failures() == ["the command exited with code 1"] * 2


def test_nothing_is_told_of_a_hook_that_was_forgotten(stage: HooksStage) -> None:
    stage.run(SLEEP)
    stage.forget()
    stage.play.advance(100)
    assert stage.failures() == []
    stage.run(ExecAction(command=("true",)))
    assert stage.failures() == [""]


def test_a_hook_that_nobody_knows_is_neither_shortened_nor_forgotten(stage: HooksStage) -> None:
    stage.shorten(0)
    stage.forget()
    stage.tell(ForgetHook(ref=stage.ref(HookKind.POST_START)))
    assert stage.failures() == []


def test_a_hook_outlives_a_crash(stage: HooksStage) -> None:
    stage.run(SLEEP, within=20.0)
    stage.play.advance(3)
    stage.crash()
    stage.shorten(18)
    stage.play.advance(6.4)
    assert stage.failures() == []
    stage.play.advance(0.2)
    assert stage.failures() == [""]
    stage.crash()
    stage.run(SLEEP)
    assert stage.failures() == [""]
