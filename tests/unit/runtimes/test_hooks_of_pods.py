"""When hooks are called: situations of a pod, and the hooks and steps that follow."""

from __future__ import annotations

from typing import Any, Final

import pytest

from messages.container_runtime import PullImage, RunSandbox, StartContainer, StopContainer
from messages.pod_runtime import ContainerObserved, ProbeVerdict
from messages.units import Seconds
from runtimes.containers.contents import HookKey, HookRun
from runtimes.containers.plan import plan, plan_removal, plan_stop
from runtimes.containers.running_steps import LONGEST_POST_START
from runtimes.containers.shape import shape_of
from runtimes.containers.situation import Flight, Plan
from runtimes.lifecycle_hooks.messages import HookKind
from tests.support.builders import make_pod
from tests.support.runtimes.situations import (
    NOW,
    Spec,
    container,
    created,
    dead_sandbox,
    exited,
    hooks,
    running,
    sidecar,
    situation,
    spec_of,
    steps,
    unknown,
    waits,
)

EXEC: Final = {"exec": {"command": ["true"]}}
DUE: Final = HookRun()
SUCCEEDED: Final = HookRun(until=NOW, asked_at=NOW, is_over=True)
FAILED: Final = HookRun(until=NOW, asked_at=NOW, is_over=True, failure="exit code 1")
LONGEST: Final = f"{LONGEST_POST_START:g}"


def with_hooks(name: str, **hooks: Any) -> Any:
    return container(name, lifecycle=hooks or {"postStart": EXEC, "preStop": EXEC})


def pod_of(*regular: Any, inits: tuple[Any, ...] = (), **fields: Any) -> Spec:
    return {"containers": list(regular), "initContainers": list(inits), **fields}


BOTH = pod_of(with_hooks("a"))
FIRST_OF_TWO = pod_of(with_hooks("a", postStart=EXEC), container("b"))
STOPPING = pod_of(with_hooks("a", preStop=EXEC), terminationGracePeriodSeconds=30)
WITH_SIDECARS = pod_of(
    with_hooks("a", preStop=EXEC),
    inits=(
        sidecar("s", lifecycle={"preStop": EXEC}),
        sidecar("t", lifecycle={"postStart": EXEC, "preStop": EXEC}),
    ),
)


def in_progress(seconds: float) -> HookRun:
    """Return a hook that has so many seconds left."""
    return HookRun(until=Seconds(NOW + seconds), asked_at=NOW)


def post_start(run: HookRun, container_id: str = "a-0") -> dict[HookKey, HookRun]:
    return {(container_id, HookKind.POST_START): run}


def pre_stop(run: HookRun, container_id: str = "a-0") -> dict[HookKey, HookRun]:
    return {(container_id, HookKind.PRE_STOP): run}


def planned(spec: Spec, *containers: ContainerObserved, **fields: Any) -> Plan:
    return plan(situation(spec, *containers, **fields))


def stopped(
    spec: Spec, *containers: ContainerObserved, grace: float, least: float = 2.0, **fields: Any
) -> Plan:
    """Return the plan of a stop of which so many seconds are left."""
    now = situation(spec, *containers, **fields)
    return plan_stop(now, Seconds(NOW + grace), Seconds(least))


# --- what a specification says -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lifecycle", "has_hooks"),
    [
        (None, False),
        ({}, False),
        ({"stopSignal": "SIGUSR1"}, False),
        ({"preStop": None}, False),
        ({"postStart": EXEC}, True),
        ({"preStop": {"sleep": {"seconds": 0}}}, True),
    ],
)
def test_a_pod_knows_at_once_whether_it_has_hooks(lifecycle: Any, has_hooks: bool) -> None:  # noqa: FBT001
    shape = shape_of(make_pod(spec={"containers": [container("a", lifecycle=lifecycle)]}))
    assert shape.has_hooks is has_hooks


def test_neither_an_init_container_nor_an_ephemeral_one_has_hooks() -> None:
    spec = {"initContainers": [with_hooks("i")], "ephemeralContainers": [with_hooks("e")]}
    assert not shape_of(make_pod(spec=spec)).has_hooks


# --- postStart -----------------------------------------------------------------------------------------


def test_a_hook_that_is_due_is_called_when_the_container_runs() -> None:
    decided = planned(BOTH, running("a"), hooks=post_start(DUE))
    assert hooks(decided) == [f"call postStart of a-0 within {LONGEST}"]
    assert steps(decided) == []
    assert waits(decided) == {"a": "ContainerCreating"}


