"""Containers of pods over several instances: what ended for good, what starts again, what is left over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from messages.container_runtime import (
    CreateContainer,
    LookAtPod,
    PullImage,
    RemoveSandbox,
    RunSandbox,
    RuntimeFailure,
    RuntimeFailureKind,
    StartContainer,
)
from messages.pod_runtime import ContainerState, PodTrouble, ProbeVerdict
from tests.support.builders import make_pod
from tests.support.runtimes.containers_stage import ScriptedStage, scripted_stage
from tests.support.runtimes.scripted_containers import REFUSED, Deed
from tests.support.runtimes.situations import container, spec_of

ONE = make_pod(spec=spec_of("a"))
ONCE = make_pod(spec=spec_of("a", "b", policy="Never"))
RESTART_ALL = make_pod(
    spec={
        "initContainers": [container("i")],
        "containers": [
            container(
                "a",
                restartPolicy="Never",
                restartPolicyRules=[
                    {
                        "action": "RestartAllContainers",
                        "exitCodes": {"operator": "In", "values": [42]},
                    }
                ],
            ),
            container("b", restartPolicy="Never"),
        ],
    }
)
IMPOSSIBLE = RuntimeFailure(
    kind=RuntimeFailureKind.UNSUPPORTED, message="no Windows here", reason="UnsupportedOS"
)


@pytest.fixture
def stage() -> Iterator[ScriptedStage]:
    with scripted_stage() as made:
        yield made


def test_an_exit_code_may_restart_all_containers_of_a_pod(stage: ScriptedStage) -> None:
    stage.containers.exits_at_once["i"] = 0
    stage.run(RESTART_ALL)
    assert stage.containers.alive() == ["a-0", "b-0"]
    stage.play.advance(20)
    stage.containers.exit("a", 42)
    stage.play.advance(1)
    assert stage.containers.alive() == ["a-1", "b-1"]
    last = stage.last().containers
    assert last["i"].current is not None
    assert last["i"].current.attempt == 1
    stage.containers.exit("b", 42)
    stage.play.advance(100)
    assert stage.containers.alive() == ["a-1"]


def test_all_containers_restart_though_somebody_removes_the_one_that_asked_for_it(
    stage: ScriptedStage,
) -> None:
    stage.containers.exits_at_once["i"] = 0
    stage.run(RESTART_ALL)
    stage.play.advance(20)
    stage.containers.ignores_stop.add("b")
    stage.containers.exit("a", 42)
    stage.containers.removes("a-0")
    stage.play.settle()
    stage.containers.heal()
    stage.play.advance(1)
    assert stage.containers.alive() == ["a-1", "b-1"]


def test_what_ended_for_good_stays_so_when_somebody_removes_it(stage: ScriptedStage) -> None:
    stage.run(ONCE)
    stage.containers.exit("a", 1)
    stage.containers.exit("b", 0)
    stage.play.settle()
    stage.containers.vanish(ONCE.uid)
    stage.play.advance(100)
    assert stage.containers.sandboxes == {}


def test_of_dead_instances_the_newest_and_the_one_before_are_kept(stage: ScriptedStage) -> None:
    stage.run(ONE)
    for _ in range(4):
        stage.play.advance(601)
        stage.containers.exit("a", 1)
        stage.play.settle()
    (contents,) = (each.contents for each in stage.containers.sandboxes.values())
    assert [(one.attempt, one.state) for one in contents.containers] == [
        (3, ContainerState.EXITED),
        (4, ContainerState.RUNNING),
    ]


def test_a_restart_for_a_changed_object_is_no_crash(stage: ScriptedStage) -> None:
    stage.run(ONE)
    running = stage.container("a").current
    assert running is not None
    stage.run(ONE, outdated=[running.id])
    assert stage.containers.alive() == ["a-1"]
    # So the first crash after it is followed by a start at once, the second by a pause.
    stage.containers.exit("a", 1)
    stage.play.settle()
    assert stage.containers.alive() == ["a-2"]
    stage.containers.exit("a", 1)
    stage.play.settle()
    assert stage.containers.alive() == []


def test_old_sandboxes_go_with_the_last_instance_that_is_kept_in_them(stage: ScriptedStage) -> None:
    stage.run(ONE)
    for _ in range(4):
        stage.play.advance(601)
        stage.containers.sandbox_dies(ONE.uid)
        stage.play.settle()
    attempts = [each.observed.attempt for each in stage.containers.sandboxes.values()]
    assert attempts == [3, 4]
    history = stage.container("a")
    assert history.last is not None
    assert (history.last.attempt, history.last.exit_code) == (3, 137)


def test_what_a_runtime_can_never_do_ends_the_pod(stage: ScriptedStage) -> None:
    stage.containers.next(RunSandbox, IMPOSSIBLE)
    stage.run(ONE)
    trouble = PodTrouble(reason="UnsupportedOS", message="no Windows here", is_for_good=True)
    assert stage.last().troubles == (trouble,)
    stage.play.advance(1000)
    assert stage.containers.taken() == ["run sandbox 0"]
    mark = stage.stop(ONE)
    assert stage.last().mark == mark


def test_another_version_of_an_impossible_pod_is_tried(stage: ScriptedStage) -> None:
    stage.containers.next(CreateContainer, IMPOSSIBLE)
    stage.run(ONE)
    assert stage.last().troubles[0].is_for_good
    stage.run(make_pod(spec=spec_of("a")))
    assert stage.containers.alive() == ["a-0"]
    assert stage.last().troubles == ()


def test_a_container_that_failed_its_probe_is_started_again_by_its_policy(
    stage: ScriptedStage,
) -> None:
    pod = make_pod(spec=spec_of("a", policy="OnFailure"))
    stage.run(pod)
    dead = ProbeVerdict(is_alive=False, container_id="c2")
    stage.run(pod, verdicts={"a": dead})
    stage.run(pod, verdicts={"a": dead})
    assert stage.containers.alive() == ["a-1"]
    message = "Container a failed liveness probe, will be restarted"
    assert [said for said in stage.said() if said[0] == "Killing"] == [("Killing", message)]


def test_a_pod_that_only_the_runtime_knows_is_stopped_and_removed(stage: ScriptedStage) -> None:
    stage.run(ONE)
    stage.memory.records.clear()
    stage.crash()
    stage.told()
    mark = stage.stop(ONE, grace=1)
    told = stage.last()
    assert (told.mark, told.is_running, list(told.containers)) == (mark, False, ["a"])
    stage.forget(ONE)
    assert stage.containers.sandboxes == {}
    assert stage.pods() == ()


def test_a_pod_that_is_forgotten_while_it_runs_is_stopped_first(stage: ScriptedStage) -> None:
    stage.run(ONE)
    stage.containers.taken()
    mark = stage.forget(ONE)
    assert stage.containers.taken() == ["stop c2 within 1", "stop s1", "remove s1"]
    assert stage.last().mark == mark


def test_questions_wait_until_it_is_known_what_there_is() -> None:
    with scripted_stage() as stage:
        stage.run(ONE)
        stage.containers.goes_away()
        stage.play.settle()
        asked = stage.asked_for_pods()
        asked.expect_silence()
        stage.containers.comes_back()
        stage.play.settle()
        (answer,) = asked.drain()
        assert [pod.uid for pod in answer.pods] == [ONE.uid]


@pytest.mark.parametrize("failures", [1, 3])
def test_a_removal_that_fails_is_tried_again(stage: ScriptedStage, failures: int) -> None:
    stage.run(ONE)
    stage.containers.next(RemoveSandbox, REFUSED, times=failures)
    mark = stage.forget(ONE)
    stage.play.advance(20)
    assert stage.containers.sandboxes == {}
    assert stage.last().mark == mark


def pod_with(*names: str) -> Any:
    return make_pod(spec=spec_of(*names))


def test_a_container_that_left_the_specification_is_stopped(stage: ScriptedStage) -> None:
    stage.run(pod_with("a", "b"))
    stage.run(pod_with("a", "c"))
    stage.play.advance(1)
    assert stage.containers.alive() == ["a-0", "c-0"]
    assert set(stage.last().containers) == {"a", "c"}


def test_values_of_secrets_are_in_no_repr_of_what_is_kept(stage: ScriptedStage) -> None:
    spec = {"containers": [container("a", env=[{"name": "PASSWORD", "value": "hunter2"}])]}
    stage.containers.next(CreateContainer, REFUSED)
    stage.run(make_pod(spec=spec))
    assert "hunter2" not in repr(stage.memory)


def test_another_image_does_not_wait_for_the_pause_of_the_first() -> None:
    with scripted_stage(assumes_images=False) as stage:
        failure = RuntimeFailure(kind=RuntimeFailureKind.IMAGE_PULL, message="no such image")
        stage.containers.next(PullImage, failure)
        stage.run(make_pod(image="app:1"))
        assert stage.containers.alive() == []
        stage.run(make_pod(image="app:2"))
        assert stage.containers.alive() == ["main-0"]


def test_a_pod_is_forgotten_although_its_image_is_still_being_pulled() -> None:
    with scripted_stage(assumes_images=False) as stage:
        stage.containers.next(PullImage, Deed.HELD)
        stage.run(ONE)
        mark = stage.forget(ONE)
        assert stage.last().mark == mark
        stage.containers.release()
        stage.play.settle()
        assert (stage.told(), stage.memory.records, stage.memory.calls) == ([], {}, {})


def test_a_look_that_fails_is_repeated_after_a_while(stage: ScriptedStage) -> None:
    stage.containers.next(StartContainer, Deed.DONE_UNCERTAINLY)
    stage.containers.next(LookAtPod, REFUSED, times=2)
    stage.run(ONE)
    assert stage.told()[-1:] == []
    stage.play.advance(4)
    assert stage.containers.alive() == ["a-0"]
    current = stage.container("a").current
    assert current is not None
    assert current.state is ContainerState.RUNNING


def test_a_pod_of_very_many_containers_is_not_planned_anew_for_each_answer(
    stage: ScriptedStage,
) -> None:
    names = [f"c{number}" for number in range(300)]
    stage.run(make_pod(spec=spec_of(*names)))
    assert len(stage.containers.alive()) == 300
    assert len(stage.told()) < 10
