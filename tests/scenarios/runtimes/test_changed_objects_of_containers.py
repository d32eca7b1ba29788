"""Containers that use an object that changed are stopped and started again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from messages.pod_runtime import ContainerHistory, ContainerState
from messages.pods import Pod
from tests.support.runtimes.containers_stage import ContainersStage, containers_stage
from tests.support.runtimes.hollow_stage import hollow_pod
from tests.support.runtimes.situations import container


@pytest.fixture
def stage() -> Iterator[ContainersStage]:
    with containers_stage() as made:
        yield made


def pod_with(policy: str, **said: str) -> Pod:
    spec = {"restartPolicy": policy, "containers": [container("main")]}
    return hollow_pod(spec=spec, run_for="forever", **said)


def current_id(history: ContainerHistory) -> str:
    assert history.current is not None
    return history.current.id


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
def test_an_outdated_container_is_followed_by_another_whatever_its_policy(
    stage: ContainersStage, policy: str
) -> None:
    pod = pod_with(policy, stop_exit_code="143")
    stage.run(pod)
    old = current_id(stage.container())
    stage.said()
    stage.run(pod, outdated=[old])
    history = stage.container()
    assert history.current is not None
    assert (history.current.state, history.current.attempt) == (ContainerState.RUNNING, 1)
    # Where people look for why it ended, they find it.
    assert history.last is not None
    assert (history.last.id, history.last.reason, history.last.exit_code) == (
        old,
        "ObjectChanged",
        143,
    )
    assert stage.said()[0] == (
        "Killing",
        "Container main uses an object that changed, will be restarted",
    )
    # It is named as long as it is seen, and nothing more comes of that, in another life either.
    stage.run(pod, outdated=[old])
    stage.crash()
    assert stage.running(pod) == ["main-1"]


def test_a_pod_that_was_outdated_ends_with_what_it_showed(stage: ContainersStage) -> None:
    pod = hollow_pod()
    stage.run(pod)
    stage.run(pod, outdated=[current_id(stage.container())])
    stage.stop(pod)
    stage.play.advance(31)
    last = stage.container().last
    assert last is not None
    assert last.reason == "ObjectChanged"
    assert stage.running(pod) == []


def test_changes_one_after_another_are_no_crash_loop(stage: ContainersStage) -> None:
    pod = hollow_pod()
    stage.run(pod)
    for attempt in range(1, 5):
        stage.run(pod, outdated=[current_id(stage.container())])
        assert stage.running(pod) == [f"main-{attempt}"]


def test_a_container_that_is_being_stopped_for_a_change_is_replaced_by_a_later_life(
    stage: ContainersStage,
) -> None:
    pod = pod_with("Never", time_to_stop="5s")
    stage.run(pod)
    old = current_id(stage.container())
    stage.run(pod, outdated=[old])
    stage.play.advance(1)
    stage.crash()
    stage.play.advance(10)
    assert stage.running(pod) == ["main-1"]


def test_a_pod_that_is_being_stopped_restarts_nothing(stage: ContainersStage) -> None:
    pod = hollow_pod(time_to_stop="5s")
    stage.run(pod)
    old = current_id(stage.container())
    stage.run(pod, outdated=[old])
    stage.stop(pod)
    stage.play.advance(31)
    assert stage.running(pod) == []
