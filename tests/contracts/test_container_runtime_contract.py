"""What ``runtimes.containers`` relies on in every runtime of containers: one suite for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from messages.container_runtime import (
    ContainersAre,
    FindImage,
    FollowContainers,
    ImageFound,
    LookAtPod,
    PodContainersAre,
    PullImage,
    RemoveContainer,
    RemoveSandbox,
    ResizeContainer,
    RunSandbox,
    RuntimeFact,
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeOutcome,
    SignalContainer,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxState
from messages.pods import Pod
from messages.units import Seconds
from tests.support.containers.fixtures import REAL
from tests.support.kernel.probe import Probe
from tests.support.runtimes.container_runtimes import (
    CONTAINER_RUNTIMES,
    IMAGE,
    NO_IMAGE,
    ContainerRuntimeUnderTest,
    creation_of,
    pod_of_each,
)
from tests.support.runtimes.cri_under_test import cri_under_test

POD = pod_of_each()
RUNNING, EXITED = ContainerState.RUNNING, ContainerState.EXITED


@pytest.fixture(params=[*sorted(CONTAINER_RUNTIMES), REAL])
def runtime(request: pytest.FixtureRequest) -> Iterator[ContainerRuntimeUnderTest]:
    if request.param == "cri":
        with cri_under_test(request.getfixturevalue("containerd")) as under_test:
            yield under_test
    else:
        with CONTAINER_RUNTIMES[request.param]() as under_test:
            yield under_test


def beginning(follower: Probe[RuntimeFact]) -> ContainersAre:
    """Return the first fact that a follower is told."""
    fact = follower.next()
    assert isinstance(fact, ContainersAre)
    return fact


def told_of(follower: Probe[RuntimeFact], pod: Pod) -> list[PodContainersAre]:
    """Return what the follower was told of one pod since the last look."""
    facts = follower.drain()
    assert all(isinstance(fact, PodContainersAre) for fact in facts), facts
    return [fact for fact in facts if isinstance(fact, PodContainersAre) and fact.uid == pod.uid]


def not_started(outcome: RuntimeOutcome) -> bool:
    """Return whether a start was refused: by a failure, or by a container that has ended for it."""
    if isinstance(outcome, ContainerObserved):
        return (outcome.state, outcome.reason) == (EXITED, "StartError")
    return isinstance(outcome, RuntimeFailure)


# --- sandboxes -----------------------------------------------------------------------------------------


def test_a_sandbox_that_was_made_is_ready_and_says_whose_it_is(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    made = runtime.sandbox(POD)
    assert made.state is SandboxState.READY
    assert made.ips
    (seen,) = runtime.seen(POD)
    assert seen.sandbox == made
    said = (seen.pod.uid, seen.pod.namespace, seen.pod.name, seen.pod.source)
    assert said == (POD.uid, "default", "web", "file")
    assert seen.containers == ()


def test_the_newest_sandbox_of_a_pod_comes_first(runtime: ContainerRuntimeUnderTest) -> None:
    first = runtime.sandbox(POD)
    runtime.call(StopSandbox(id=first.id))
    second = runtime.sandbox(POD, attempt=1)
    seen = [(each.sandbox.id, each.sandbox.state) for each in runtime.seen(POD)]
    assert seen == [(second.id, SandboxState.READY), (first.id, SandboxState.NOT_READY)]


def test_two_pods_have_different_addresses_and_ids(runtime: ContainerRuntimeUnderTest) -> None:
    one, two = runtime.sandbox(POD), runtime.sandbox(pod_of_each("other"))
    assert one.id != two.id
    assert not {*one.ips} & {*two.ips}


def test_an_attempt_that_there_is_already_is_refused(runtime: ContainerRuntimeUnderTest) -> None:
    runtime.sandbox(POD)
    assert runtime.failure(RunSandbox(pod=POD, attempt=0)).message
    assert len(runtime.seen(POD)) == 1


def test_a_sandbox_that_is_stopped_kills_what_runs_in_it_and_takes_nothing_new(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    (container,) = runtime.running(POD, "stubborn")
    (contents,) = runtime.seen(POD)
    created, ips = runtime.created(POD, contents.sandbox, "runs"), contents.sandbox.ips
    for _ in range(2):
        assert runtime.call(StopSandbox(id=contents.sandbox.id)) is None
    (contents,) = runtime.seen(POD)
    assert contents.sandbox.state is SandboxState.NOT_READY
    assert contents.sandbox.ips == ips  # rule G5
    ended = {each.id: each for each in contents.containers}[container.id]
    assert (ended.state, ended.exit_code) == (EXITED, 137)
    assert runtime.failure(creation_of(POD, contents.sandbox, "ends")).message
    assert not_started(runtime.call(StartContainer(id=created.id)))


def test_a_sandbox_that_is_removed_is_gone_with_its_containers(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    (container,) = runtime.running(POD, "stubborn")
    (contents,) = runtime.seen(POD)
    for _ in range(2):
        assert runtime.call(RemoveSandbox(id=contents.sandbox.id)) is None
    assert runtime.seen(POD) == ()
    assert runtime.call(StopContainer(id=container.id, grace=Seconds(1.0))) is None
    assert runtime.call(StopSandbox(id=contents.sandbox.id)) is None
    failure = runtime.failure(creation_of(POD, contents.sandbox, "runs"))
    assert failure.kind is RuntimeFailureKind.NOT_FOUND


# --- containers ----------------------------------------------------------------------------------------


def test_a_container_is_created_then_started(runtime: ContainerRuntimeUnderTest) -> None:
    sandbox = runtime.sandbox(POD)
    created = runtime.created(POD, sandbox, "runs", attempt=4)
    assert (created.name, created.attempt, created.state) == ("runs", 4, ContainerState.CREATED)
    assert (created.image, created.spec_hash) == (IMAGE, "hash-of-runs")
    assert created.image_id
    assert (created.started_at, created.exit_code) == (None, None)
    assert runtime.seen_container(POD, "runs") == created
    running = runtime.started(created)
    assert (running.id, running.state, running.exit_code) == (created.id, RUNNING, None)
    assert running.created_at is not None
    assert running.started_at is not None
    assert running.created_at <= running.started_at
    assert runtime.seen_container(POD, "runs") == running


def test_one_that_ends_by_itself_is_told_with_its_exit_code(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    follower = runtime.follow()
    beginning(follower)
    runtime.running(POD, "runs", "ends")
    told: list[PodContainersAre] = []

    def is_told() -> bool:
        told.extend(told_of(follower, POD))
        return bool(told) and told[-1].sandboxes[0].containers[-1].state is EXITED

    runtime.eventually(is_told)
    runs, ended = told[-1].sandboxes[0].containers
    assert runs.state is RUNNING
    assert (ended.name, ended.exit_code, ended.reason) == ("ends", 3, "Error")
    assert ended.started_at is not None
    assert ended.finished_at is not None
    assert 0.9 <= ended.finished_at - ended.started_at < 10
    assert runtime.seen(POD) == told[-1].sandboxes


def test_a_stop_is_answered_when_the_container_has_ended(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    (container,) = runtime.running(POD, "stubborn")
    runtime.send(StopContainer(id=container.id, grace=Seconds(2.0)))
    runtime.pass_time(1.0)
    assert runtime.answers.drain() == []
    (answered,) = runtime.answered(1, within=2.0)
    assert isinstance(answered.outcome, ContainerObserved)
    assert (answered.outcome.state, answered.outcome.exit_code) == (EXITED, 137)
    assert runtime.seen_container(POD, "stubborn") == answered.outcome


@pytest.mark.parametrize(
    ("first", "later", "wait"), [(600.0, 0.0, 0.5), (600.0, 1.0, 1.5), (6.0, 6000.0, 6.5)]
)
def test_a_second_stop_shortens_the_first_and_never_makes_it_longer(
    runtime: ContainerRuntimeUnderTest, first: float, later: float, wait: float
) -> None:
    (container,) = runtime.running(POD, "stubborn")
    refs = [
        runtime.send(StopContainer(id=container.id, grace=Seconds(first))),
        runtime.send(StopContainer(id=container.id, grace=Seconds(later))),
    ]
    answered = runtime.answered(2, within=wait)
    assert sorted(str(answer.ref) for answer in answered) == sorted(map(str, refs))
    assert {type(answer.outcome) for answer in answered} == {ContainerObserved}


def test_one_that_has_ended_is_stopped_already(runtime: ContainerRuntimeUnderTest) -> None:
    (container,) = runtime.running(POD, "runs")
    stopped = runtime.call(StopContainer(id=container.id, grace=Seconds(30.0)))
    assert isinstance(stopped, ContainerObserved)
    assert stopped.state is EXITED
    assert runtime.call(StopContainer(id=container.id, grace=Seconds(30.0))) == stopped
    again = runtime.call(StartContainer(id=container.id))
    assert again == stopped or not_started(again)
    assert runtime.seen_container(POD, "runs") == stopped


def test_a_signal_is_sent_to_a_container_that_runs_and_to_no_other(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    pod = pod_of_each()
    (one,) = runtime.running(pod, "runs")
    assert runtime.call(SignalContainer(id=one.id, signal="SIGURG")) is None
    assert runtime.seen_container(pod, "runs").state is ContainerState.RUNNING
    runtime.call(StopContainer(id=one.id, grace=Seconds(0.0)))
    failure = runtime.failure(SignalContainer(id=one.id, signal="SIGURG"))
    assert failure.kind is RuntimeFailureKind.NOT_FOUND


def test_a_container_that_is_removed_is_gone_and_its_id_never_comes_back(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    (container,) = runtime.running(POD, "runs")
    for _ in range(2):
        assert runtime.call(RemoveContainer(id=container.id)) is None
    (contents,) = runtime.seen(POD)
    assert contents.containers == ()
    assert runtime.failure(StartContainer(id=container.id)).kind is RuntimeFailureKind.NOT_FOUND
    again = runtime.created(POD, contents.sandbox, "runs")
    assert again.id != container.id


def test_an_attempt_of_a_container_is_there_once(runtime: ContainerRuntimeUnderTest) -> None:
    runtime.running(POD, "runs")
    (contents,) = runtime.seen(POD)
    assert runtime.failure(creation_of(POD, contents.sandbox, "runs")).message
    assert len(runtime.seen(POD)[0].containers) == 1


def test_a_resize_changes_a_running_container_or_is_refused(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    (container,) = runtime.running(POD, "runs")
    resources = {"requests": {"cpu": "20m"}, "limits": {"cpu": "50m"}}
    outcome = runtime.call(ResizeContainer(pod=POD, id=container.id, resources=resources))
    assert isinstance(outcome, ContainerObserved | RuntimeFailure)
    after = runtime.seen_container(POD, "runs")
    assert (after.id, after.state, after.started_at) == (
        container.id,
        RUNNING,
        container.started_at,
    )


# --- images --------------------------------------------------------------------------------------------


def test_an_image_is_found_once_it_was_pulled(runtime: ContainerRuntimeUnderTest) -> None:
    pulled = runtime.call(PullImage(image=IMAGE, pod=POD))
    assert isinstance(pulled, ImageFound)
    assert pulled.image_id
    found = runtime.call(FindImage(image=IMAGE, pod=POD))
    assert isinstance(found, ImageFound)
    assert (found.image_id, found.size) == (pulled.image_id, pulled.size)


def test_an_image_that_cannot_be_pulled_says_why_and_harms_no_neighbour(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    sandbox = runtime.sandbox(POD)
    assert runtime.call(FindImage(image=NO_IMAGE, pod=POD)) == ImageFound(image_id="")
    failure = runtime.failure(PullImage(image=NO_IMAGE, pod=POD))
    assert failure.kind is RuntimeFailureKind.IMAGE_PULL
    assert failure.message
    failure = runtime.failure(creation_of(POD, sandbox, "lost"))
    assert failure.kind is RuntimeFailureKind.IMAGE_MISSING
    assert runtime.started(runtime.created(POD, sandbox, "runs")).state is RUNNING


# --- looks and facts -----------------------------------------------------------------------------------


def test_nothing_is_there_of_a_pod_that_is_not_known(runtime: ContainerRuntimeUnderTest) -> None:
    assert runtime.seen(POD) == ()


def test_a_look_is_answered_when_nothing_about_the_pod_is_in_progress(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    (container,) = runtime.running(POD, "stubborn")
    stop = runtime.send(StopContainer(id=container.id, grace=Seconds(2.0)))
    look = runtime.send(LookAtPod(uid=POD.uid))
    assert runtime.seen(pod_of_each("other")) == ()
    stopped, seen = runtime.answered(2, within=3.0)
    assert [stopped.ref, seen.ref] == [stop, look]
    assert isinstance(seen.outcome, PodContainersAre)
    assert seen.outcome.sandboxes[0].containers == (stopped.outcome,)


def test_a_follower_is_told_everything_first_each_time_that_it_asks(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    empty = runtime.follow()
    assert beginning(empty).sandboxes == ()
    runtime.running(POD, "runs")
    follower = runtime.follow()
    assert beginning(follower).sandboxes == runtime.seen(POD)
    runtime.tell(FollowContainers(subscriber=follower))
    assert beginning(follower).sandboxes == runtime.seen(POD)
    follower.drain()
    other = pod_of_each("other")
    runtime.running(other, "ends")
    runtime.eventually(lambda: runtime.seen_container(other, "ends").state is EXITED)
    runtime.pass_time(1.0)
    facts = told_of(follower, other)
    assert [each.sandboxes for each in facts].count(runtime.seen(other)) == 1


def test_a_crash_changes_nothing_of_what_runs_and_is_told_from_the_beginning(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    follower = runtime.follow()
    runtime.running(POD, "runs", "stubborn")
    before = runtime.seen(POD)
    follower.drain()
    runtime.crash()
    assert beginning(follower).sandboxes == before
    assert runtime.seen(POD) == before
    other = pod_of_each("other")
    runtime.running(other, "ends")
    runtime.eventually(lambda: bool(told_of(follower, other)))


def test_a_call_in_progress_is_answered_though_the_runtime_crashed(
    runtime: ContainerRuntimeUnderTest,
) -> None:
    (container,) = runtime.running(POD, "stubborn")
    ref = runtime.send(StopContainer(id=container.id, grace=Seconds(5.0)))
    runtime.crash()
    (answered,) = runtime.answered(1, within=6.0)
    assert answered.ref == ref
    outcome = answered.outcome
    if isinstance(outcome, RuntimeFailure):
        assert outcome.kind is RuntimeFailureKind.UNCERTAIN
    runtime.eventually(lambda: runtime.seen_container(POD, "stubborn").state is EXITED, 6.0)


def test_it_describes_what_it_has(runtime: ContainerRuntimeUnderTest) -> None:
    runtime.running(POD, "runs", "stubborn")
    described = runtime.described()
    assert described.name
    assert described.trouble == ""
    assert described.containers == {RUNNING: 2}
    (pod,) = described.pods
    assert (pod.uid, pod.namespace, pod.name, pod.source) == (POD.uid, "default", "web", "file")
    assert (pod.is_running, pod.running_containers) == (True, 2)
