"""What to call next for a pod: one row for each situation."""

from __future__ import annotations

from typing import Any

import pytest

from messages.pod_runtime import ForgetPod, Mark, PodObserved, RunPod, StopPod
from messages.pods import JsonObject, PodPhase
from messages.units import Seconds, Timestamp
from runtimes.provider.following import FollowedPod
from runtimes.provider.plan import (
    Abilities,
    CallProvider,
    ProviderStep,
    Rest,
    WaitUntil,
    next_step,
    pause_after,
)
from runtimes.provider.pods import Method, ProviderPod
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe

WEB = make_pod("web")
ONCE = make_pod("web", spec={"restartPolicy": "Never"})
NOW = 100.0
NOBODY: Probe[PodObserved] = Probe()
RUN = RunPod(pod=WEB, mark=Mark(1, 1), reply_to=NOBODY)
RUN_ONCE = RunPod(pod=ONCE, mark=Mark(1, 1), reply_to=NOBODY)
STOP = StopPod(uid=WEB.uid, mark=Mark(1, 2), reply_to=NOBODY, grace=Seconds(30.0))
FORGET = ForgetPod(uid=WEB.uid, mark=Mark(1, 3), reply_to=NOBODY)
ALIVE = FollowedPod(phase=PodPhase.RUNNING, since=Timestamp(0.0))
ENDED = FollowedPod(phase=PodPhase.FAILED, since=Timestamp(0.0))
OTHER_SPEC: JsonObject = {"containers": []}
ALL = Abilities(update=True, forget=True, node=True)


def step(
    command: RunPod | StopPod | ForgetPod, can: Abilities | None = None, **known: Any
) -> ProviderStep:
    """Return the next step for a pod of which this is known, after the third observation."""
    it = ProviderPod(uid=WEB.uid, command=command, pod=WEB, **known)
    return next_step(it, 3, NOW, can or Abilities())


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, CallProvider(Method.RUN)),
        ({"fresh_from": 4}, Rest.WAITING),
        ({"calls": {1: Method.RUN}}, Rest.WAITING),
        ({"hung": {1: Method.RUN}}, Rest.WAITING),
        ({"hung": {1: Method.RUN}, "is_told": True, "state": ALIVE}, Rest.AS_COMMANDED),
        ({"hung": {1: Method.UPDATE}}, CallProvider(Method.RUN)),
        ({"retry_at": 101.0}, WaitUntil(101.0)),
        ({"retry_at": 99.0}, CallProvider(Method.RUN)),
        ({"is_told": True, "state": ALIVE}, Rest.AS_COMMANDED),
        ({"is_told": True}, Rest.AS_COMMANDED),
        ({"state": ENDED}, Rest.AS_COMMANDED),
        ({"was_run": True}, WaitUntil(110.0)),
        ({"was_run": True, "missing_since": 95.0}, WaitUntil(105.0)),
        ({"was_run": True, "missing_since": 90.0}, CallProvider(Method.RUN)),
        ({"state": ALIVE, "missing_since": 90.0}, CallProvider(Method.RUN)),
        ({"state": ALIVE, "missing_since": 90.0, "retry_at": 105.0}, WaitUntil(105.0)),
    ],
)
def test_a_pod_that_is_to_run(known: dict[str, Any], expected: ProviderStep) -> None:
    assert step(RUN, **known) == expected


def test_a_pod_that_runs_once_and_got_lost_is_lost_and_one_that_never_began_is_not() -> None:
    assert step(RUN_ONCE, state=ALIVE, missing_since=90.0) is Rest.LOST
    assert step(RUN_ONCE, was_run=True, missing_since=90.0) == CallProvider(Method.RUN)


@pytest.mark.parametrize(
    ("can", "known", "expected"),
    [
        (ALL, {"spec_run": OTHER_SPEC}, CallProvider(Method.UPDATE)),
        (ALL, {"spec_run": OTHER_SPEC, "retry_at": 101.0}, WaitUntil(101.0)),
        (ALL, {"spec_run": WEB.document["spec"]}, Rest.AS_COMMANDED),
        (ALL, {}, Rest.AS_COMMANDED),
        (Abilities(), {"spec_run": OTHER_SPEC}, Rest.AS_COMMANDED),
    ],
)
def test_a_pod_whose_specification_changed(
    can: Abilities, known: dict[str, Any], expected: ProviderStep
) -> None:
    assert step(RUN, can, is_told=True, state=ALIVE, **known) == expected