@pytest.mark.parametrize("run", [in_progress(100), SUCCEEDED, FAILED])
def test_a_hook_is_called_once(run: HookRun) -> None:
    assert hooks(planned(BOTH, running("a"), hooks=post_start(run)))[:1] in (
        [],
        ["call preStop of a-0 within 30"],
    )


def test_a_container_that_was_found_running_counts_as_started() -> None:
    decided = planned(BOTH, running("a"))
    assert (hooks(decided), steps(decided), waits(decided)) == ([], [], {})


def test_no_hook_is_called_of_a_container_that_was_created_and_not_started() -> None:
    decided = planned(BOTH, created("a"), hooks=post_start(DUE))
    assert (hooks(decided), steps(decided)) == ([], ["start a-0"])


def test_nothing_is_done_with_a_container_while_its_hook_is_in_progress() -> None:
    verdicts = {"a": ProbeVerdict(is_alive=False)}
    decided = planned(BOTH, running("a"), hooks=post_start(in_progress(100)), verdicts=verdicts)
    assert (hooks(decided), steps(decided)) == ([], [])
    assert waits(decided) == {"a": "ContainerCreating"}


def test_a_hook_that_failed_kills_its_container_which_has_its_other_hook_and_its_grace() -> None:
    decided = planned(BOTH, running("a"), hooks=post_start(FAILED))
    assert hooks(decided) == ["call preStop of a-0 within 30"]
    assert decided.hooks[0].why == "FailedPostStartHook"
    only_first = pod_of(with_hooks("a", postStart=EXEC))
    decided = planned(only_first, running("a"), hooks=post_start(FAILED))
    assert [(step.why, step.replaces) for step in decided.steps] == [("FailedPostStartHook", "")]
    assert steps(decided) == ["stop a-0 within 30"]


def test_a_hook_whose_end_nobody_told_has_failed_after_a_day() -> None:
    late = planned(BOTH, running("a"), hooks=post_start(in_progress(-2)))
    assert hooks(late) == ["call preStop of a-0 within 30"]


@pytest.mark.parametrize(
    ("containers", "fields", "expected"),
    [
        ([], {}, ["create a-0"]),
        ([created("a")], {}, ["start a-0"]),
        ([created("a")], {"busy": {"a": Flight(StartContainer(id="a-0"), NOW)}}, []),
        ([running("a")], {"hooks": post_start(DUE)}, []),
        ([running("a")], {"hooks": post_start(in_progress(9))}, []),
        ([running("a")], {"hooks": post_start(SUCCEEDED)}, ["create b-0"]),
        ([running("a")], {"hooks": post_start(FAILED)}, ["stop a-0 within 30", "create b-0"]),
        ([running("a")], {}, ["create b-0"]),
        (
            [running("a")],
            {"busy": {"a": Flight(StopContainer(id="a-0", grace=Seconds(30)), NOW)}},
            ["create b-0"],
        ),
    ],
)
def test_regular_containers_wait_for_the_hook_of_one_before_them_as_a_kubelet_makes_them(
    containers: Any, fields: Any, expected: list[str]
) -> None:
    assert steps(planned(FIRST_OF_TWO, *containers, **fields)) == expected


def test_regular_containers_wait_for_the_image_of_one_with_a_hook_before_them() -> None:
    now = situation(FIRST_OF_TWO)
    pull = Flight(PullImage(image="x", pod=now.pod), NOW)
    assert steps(planned(FIRST_OF_TWO, busy={"a": pull})) == []


def test_nobody_waits_for_the_hook_of_a_container_behind_it() -> None:
    spec = pod_of(container("a"), with_hooks("b", postStart=EXEC))
    assert steps(planned(spec)) == ["create a-0", "create b-0"]
    run = post_start(in_progress(9), "b-0")
    assert steps(planned(spec, exited("a", 1), running("b"), hooks=run)) == ["create a-1"]


def test_what_is_behind_a_sidecar_waits_for_its_hook() -> None:
    inits = (sidecar("s", lifecycle={"postStart": EXEC}), container("i"))
    spec = pod_of(container("a"), inits=inits)
    for run in (DUE, in_progress(9)):
        assert steps(planned(spec, running("s"), hooks=post_start(run, "s-0"))) == []
    decided = planned(spec, running("s"), hooks=post_start(SUCCEEDED, "s-0"))
    assert steps(decided) == ["create i-0"]


# --- preStop -------------------------------------------------------------------------------------------


def test_the_hook_comes_before_the_end_and_has_the_whole_grace() -> None:
    decided = stopped(STOPPING, running("a"), grace=30)
    assert hooks(decided) == ["call preStop of a-0 within 30"]
    assert decided.hooks[0].why == "Stopping container a"
    assert steps(decided) == []


