"""A command that the runtime crashes over is lost, and is given once more to its next life."""

import pytest

from messages.pod_lives import PodLife
from messages.pod_runtime import ForgetPod, RunPod, StopPod
from messages.pods import API
from tests.support.pod_lives.lives_stage import LivesStage, api_pod, lives_stage

WEB = api_pod("web")


def fails_over(lives: LivesStage, command: type[RunPod | StopPod | ForgetPod]) -> None:
    """Have the runtime crash over the next command of this type."""
    lives.machine.fails_over = command


def test_a_pod_that_was_to_run_runs() -> None:
    with lives_stage() as lives:
        fails_over(lives, RunPod)
        lives.lists(API, WEB)
        assert lives.machine.running() == []
        lives.play.advance(1.0)
        assert lives.machine.running() == ["web/main"]


@pytest.mark.parametrize("command", [StopPod, ForgetPod])
def test_a_pod_that_was_to_go_goes(command: type[StopPod | ForgetPod]) -> None:
    with lives_stage() as lives:
        lives.lists(API, WEB)
        fails_over(lives, command)
        lives.lists(API)
        assert lives.machine.pods
        lives.play.advance(1.0)
        assert lives.machine.pods == {}
        assert lives.workers() == []


def test_a_pod_that_runs_is_left_alone() -> None:
    with lives_stage() as lives:
        lives.lists(API, WEB)
        lives.crashes("runtime")
        lives.play.advance(1.0)
        assert lives.machine.running() == ["web/main"]
        assert lives.machine.diary.count("start web/main") <= 1
        assert lives.lives() == {WEB.uid: PodLife.SYNC}