LIVES = {"is_told": True, "state": ALIVE, "stop_by": 130.0}
ASKED = {**LIVES, "stopping_by": 130.0}


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, Rest.AS_COMMANDED),
        (LIVES, CallProvider(Method.STOP, Seconds(30.0))),
        ({**LIVES, "stop_by": 90.0}, CallProvider(Method.STOP, Seconds(1.0))),
        ({"may_be_there": True, "stop_by": 130.0}, CallProvider(Method.STOP, Seconds(30.0))),
        (
            {"is_told": True, "state": ENDED, "stop_by": 130.0},
            CallProvider(Method.STOP, Seconds(30.0)),
        ),
        # Under way.
        ({**ASKED, "calls": {1: Method.STOP}}, Rest.WAITING),
        (
            {**ASKED, "calls": {1: Method.STOP}, "stop_by": 105.0},
            CallProvider(Method.STOP, Seconds(5.0)),
        ),
        ({**ASKED, "calls": {1: Method.STOP, 2: Method.STOP}, "stop_by": 105.0}, Rest.WAITING),
        ({**ASKED, "calls": {1: Method.RUN}, "stop_by": 105.0}, Rest.WAITING),
        # It has returned.
        ({**ASKED, "was_stopped": True}, WaitUntil(140.0)),
        (
            {**ASKED, "was_stopped": True, "stop_by": 105.0},
            CallProvider(Method.STOP, Seconds(5.0)),
        ),
        (
            {**ASKED, "was_stopped": True, "stop_by": 80.0, "stopping_by": 80.0},
            CallProvider(Method.STOP, Seconds(1.0)),
        ),
        ({**ASKED, "was_stopped": True, "is_told": False}, Rest.AS_COMMANDED),
        ({**ASKED, "was_stopped": True, "state": ENDED}, Rest.AS_COMMANDED),
        # No report of it was ever understood: it has its grace.
        ({**ASKED, "was_stopped": True, "state": None}, WaitUntil(130.0)),
        (
            {**ASKED, "was_stopped": True, "state": None, "stop_by": 105.0},
            CallProvider(Method.STOP, Seconds(5.0)),
        ),
        (
            {**ASKED, "was_stopped": True, "state": None, "stop_by": 100.0, "stopping_by": 100.0},
            Rest.AS_COMMANDED,
        ),
        ({**ASKED, "was_stopped": True, "state": None, "is_told": False}, Rest.AS_COMMANDED),
        # It has failed, or hangs.
        ({**ASKED, "retry_at": 102.0}, WaitUntil(102.0)),
        ({**ASKED, "retry_at": 99.0}, CallProvider(Method.STOP, Seconds(30.0))),
        ({**ASKED, "is_told": False, "failures": 1}, Rest.AS_COMMANDED),
        ({**ASKED, "state": ENDED, "failures": 1, "retry_at": 102.0}, WaitUntil(102.0)),
        ({**ASKED, "state": ENDED, "failures": 3}, Rest.AS_COMMANDED),
        ({**ASKED, "hung": {1: Method.STOP}}, CallProvider(Method.STOP, Seconds(30.0))),
        ({**ASKED, "hung": {1: Method.STOP, 2: Method.STOP}}, Rest.WAITING),
        ({**ASKED, "is_told": False, "hung": {1: Method.RUN}}, Rest.WAITING),
    ],
)
def test_a_pod_that_is_to_stop(known: dict[str, Any], expected: ProviderStep) -> None:
    assert step(STOP, **known) == expected


@pytest.mark.parametrize(
    ("can", "known", "expected"),
    [
        (Abilities(), {}, Rest.GONE),
        (ALL, {}, CallProvider(Method.FORGET)),
        (ALL, {"was_forgotten": True}, Rest.GONE),
        (ALL, {"failures": 1, "retry_at": 101.0}, WaitUntil(101.0)),
        (ALL, {"failures": 3}, Rest.GONE),
        (ALL, {"is_told": True, "state": ALIVE}, CallProvider(Method.STOP, Seconds(1.0))),
    ],
)
def test_a_pod_that_is_to_be_forgotten(
    can: Abilities, known: dict[str, Any], expected: ProviderStep
) -> None:
    assert step(FORGET, can, **known) == expected


def test_attempts_are_further_and_further_apart() -> None:
    pauses = [float(pause_after(n)) for n in (1, 2, 3, 6, 7, 8, 1000)]
    assert pauses == [1.0, 2.0, 4.0, 32.0, 60.0, 60.0, 60.0]