def test_the_container_has_after_its_hook_what_is_left_of_the_grace() -> None:
    over = pre_stop(HookRun(until=Seconds(NOW + 21), asked_at=NOW, is_over=True))
    decided = stopped(STOPPING, running("a"), grace=21, hooks=over)
    assert steps(decided) == ["stop a-0 within 21"]
    assert decided.steps[0].why == ""  # it was said when the hook was called


@pytest.mark.parametrize("grace", [1.5, 0.0])
def test_the_container_has_two_seconds_at_least_after_its_hook(grace: float) -> None:
    decided = stopped(STOPPING, running("a"), grace=grace, hooks=pre_stop(FAILED))
    assert steps(decided) == ["stop a-0 within 2"]


def test_these_two_seconds_are_not_shortened_by_the_grace_that_is_used_up() -> None:
    busy = {"a": Flight(StopContainer(id="a-0", grace=Seconds(2)), Seconds(NOW - 1))}
    decided = stopped(STOPPING, running("a"), grace=0, hooks=pre_stop(FAILED), busy=busy)
    assert steps(decided) == []


def test_nothing_is_done_while_the_hook_is_in_progress_but_to_wait_for_its_deadline() -> None:
    decided = stopped(STOPPING, running("a"), grace=1, hooks=pre_stop(in_progress(1)))
    assert (hooks(decided), steps(decided)) == ([], [])
    assert decided.wake_at == NOW + 3


@pytest.mark.parametrize("kind", HookKind)
def test_the_end_of_a_hook_is_asked_for_again_and_again(kind: HookKind) -> None:
    fresh = {("a-0", kind): in_progress(100)}
    assert planned(BOTH, running("a"), hooks=fresh).wake_at == NOW + 5
    old = {("a-0", kind): HookRun(until=Seconds(NOW + 100), asked_at=Seconds(NOW - 5))}
    decided = planned(BOTH, running("a"), hooks=old)
    assert hooks(decided) == [f"call {kind} of a-0 within 100"]
    assert (steps(decided), decided.wake_at) == ([], NOW + 5)


def test_a_hook_whose_end_nobody_told_does_not_hold_up_the_stop() -> None:
    decided = stopped(STOPPING, running("a"), grace=0, hooks=pre_stop(in_progress(-2)))
    assert steps(decided) == ["stop a-0 within 2"]


def test_a_shorter_grace_shortens_the_hook_and_a_longer_one_changes_nothing() -> None:
    shorter = stopped(STOPPING, running("a"), grace=2, hooks=pre_stop(in_progress(20)))
    assert hooks(shorter) == ["shorten preStop of a-0 within 2"]
    assert shorter.wake_at == NOW + 4
    longer = stopped(STOPPING, running("a"), grace=60, hooks=pre_stop(in_progress(2)))
    assert (hooks(longer), longer.wake_at) == ([], NOW + 4)


def test_a_stop_without_grace_calls_no_hook_and_gives_up_one_in_progress() -> None:
    at_once = stopped(STOPPING, running("a"), grace=0, least=0)
    assert (hooks(at_once), steps(at_once)) == ([], ["stop a-0 within 0"])
    run = pre_stop(in_progress(20))
    given_up = stopped(STOPPING, running("a"), grace=0, least=0, hooks=run)
    assert hooks(given_up) == ["shorten preStop of a-0 within 0"]
    assert steps(given_up) == ["stop a-0 within 0"]


@pytest.mark.parametrize("instance", [created("a"), exited("a"), unknown("a")])
def test_no_hook_is_called_of_a_container_that_does_not_run(instance: ContainerObserved) -> None:
    assert hooks(stopped(STOPPING, instance, grace=30)) == []


def test_no_hook_is_called_while_something_else_is_done_with_the_container() -> None:
    busy = {"a": Flight(StopContainer(id="a-0", grace=Seconds(9)), NOW)}
    assert hooks(stopped(STOPPING, running("a"), grace=30, busy=busy)) == []


def test_a_pod_that_is_forgotten_while_it_runs_has_its_hooks_for_a_second() -> None:
    now = situation(STOPPING, running("a"))
    assert hooks(plan_removal(now, Seconds(NOW + 1))) == ["call preStop of a-0 within 1"]
    now = situation(STOPPING, running("a"), hooks=pre_stop(in_progress(0)))
    assert steps(plan_removal(now, NOW)) == ["stop a-0 within 0"]


def test_all_hooks_are_called_at_once_those_of_sidecars_too_as_by_a_kubelet() -> None:
    decided = stopped(WITH_SIDECARS, running("a"), running("s"), running("t"), grace=30)
    assert hooks(decided) == [
        "call preStop of a-0 within 30",
        "call preStop of s-0 within 30",
        "call preStop of t-0 within 30",
    ]


