"""HookRunner: connections that end, hang or come late, and crashes in the midst of a message."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from manifests.handlers import ExecAction, HttpGetAction, TcpSocketAction
from runtimes.lifecycle_hooks.actor import CRASHED, HOOK_RUNNER
from runtimes.lifecycle_hooks.messages import HookEnded
from tests.support.runtimes.hooks_stage import BuggyRunner, HooksStage, hooks_stage

TCP = TcpSocketAction(host="10.0.0.7", port=80)
PAGE = HttpGetAction(is_https=True, host="10.0.0.7", port=443, path="/")


@pytest.fixture
def stage() -> Iterator[HooksStage]:
    with hooks_stage(HOOK_RUNNER) as made:
        yield made


@pytest.mark.parametrize("action", [TCP, PAGE])
def test_a_hook_ends_as_its_connection_does(
    stage: HooksStage, action: TcpSocketAction | HttpGetAction
) -> None:
    stage.run(action, within=7.0)
    (connection,) = stage.sockets.begun
    assert connection.action == action
    stage.play.advance(5)
    assert stage.failures() == []
    stage.sockets.end("connection refused")
    stage.play.settle()
    assert stage.failures() == ["connection refused"]


def test_what_people_should_know_of_a_success_is_told_with_it(stage: HooksStage) -> None:
    stage.run(PAGE)
    stage.sockets.end(remark="by plain HTTP")
    stage.play.settle()
    assert stage.told.drain() == [HookEnded(ref=stage.ref(), remark="by plain HTTP")]


def test_a_connection_that_hangs_is_given_up_and_its_late_end_is_not_told(
    stage: HooksStage,
) -> None:
    stage.run(TCP, within=7.0)
    stage.play.advance(7.1)
    assert stage.failures() == ["given up after 7s"]
    assert stage.sockets.begun[0].is_abandoned
    stage.sockets.end()
    stage.play.settle()
    assert stage.failures() == []


def test_a_forgotten_connection_is_given_up(stage: HooksStage) -> None:
    stage.run(TCP)
    stage.forget()
    assert stage.sockets.begun[0].is_abandoned
    assert (stage.hooks.operations.running, stage.hooks.ended) == ({}, {})


def test_a_connection_goes_on_over_a_crash_and_its_end_finds_the_next_life(
    stage: HooksStage,
) -> None:
    stage.run(TCP)
    stage.crash()
    stage.sockets.end()
    stage.play.settle()
    assert stage.failures() == [""]
    assert stage.sockets.begun == []


@pytest.mark.parametrize(
    ("fails", "told"),
    [
        ("before", [CRASHED]),
        ("after", [""]),
        ("at its end", [CRASHED]),
        ("after its end", ["", ""]),
    ],
)
def test_a_hook_is_answered_wherever_the_runner_fails(
    stage: HooksStage, fails: str, told: list[str]
) -> None:
    BuggyRunner.fails = fails
    stage.run(TCP)
    stage.play.advance(1)
    if stage.sockets.begun:
        stage.sockets.end()
    stage.play.advance(100)
    assert stage.failures() == told
    assert stage.hooks.in_hand is None


def test_a_command_over_whose_end_it_failed_is_answered_once(stage: HooksStage) -> None:
    BuggyRunner.fails = "at its end"
    stage.run(ExecAction(command=("true",)))
    stage.play.advance(100)
    assert stage.failures() == [CRASHED]
