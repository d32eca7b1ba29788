"""Hollow containers run, end and are stopped as their pods say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from messages.container_runtime import (
    LookAtPod,
    PodContainersAre,
    RemoveContainer,
    RemoveSandbox,
    ResizeContainer,
    RunSandbox,
    RuntimeFailure,
    RuntimeFailureKind,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxState
from messages.units import Seconds
from tests.support.kernel.clock import EPOCH
from tests.support.runtimes.hollow_stage import HollowStage, creation, hollow_pod, hollow_stage

NEVER = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}


@pytest.fixture
def hollow() -> Iterator[HollowStage]:
    with hollow_stage() as stage:
        stage.follow()
        yield stage


def one_told(hollow: HollowStage) -> ContainerObserved:
    """Return the only container of the only pod that was told of."""
    (fact,) = hollow.told()
    (sandbox,) = fact.sandboxes
    (container,) = sandbox.containers
    return container


def test_a_container_is_created_then_runs(hollow: HollowStage) -> None:
    pod = hollow_pod()
    sandbox = hollow.sandbox(pod)
    assert (sandbox.state, sandbox.ips) == (SandboxState.READY, ("10.244.0.2",))
    created = hollow.created(pod, sandbox)
    assert (created.state, created.started_at) == (ContainerState.CREATED, None)
    running = hollow.call(StartContainer(id=created.id))
    assert isinstance(running, ContainerObserved)
    assert (running.id, running.state, running.started_at) == (
        created.id,
        ContainerState.RUNNING,
        EPOCH,
    )
    assert running.image_id.startswith("registry.example/web@sha256:")
    hollow.play.advance(600)
    assert hollow.told() == []


def test_a_container_of_a_pod_that_is_not_restarted_ends_after_a_second(
    hollow: HollowStage,
) -> None:
    assert hollow.started(hollow_pod(spec=NEVER)).state is ContainerState.RUNNING
    hollow.play.advance(0.9)
    assert hollow.told() == []
    hollow.play.advance(0.2)
    ended = one_told(hollow)
    assert (ended.state, ended.exit_code, ended.reason) == (ContainerState.EXITED, 0, "Completed")
    assert ended.finished_at == EPOCH + 1.0


def test_an_init_container_has_ended_when_it_was_started(hollow: HollowStage) -> None:
    spec = {**NEVER, "initContainers": [{"name": "first", "image": "i"}]}
    ended = hollow.started(hollow_pod(spec=spec), "first")
    assert (ended.state, ended.exit_code) == (ContainerState.EXITED, 0)
    assert hollow.told() == []


def test_each_attempt_ends_as_the_list_of_exits_says(hollow: HollowStage) -> None:
    pod = hollow_pod(run_for="2s", exits="1,OOMKilled,StartError,run")
    ended = []
    for attempt in range(2):
        assert hollow.started(pod, attempt=attempt).state is ContainerState.RUNNING
        hollow.play.advance(2)
        (fact,) = hollow.told()
        ended.append(fact.sandboxes[0].containers[-1])
    assert [(each.exit_code, each.reason) for each in ended] == [(1, "Error"), (137, "OOMKilled")]
    failed = hollow.started(pod, attempt=2)
    assert (failed.state, failed.exit_code, failed.reason) == (
        ContainerState.EXITED,
        128,
        "StartError",
    )
    hollow.started(pod, attempt=3)
    hollow.play.advance(100)
    assert hollow.told() == []


def test_a_container_becomes_ready_later(hollow: HollowStage) -> None:
    assert not hollow.started(hollow_pod(ready_after="3s")).is_ready
    hollow.play.advance(3)
    assert one_told(hollow).is_ready


def test_a_container_stops_at_once_in_order(hollow: HollowStage) -> None:
    container = hollow.started(hollow_pod())
    stopped = hollow.call(StopContainer(id=container.id, grace=Seconds(30)))
    assert isinstance(stopped, ContainerObserved)
    assert (stopped.state, stopped.exit_code) == (ContainerState.EXITED, 0)
    assert hollow.told() == []  # the answer said it


def test_one_that_ignores_sigterm_is_killed_when_the_grace_is_over(hollow: HollowStage) -> None:
    container = hollow.started(hollow_pod(ignores_sigterm="true"))
    hollow.send(StopContainer(id=container.id, grace=Seconds(30)))
    hollow.play.advance(29.9)
    assert hollow.outcomes() == []
    hollow.play.advance(0.2)
    (stopped,) = hollow.outcomes()
    assert isinstance(stopped, ContainerObserved)
    assert (stopped.exit_code, stopped.finished_at) == (137, EPOCH + 30.0)


def test_a_second_stop_shortens_the_grace_and_never_grows_it(hollow: HollowStage) -> None:
    container = hollow.started(hollow_pod(ignores_sigterm="true"))
    for grace in (30, 60, 5):
        hollow.send(StopContainer(id=container.id, grace=Seconds(grace)))
    hollow.play.advance(5)
    outcomes = hollow.outcomes()
    assert len(outcomes) == 3
    assert {o.exit_code for o in outcomes if isinstance(o, ContainerObserved)} == {137}


def test_a_stop_takes_as_long_as_the_annotation_says(hollow: HollowStage) -> None:
    container = hollow.started(hollow_pod(time_to_stop="4s", stop_exit_code="143"))
    hollow.send(StopContainer(id=container.id, grace=Seconds(30)))
    hollow.play.advance(4)
    (stopped,) = hollow.outcomes()
    assert isinstance(stopped, ContainerObserved)
    assert (stopped.exit_code, stopped.reason, stopped.finished_at) == (143, "Error", EPOCH + 4.0)


def test_a_look_waits_for_what_is_in_progress(hollow: HollowStage) -> None:
    pod = hollow_pod(time_to_start="5s")
    container = hollow.created(pod, hollow.sandbox(pod))
    hollow.send(StartContainer(id=container.id))
    hollow.send(LookAtPod(uid=pod.uid))
    assert hollow.outcomes() == []
    hollow.play.advance(5)
    _, seen = hollow.outcomes()
    assert isinstance(seen, PodContainersAre)
    assert seen.sandboxes[0].containers[0].state is ContainerState.RUNNING


def test_a_sandbox_that_is_stopped_kills_its_containers(hollow: HollowStage) -> None:
    pod = hollow_pod()
    hollow.started(pod)
    sandbox = hollow.memory.core.machine.inventory.contents(pod.uid)[0].sandbox
    assert hollow.call(StopSandbox(id=sandbox.id)) is None
    assert one_told(hollow).exit_code == 137
    assert hollow.refused(creation(pod, sandbox)).kind is RuntimeFailureKind.REFUSED
    assert hollow.call(RemoveSandbox(id=sandbox.id)) is None
    assert hollow.call(RemoveSandbox(id=sandbox.id)) is None
    assert hollow.described().pods == ()


def test_a_sandbox_dies_by_itself_once(hollow: HollowStage) -> None:
    pod = hollow_pod(sandbox_dies_after="10s")
    hollow.started(pod)
    hollow.play.advance(10)
    (fact,) = hollow.told()
    assert fact.sandboxes[0].sandbox.state is SandboxState.NOT_READY
    assert fact.sandboxes[0].containers[0].exit_code == 137
    hollow.sandbox(pod, attempt=1)
    hollow.play.advance(100)
    assert hollow.told() == []


def test_unreadable_annotations_refuse_the_container_and_no_other(hollow: HollowStage) -> None:
    two = {"containers": [{"name": "main", "image": "i"}, {"name": "other", "image": "i"}]}
    pod = hollow_pod(spec=two, run_for__main="soon")
    sandbox = hollow.sandbox(pod)
    failure = hollow.refused(creation(pod, sandbox))
    assert failure.kind is RuntimeFailureKind.CONFIG
    assert failure.message == (
        "annotation hollow.actorlet/run-for.main should be a duration such as 300ms,"
        " or a range such as 1s-5s"
    )
    assert hollow.created(pod, sandbox, "other").name == "other"


def test_what_is_refused_on_demand_is_refused_with_its_sentence(hollow: HollowStage) -> None:
    assert (
        hollow.refused(RunSandbox(pod=hollow_pod("a", sandbox_error="no"), attempt=0)).message
        == "no"
    )
    pod = hollow_pod("b", create_error="no disk", resize_error="too large")
    assert hollow.refused(creation(pod, hollow.sandbox(pod))).message == "no disk"
    pod = hollow_pod("c", resize_error="too large")
    container = hollow.started(pod)
    resize = ResizeContainer(pod=pod, id=container.id, resources={"requests": {"cpu": "2"}})
    assert hollow.refused(resize).message == "too large"


def test_what_is_not_there(hollow: HollowStage) -> None:
    assert hollow.call(StopContainer(id="x", grace=Seconds(1))) is None
    assert hollow.call(RemoveContainer(id="x")) is None
    assert hollow.refused(StartContainer(id="x")).kind is RuntimeFailureKind.NOT_FOUND


def test_a_crash_loses_no_container_and_no_call(hollow: HollowStage) -> None:
    container = hollow.started(hollow_pod("a", ignores_sigterm="true"))
    slow = hollow_pod("b", time_to_create_sandbox="10s")
    hollow.send(StopContainer(id=container.id, grace=Seconds(30)))
    hollow.send(RunSandbox(pod=slow, attempt=0))
    hollow.crash()
    assert hollow.described().containers == {ContainerState.RUNNING: 1}
    hollow.play.advance(30)
    outcomes = hollow.outcomes()
    assert len(outcomes) == 2
    assert not any(isinstance(outcome, RuntimeFailure) for outcome in outcomes)


def test_no_turn_goes_more_than_64_steps(hollow: HollowStage) -> None:
    for number in range(200):
        hollow.started(hollow_pod(f"p{number}", spec=NEVER))
    handled = hollow.play.describe()["runtime/containers"].handled
    hollow.play.advance(1)
    assert len(hollow.told()) == 200
    assert hollow.play.describe()["runtime/containers"].handled == handled + 4