def test_sidecars_are_stopped_last_in_reverse_order_each_after_its_own_hook() -> None:
    over = pre_stop(SUCCEEDED) | pre_stop(SUCCEEDED, "s-0") | pre_stop(SUCCEEDED, "t-0")
    late = over | pre_stop(in_progress(9), "t-0")
    three = (running("a"), running("s"), running("t"))
    assert steps(stopped(WITH_SIDECARS, *three, grace=9, hooks=over)) == ["stop a-0 within 2"]
    two = (exited("a"), running("s"), running("t"))
    assert steps(stopped(WITH_SIDECARS, *two, grace=9, hooks=late)) == []
    assert steps(stopped(WITH_SIDECARS, *two, grace=9, hooks=over)) == ["stop t-0 within 2"]
    one = (exited("a"), running("s"), exited("t"))
    assert steps(stopped(WITH_SIDECARS, *one, grace=9, hooks=over)) == ["stop s-0 within 2"]


def test_a_shorter_grace_shortens_the_hooks_of_sidecars_whose_turn_has_not_come() -> None:
    runs = pre_stop(in_progress(30)) | pre_stop(in_progress(30), "s-0")
    decided = stopped(WITH_SIDECARS, running("a"), running("s"), grace=5, hooks=runs)
    assert hooks(decided) == [
        "shorten preStop of a-0 within 5",
        "shorten preStop of s-0 within 5",
    ]


def test_sidecars_of_a_pod_that_has_ended_have_their_hooks() -> None:
    spec = {**WITH_SIDECARS, "restartPolicy": "Never"}
    decided = planned(spec, exited("a"), running("s"))
    assert hooks(decided) == ["call preStop of s-0 within 30"]


def test_what_still_runs_in_a_dead_sandbox_has_its_hook() -> None:
    now = situation(STOPPING, contents=(dead_sandbox(running("a")),))
    assert hooks(plan(now)) == ["call preStop of a-0 within 30"]
    assert not any(isinstance(step.request, RunSandbox) for step in plan(now).steps)


# --- preStop of a container that is replaced -----------------------------------------------------------

LIVENESS = {"livenessProbe": {"exec": {}, "terminationGracePeriodSeconds": 7}}
PROBED = pod_of(container("a", lifecycle={"preStop": EXEC}, **LIVENESS))
DEAD = {"a": ProbeVerdict(is_alive=False)}


def test_a_container_that_failed_its_liveness_probe_has_its_hook_within_the_probes_grace() -> None:
    decided = planned(PROBED, running("a"), verdicts=DEAD)
    assert hooks(decided) == ["call preStop of a-0 within 7"]
    (step,) = decided.hooks
    assert step.why == "Container a failed liveness probe, will be restarted"
    assert step.replaces == "a-0"


def test_a_container_whose_hook_was_called_is_stopped_whatever_probes_say_since() -> None:
    waiting = planned(PROBED, running("a"), hooks=pre_stop(in_progress(3)))
    assert (hooks(waiting), steps(waiting), waiting.wake_at) == ([], [], NOW + 5)
    ended = HookRun(until=Seconds(NOW + 3), asked_at=NOW, is_over=True)
    assert steps(planned(PROBED, running("a"), hooks=pre_stop(ended))) == ["stop a-0 within 3"]


def test_a_container_of_another_image_has_its_hook() -> None:
    decided = planned(STOPPING, running("a", spec_hash="12345678"))
    assert hooks(decided) == ["call preStop of a-0 within 30"]
    assert decided.hooks[0].why == "Container a definition changed, will be restarted"


def test_a_container_that_is_not_in_the_specification_any_more_has_no_hook() -> None:
    decided = planned(STOPPING, running("a"), running("b"))
    assert (hooks(decided), steps(decided)) == ([], ["stop b-0 within 30"])


def test_a_pod_without_hooks_is_stopped_as_ever() -> None:
    decided = stopped(spec_of("a"), running("a"), grace=30)
    assert (hooks(decided), steps(decided)) == ([], ["stop a-0 within 30"])


@pytest.mark.parametrize(("grace", "expected"), [(0.0, "2"), (1.9, "2"), (2.0, "2"), (5.0, "5")])
def test_a_grace_that_gets_shorter_after_the_hook_leaves_two_seconds(
    grace: float, expected: str
) -> None:
    under_way = {"a": Flight(StopContainer(id="a-0", grace=Seconds(30.0)), NOW)}
    called = pre_stop(SUCCEEDED)
    decided = stopped(STOPPING, running("a"), grace=grace, hooks=called, busy=under_way)
    assert steps(decided) == [f"stop a-0 within {expected}"]
