"""What ``messages/pod_runtime.py`` says of every runtime of pods: one suite for all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import pytest

from messages.objects import ObjectKind
from messages.pod_runtime import (
    ContainersSignalled,
    ContainerState,
    Mark,
    PodObserved,
    SandboxState,
    SignalContainers,
    UsedObject,
)
from messages.pods import Pod
from tests.support.canary import hidden
from tests.support.containers.fixtures import REAL
from tests.support.kernel.probe import Probe
from tests.support.kernel.schedule import Schedule
from tests.support.runtimes.cri_under_test import real_containers_under_test
from tests.support.runtimes.pod_runtimes import POD_RUNTIMES, PodRuntimeUnderTest, pod_that

RUNS, STUBBORN, FAILS = pod_that("runs"), pod_that("stubborn"), pod_that("fails")
each_runtime = pytest.mark.parametrize("which", sorted(POD_RUNTIMES))


@pytest.fixture(params=[*sorted(POD_RUNTIMES), REAL])
def runtime(request: pytest.FixtureRequest) -> Iterator[PodRuntimeUnderTest]:
    if request.param == "cri":
        with real_containers_under_test(request.getfixturevalue("containerd")) as under_test:
            yield under_test
    else:
        with POD_RUNTIMES[request.param](None) as under_test:
            yield under_test


def state_of(told: PodObserved) -> ContainerState | None:
    """Return the state of container ``main``; None if it has none."""
    history = told.containers.get("main")
    return None if history is None or history.current is None else history.current.state


def instance_of(told: PodObserved) -> tuple[str, int]:
    """Return the id and the number of the instance of container ``main``."""
    current = told.containers["main"].current
    assert current is not None
    return current.id, current.attempt


def shows(runtime: PodRuntimeUnderTest, pod: Pod, state: ContainerState, mark: Mark) -> bool:
    """Return whether a pod is told with the mark of a command, and its container in a state."""
    return runtime.is_told(pod, mark) and state_of(runtime.last(pod)) is state


def begun(runtime: PodRuntimeUnderTest, pod: Pod) -> Mark:
    """Have a pod run, and return the mark of the command once its container runs."""
    mark = runtime.run(pod)
    runtime.eventually(lambda: shows(runtime, pod, ContainerState.RUNNING, mark), within=0.1)
    return mark


def await_the_end(runtime: PodRuntimeUnderTest, pod: Pod, within: float) -> None:
    """Return once nothing of a pod runs, and that is told."""
    runtime.eventually(
        lambda: not runtime.lives(pod) and not runtime.last(pod).is_running, within=within
    )


def await_mark(runtime: PodRuntimeUnderTest, pod: Pod, mark: Mark, within: float = 5.0) -> None:
    """Return once a pod is told with the mark of a command."""
    runtime.eventually(lambda: runtime.is_told(pod, mark), within=within)


# --- commands ------------------------------------------------------------------------------------------


def test_a_pod_that_is_to_run_runs_and_is_told_with_the_mark_of_the_command(
    runtime: PodRuntimeUnderTest,
) -> None:
    mark = begun(runtime, RUNS)
    told = runtime.last(RUNS)
    assert (told.uid, told.mark, state_of(told)) == (RUNS.uid, mark, ContainerState.RUNNING)
    assert told.is_running
    assert told.troubles == ()
    assert runtime.lives(RUNS)


def test_the_same_command_again_starts_nothing_anew(runtime: PodRuntimeUnderTest) -> None:
    mark = begun(runtime, RUNS)
    before = runtime.last(RUNS)
    runtime.run(RUNS, mark)
    runtime.pass_time(5.0)
    assert runtime.last(RUNS) == before
    assert runtime.starts(RUNS) == 1


def test_every_mark_is_told_though_nothing_else_changed(runtime: PodRuntimeUnderTest) -> None:
    begun(runtime, RUNS)
    before = instance_of(runtime.last(RUNS))
    for _ in range(3):
        mark = runtime.run(RUNS)
        await_mark(runtime, RUNS, mark, within=0.1)
        assert instance_of(runtime.last(RUNS)) == before
    assert runtime.starts(RUNS) == 1


def test_a_command_with_a_smaller_mark_is_ignored(runtime: PodRuntimeUnderTest) -> None:
    newest = runtime.run(RUNS, Mark(2, 5))
    runtime.stop(RUNS, mark=Mark(2, 4))
    runtime.stop(RUNS, mark=Mark(1, 99))
    runtime.pass_time(40.0)
    assert runtime.lives(RUNS)
    assert runtime.last(RUNS).mark == newest


def test_a_stopped_pod_is_told_with_the_mark_of_the_stop_once_nothing_runs(
    runtime: PodRuntimeUnderTest,
) -> None:
    run = begun(runtime, STUBBORN)
    stop = runtime.stop(STUBBORN, grace=10.0)
    runtime.pass_time(5.0)
    assert {each.mark for each in runtime.told(STUBBORN)} <= {run}
    assert runtime.lives(STUBBORN)
    await_mark(runtime, STUBBORN, stop, within=8.0)
    assert not runtime.last(STUBBORN).is_running
    assert not runtime.lives(STUBBORN)


def test_a_shorter_grace_counts_and_a_longer_one_changes_nothing(
    runtime: PodRuntimeUnderTest,
) -> None:
    begun(runtime, STUBBORN)
    runtime.stop(STUBBORN, grace=10_000.0)
    runtime.stop(STUBBORN, grace=10.0)
    last = runtime.stop(STUBBORN, grace=10_000.0)
    await_mark(runtime, STUBBORN, last, within=15.0)
    assert not runtime.lives(STUBBORN)


def test_what_is_being_stopped_never_starts_again_until_it_is_forgotten(
    runtime: PodRuntimeUnderTest,
) -> None:
    begun(runtime, RUNS)
    runtime.stop(RUNS)
    await_the_end(runtime, RUNS, within=5.0)
    runtime.run(RUNS)
    runtime.pass_time(60.0)
    assert not runtime.lives(RUNS)
    assert not runtime.last(RUNS).is_running
    await_mark(runtime, RUNS, runtime.forget(RUNS))
    begun(runtime, RUNS)


def test_a_run_while_it_is_being_stopped_does_not_save_it(runtime: PodRuntimeUnderTest) -> None:
    begun(runtime, STUBBORN)
    runtime.stop(STUBBORN, grace=5.0)
    runtime.run(STUBBORN)
    await_the_end(runtime, STUBBORN, within=30.0)
    runtime.pass_time(30.0)
    assert not runtime.lives(STUBBORN)
    assert runtime.last(STUBBORN).is_running is False


def test_nothing_is_left_of_a_forgotten_pod(runtime: PodRuntimeUnderTest) -> None:
    begun(runtime, RUNS)
    runtime.stop(RUNS)
    await_the_end(runtime, RUNS, within=5.0)
    forgotten = runtime.forget(RUNS)
    await_mark(runtime, RUNS, forgotten)
    assert runtime.last(RUNS) == PodObserved(uid=RUNS.uid, mark=forgotten)
    assert runtime.listed() == []
    again = runtime.forget(RUNS)
    await_mark(runtime, RUNS, again)
    assert runtime.last(RUNS) == PodObserved(uid=RUNS.uid, mark=again)


def test_a_pod_that_is_forgotten_while_it_runs_is_stopped_first(
    runtime: PodRuntimeUnderTest,
) -> None:
    begun(runtime, STUBBORN)
    forgotten = runtime.forget(STUBBORN)
    await_mark(runtime, STUBBORN, forgotten, within=30.0)
    assert not runtime.lives(STUBBORN)
    assert runtime.last(STUBBORN) == PodObserved(uid=STUBBORN.uid, mark=forgotten)


def test_a_pod_that_is_not_known_is_stopped_and_forgotten_already(
    runtime: PodRuntimeUnderTest,
) -> None:
    await_mark(runtime, RUNS, runtime.stop(RUNS), within=2.0)
    assert not runtime.last(RUNS).is_running
    forgotten = runtime.forget(RUNS)
    await_mark(runtime, RUNS, forgotten, within=2.0)
    assert runtime.last(RUNS) == PodObserved(uid=RUNS.uid, mark=forgotten)
    assert runtime.starts(RUNS) == 0


def test_who_commanded_last_is_told(runtime: PodRuntimeUnderTest) -> None:
    begun(runtime, FAILS)
    former, runtime.worker = runtime.worker, Probe()
    former.drain()
    mark = runtime.run(FAILS)
    runtime.eventually(lambda: shows(runtime, FAILS, ContainerState.EXITED, mark), within=5.0)
    assert former.drain() == []


# --- what happens by itself ----------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "code"), [("completes", 0), ("fails", 3)])
def test_an_end_is_told_without_a_question(
    runtime: PodRuntimeUnderTest, kind: str, code: int
) -> None:
    pod = pod_that(kind)
    mark = begun(runtime, pod)
    runtime.eventually(lambda: shows(runtime, pod, ContainerState.EXITED, mark), within=4.0)
    told = runtime.last(pod)
    current = told.containers["main"].current
    assert current is not None
    assert (told.mark, current.state, current.exit_code) == (mark, ContainerState.EXITED, code)
    assert runtime.starts(pod) == 1


def test_whether_signals_were_sent_is_answered_once_and_changes_nothing(
    runtime: PodRuntimeUnderTest,
) -> None:
    begun(runtime, RUNS)
    before = runtime.last(RUNS)
    instance, _ = instance_of(before)
    for _ in range(2):
        answers: Probe[ContainersSignalled] = Probe()
        runtime.tell(
            SignalContainers(
                uid=RUNS.uid,
                signal="SIGURG",
                instances={"main": instance, "other": "of-another-time"},
                reply_to=answers,
                ref=7,
            )
        )
        (told,) = runtime.answers(answers)
        assert (told.uid, told.ref) == (RUNS.uid, 7)
        assert "other" in told.failures
    assert instance_of(runtime.last(RUNS)) == instance_of(before)


def test_nothing_is_told_while_nothing_changes(runtime: PodRuntimeUnderTest) -> None:
    begun(runtime, RUNS)
    runtime.pass_time(5.0)
    runtime.told(RUNS)
    runtime.pass_time(600.0)
    assert runtime.told(RUNS) == []


def test_a_pod_that_cannot_run_says_why_and_harms_no_neighbour(
    runtime: PodRuntimeUnderTest,
) -> None:
    impossible = pod_that("impossible")
    mark = runtime.run(impossible)
    begun(runtime, RUNS)

    def says_why() -> bool:
        if not runtime.is_told(impossible, mark):
            return False
        told = runtime.last(impossible)
        waits = [each.wait for each in told.containers.values()]
        said = [each.message for each in (*waits, *told.troubles) if each is not None]
        return any(runtime.why_impossible in sentence for sentence in said)

    runtime.eventually(says_why, within=5.0)
    assert not runtime.lives(impossible)
    await_mark(runtime, impossible, runtime.stop(impossible))


def test_values_of_secrets_are_told_to_nobody(runtime: PodRuntimeUnderTest) -> None:
    secret = hidden("password").encode()
    for pod in (RUNS, pod_that("impossible")):
        runtime.run(pod, secret=secret)
        runtime.pass_time(5.0)
        assert secret.decode() not in repr(runtime.last(pod))
    assert secret.decode() not in repr(runtime.described())


# --- what there is -------------------------------------------------------------------------------------


def test_a_container_tells_the_versions_that_its_variables_were_made_from(
    runtime: PodRuntimeUnderTest,
) -> None:
    def used() -> tuple[UsedObject, ...]:
        current = runtime.last(pod).containers["main"].current
        return current.variables_from if current is not None else ()

    document = RUNS.document
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    variable = {"name": "K", "valueFrom": source}
    (main,) = document["spec"]["containers"]
    spec = {**document["spec"], "containers": [{**main, "env": [variable]}]}
    pod = Pod.of({**document, "spec": spec})
    mark = runtime.run(pod, secret=b"old", version="1")
    runtime.eventually(lambda: shows(runtime, pod, ContainerState.RUNNING, mark), within=0.1)
    assert used() == (UsedObject(ObjectKind.SECRET, "s", "1"),)
    await_mark(runtime, pod, runtime.run(pod, secret=b"new", version="2"))
    assert used() == (UsedObject(ObjectKind.SECRET, "s", "1"),)


def test_pods_are_listed_with_whose_they_are(runtime: PodRuntimeUnderTest) -> None:
    assert runtime.listed() == []
    begun(runtime, RUNS)
    mark = begun(runtime, FAILS)
    runtime.eventually(lambda: shows(runtime, FAILS, ContainerState.EXITED, mark), within=5.0)
    fails, runs = runtime.listed()
    assert (runs.uid, runs.namespace, runs.name, runs.source) == (
        *(RUNS.uid, "default", "runs"),
        "file",
    )
    assert (runs.is_running, runs.running_containers) == (True, 1)
    assert runs.started_at is not None
    assert (fails.name, fails.running_containers) == ("fails", 0)


def test_it_describes_itself(runtime: PodRuntimeUnderTest) -> None:
    begun(runtime, RUNS)
    runtime.pass_time(2.0)
    described = runtime.described()
    assert described.name
    assert described.trouble == ""
    assert [pod.uid for pod in described.pods] == [RUNS.uid]
    assert described.containers[ContainerState.RUNNING] == 1


# --- crashes -------------------------------------------------------------------------------------------


def test_a_crash_of_the_runtime_disturbs_nothing_and_is_followed_by_the_state(
    runtime: PodRuntimeUnderTest,
) -> None:
    mark = begun(runtime, RUNS)
    before = instance_of(runtime.last(RUNS))
    runtime.crash()
    runtime.eventually(lambda: bool(runtime.told(RUNS)), within=2.0)
    told = runtime.last(RUNS)
    assert (told.mark, instance_of(told)) == (mark, before)
    assert runtime.starts(RUNS) == 1


def test_what_ended_during_a_crash_is_told_after_it(runtime: PodRuntimeUnderTest) -> None:
    mark = begun(runtime, FAILS)
    runtime.pass_time(1.5)
    runtime.crash()
    runtime.eventually(lambda: shows(runtime, FAILS, ContainerState.EXITED, mark), within=5.0)


def test_a_stop_outlives_a_crash_with_its_grace(runtime: PodRuntimeUnderTest) -> None:
    begun(runtime, STUBBORN)
    stop = runtime.stop(STUBBORN, grace=10.0)
    runtime.crash()
    await_mark(runtime, STUBBORN, stop, within=15.0)
    assert not runtime.lives(STUBBORN)


def test_a_worker_that_gives_its_command_again_disturbs_nothing(
    runtime: PodRuntimeUnderTest,
) -> None:
    begun(runtime, RUNS)
    before = instance_of(runtime.last(RUNS))
    runtime.begin_new_incarnation()
    mark = begun(runtime, RUNS)
    told = runtime.last(RUNS)
    assert (told.mark, instance_of(told), runtime.starts(RUNS)) == (mark, before, 1)


def test_pods_that_nobody_commanded_are_left_alone_and_listed(
    runtime: PodRuntimeUnderTest,
) -> None:
    begun(runtime, RUNS)
    runtime.pass_time(2.0)
    runtime.all_told()
    runtime.restart()
    runtime.pass_time(60.0)
    assert runtime.lives(RUNS)
    assert runtime.all_told() == []
    assert [(pod.uid, pod.is_running) for pod in runtime.listed()] == [(RUNS.uid, True)]


def test_an_agent_that_starts_again_goes_on_with_what_runs(runtime: PodRuntimeUnderTest) -> None:
    begun(runtime, RUNS)
    runtime.restart()
    runtime.begin_new_incarnation()
    begun(runtime, RUNS)
    assert runtime.starts(RUNS) == 1


def test_a_pod_that_only_the_runtime_knows_can_be_stopped_and_forgotten(
    runtime: PodRuntimeUnderTest,
) -> None:
    begun(runtime, RUNS)
    runtime.restart()
    runtime.begin_new_incarnation()
    await_mark(runtime, RUNS, runtime.stop(RUNS, grace=1.0))
    assert not runtime.lives(RUNS)
    forgotten = runtime.forget(RUNS)
    await_mark(runtime, RUNS, forgotten)
    assert runtime.last(RUNS) == PodObserved(uid=RUNS.uid, mark=forgotten)
    assert runtime.listed() == []


# --- not knowing ---------------------------------------------------------------------------------------


def test_a_runtime_that_cannot_see_says_so_beside_its_last_knowledge(
    runtime: PodRuntimeUnderTest,
) -> None:
    begun(runtime, RUNS)
    before = runtime.last(RUNS)
    runtime.go_blind()
    runtime.eventually(lambda: bool(runtime.last(RUNS).troubles), within=0.1)
    told = runtime.last(RUNS)
    assert (told.mark, told.containers) == (before.mark, before.containers)
    assert runtime.described().trouble
    runtime.see_again()
    runtime.eventually(lambda: not runtime.last(RUNS).troubles, within=0.1)
    assert instance_of(runtime.last(RUNS)) == instance_of(before)
    assert runtime.described().trouble == ""
    assert runtime.starts(RUNS) == 1


def test_pods_are_not_listed_before_they_are_seen(runtime: PodRuntimeUnderTest) -> None:
    begun(runtime, RUNS)
    runtime.go_blind()
    answers = runtime.ask_list()
    runtime.pass_time(2.0)
    assert answers.drain() == []
    runtime.see_again()
    (answer,) = runtime.answers(answers)
    assert [pod.uid for pod in answer.pods] == [RUNS.uid]


def test_each_life_tells_what_there_is_to_whoever_asked_once(runtime: PodRuntimeUnderTest) -> None:
    begun(runtime, RUNS)
    answers = runtime.ask_list()
    (before,) = runtime.answers(answers)
    runtime.crash()
    (after,) = runtime.answers(answers)
    assert [pod.uid for pod in after.pods] == [RUNS.uid]
    assert after.life > before.life


# --- a crash at any step -------------------------------------------------------------------------------


def story(runtime: PodRuntimeUnderTest) -> dict[str, object]:
    """Run, end, stop and forget pods, and return how it ended."""
    for pod in (RUNS, FAILS, STUBBORN):
        runtime.run(pod)
    runtime.pass_time(4.0)
    runtime.stop(STUBBORN, grace=3.0)
    runtime.pass_time(6.0)
    for pod in (RUNS, FAILS, STUBBORN):  # as their workers would, who miss an answer
        if pod is not STUBBORN:
            runtime.run(pod)
    runtime.stop(STUBBORN, grace=3.0)
    runtime.pass_time(40.0)
    ended = {pod.name: _seen(runtime, pod) for pod in (RUNS, FAILS, STUBBORN)}
    runtime.forget(STUBBORN)
    runtime.forget(STUBBORN)
    runtime.pass_time(10.0)
    return {
        **ended,
        "forgotten": _seen(runtime, STUBBORN),
        "listed": [(pod.name, pod.is_running) for pod in runtime.listed()],
        "starts": [runtime.starts(pod) for pod in (RUNS, FAILS)],
    }


def _seen(runtime: PodRuntimeUnderTest, pod: Pod) -> tuple[object, ...]:
    told = runtime.last(pod)
    sandbox = None if told.sandbox is None else told.sandbox.state
    return told.mark, state_of(told), sandbox is SandboxState.READY, told.troubles


@each_runtime
@pytest.mark.parametrize("seed", range(2))
def test_a_crash_at_any_step_changes_nothing_in_the_end(which: str, seed: int) -> None:
    undisturbed = Schedule(seed)
    with POD_RUNTIMES[which](undisturbed) as under_test:
        expected, victims = story(under_test), under_test.victims
    steps = undisturbed.taken
    assert steps > 50
    crashed = 0
    for victim, at in itertools.product(victims, range(1, steps)):
        schedule = Schedule(seed)
        schedule.crash_at = at
        with POD_RUNTIMES[which](schedule) as under_test:
            schedule.crash = partial(under_test.put_crash, victim)
            assert story(under_test) == expected, f"{victim.path} at step {at} of {steps}"
            crashed += len(under_test.play.endings)
    assert crashed > 0.7 * steps * len(victims)
