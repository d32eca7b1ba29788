"""The state machine of a pod's life, row by row."""

from __future__ import annotations

import pytest

from actors.pods.lifecycle import (
    FINISHED,
    FORGET,
    KEEP,
    RUN,
    Life,
    LifeEvent,
    LifeStep,
    StopStep,
    active_deadline,
    effective_grace,
    shorter,
)
from messages.pod_lives import PodLife
from messages.statuses import PodFailure
from messages.units import Seconds
from tests.support.builders import make_pod

STAGES = (PodLife.SYNC, PodLife.TERMINATING, PodLife.TERMINATED, PodLife.FINISHED)
EVICTED = PodFailure(reason="Evicted", message="low on memory")
LATE = PodFailure(reason="DeadlineExceeded", message="too long")


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        (PodLife.SYNC, LifeEvent.END, PodLife.TERMINATING),
        (PodLife.SYNC, LifeEvent.STOPPED, PodLife.SYNC),
        (PodLife.SYNC, LifeEvent.FORGOTTEN, PodLife.SYNC),
        (PodLife.TERMINATING, LifeEvent.END, PodLife.TERMINATING),
        (PodLife.TERMINATING, LifeEvent.STOPPED, PodLife.TERMINATED),
        (PodLife.TERMINATING, LifeEvent.FORGOTTEN, PodLife.TERMINATING),
        (PodLife.TERMINATED, LifeEvent.END, PodLife.TERMINATED),
        (PodLife.TERMINATED, LifeEvent.STOPPED, PodLife.TERMINATED),
        (PodLife.TERMINATED, LifeEvent.FORGOTTEN, PodLife.FINISHED),
        (PodLife.FINISHED, LifeEvent.END, PodLife.FINISHED),
        (PodLife.FINISHED, LifeEvent.STOPPED, PodLife.FINISHED),
        (PodLife.FINISHED, LifeEvent.FORGOTTEN, PodLife.FINISHED),
    ],
)
def test_a_life_only_goes_forward(before: PodLife, event: LifeEvent, after: PodLife) -> None:
    life = Life(stage=before)
    life.note(event)
    assert life.stage is after
    assert STAGES.index(after) >= STAGES.index(before)


@pytest.mark.parametrize(
    ("stage", "is_leaving", "step"),
    [
        (PodLife.SYNC, False, RUN),
        (PodLife.TERMINATING, False, StopStep(Seconds(30.0))),
        (PodLife.TERMINATING, True, StopStep(Seconds(30.0))),
        (PodLife.TERMINATED, False, KEEP),
        (PodLife.TERMINATED, True, FORGET),
        (PodLife.FINISHED, False, FINISHED),
        (PodLife.FINISHED, True, FINISHED),
    ],
)
def test_each_stage_has_one_step(stage: PodLife, step: LifeStep, *, is_leaving: bool) -> None:
    assert Life(stage=stage, is_leaving=is_leaving).next_step(make_pod()) == step


@pytest.mark.parametrize(
    ("grace", "asked", "then"),
    [
        (None, None, None),
        (None, 10, 10),
        (10, None, 10),
        (10, 20, 10),
        (10, 5, 5),
        (None, 0, None),
        (10, 0, 0),
    ],
)
def test_a_grace_never_grows(grace: Seconds | None, asked: Seconds, then: Seconds) -> None:
    assert shorter(grace, asked) == then


@pytest.mark.parametrize(
    ("asked", "spec", "effective"),
    [
        (None, {}, 30.0),
        (None, {"terminationGracePeriodSeconds": 7}, 7.0),
        (3.0, {"terminationGracePeriodSeconds": 7}, 3.0),
        (0.0, {"terminationGracePeriodSeconds": 7}, 1.0),
        (None, {"terminationGracePeriodSeconds": 0}, 1.0),
        (None, {"terminationGracePeriodSeconds": -5}, 1.0),
        (None, {"terminationGracePeriodSeconds": "soon"}, 30.0),
        (None, {"terminationGracePeriodSeconds": True}, 30.0),
    ],
)
def test_the_grace_is_what_was_asked_for_or_the_pods_own_and_a_second_at_least(
    asked: Seconds | None, spec: dict[str, object], effective: float
) -> None:
    assert effective_grace(asked, make_pod(spec=spec).document) == effective


def test_of_several_failures_the_last_one_counts() -> None:
    life = Life()
    life.end(EVICTED)
    life.end(LATE)
    life.end()
    assert life.failure is LATE


def test_what_comes_after_the_end_changes_neither_failure_nor_grace() -> None:
    life = Life()
    life.end(EVICTED, Seconds(9.0))
    life.note(LifeEvent.STOPPED)
    life.end(LATE, Seconds(1.0))
    assert (life.failure, life.grace) == (EVICTED, 9.0)


def test_a_pod_that_is_not_being_deleted_any_more_goes_all_the_same() -> None:
    life = Life()
    life.note_pod(make_pod(deleting=True))
    life.note_pod(make_pod())
    assert life.is_leaving
    assert life.stage is PodLife.TERMINATING


def test_a_stopped_pod_that_is_deleted_afterwards_is_forgotten() -> None:
    life = Life()
    life.note_pod(make_pod(phase="Succeeded"))
    life.note(LifeEvent.STOPPED)
    assert life.next_step(make_pod()) is KEEP
    life.note_pod(make_pod(deleting=True))
    assert life.next_step(make_pod()) is FORGET


@pytest.mark.parametrize(
    ("spec", "limit"), [({}, None), ({"activeDeadlineSeconds": 5}, 5.0), ({"x": 1}, None)]
)
def test_a_pod_may_name_how_long_it_is_active(spec: dict[str, object], limit: float | None) -> None:
    assert active_deadline(make_pod(spec=spec).document) == limit
