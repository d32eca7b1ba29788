"""The pods of ``examples/hollow`` do what the page on hollow nodes says of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from messages.pod_runtime import ContainerState, PodObserved
from messages.pods import FILE, Pod
from tests.support.project.checkout import ROOT
from tests.support.project.examples import EXAMPLES
from tests.support.runtimes.containers_stage import ContainersStage, containers_stage

HOLLOW = sorted(EXAMPLES.joinpath("hollow").iterdir())


@pytest.fixture
def stage() -> Iterator[ContainersStage]:
    with containers_stage() as made:
        yield made


def example(name: str) -> Pod:
    """Return the pod of ``examples/hollow``, as the agent reads it."""
    return decoded(EXAMPLES / "hollow" / f"{name}.yaml")


def decoded(path: Path) -> Pod:
    rules = ManifestRules(node_name="edge-1", source=FILE, strict=True)
    found = decode_manifest(path.read_bytes(), rules)
    assert isinstance(found, Decoded), found
    assert found.warnings == ()
    return found.pod


class Watching:
    """Sees a pod live, and writes down each state of a container once."""

    def __init__(self, stage: ContainersStage, pod: Pod, name: str) -> None:
        self._stage = stage
        self._pod = pod
        self._name = name
        stage.run(pod)

    def states(self, seconds: float) -> list[str]:
        """Return the states in the next ``seconds``, in order, without repetitions."""
        told = list(self._stage.told())
        for _ in range(int(seconds * 10)):
            self._stage.play.advance(0.1)
            told += self._stage.told()
        states: list[str] = []
        for each in told:
            state = state_of(each, self._name)
            if [state] != states[-1:]:
                states.append(state)
        return states


def state_of(told: PodObserved, name: str) -> str:
    """Return what kubectl shows of a container: ``CrashLoopBackOff``, ``Running``, ``Completed``, ..."""
    history = told.containers.get(name)
    if history is None:
        return ""
    if history.wait is not None:
        return history.wait.reason
    if history.current is None:
        return ""
    if history.current.state is ContainerState.EXITED:
        return history.current.reason
    return "Running" if history.current.is_ready else "not ready"


@pytest.mark.parametrize("path", HOLLOW, ids=lambda path: path.name)
def test_an_example_is_accepted_without_a_warning_and_is_on_the_page(path: Path) -> None:
    assert decoded(path).name.endswith("-edge-1")
    page = (ROOT / "docs" / "hollow-nodes.md").read_text()
    assert f"| `{path.name}` |" in page


def test_a_crash_loop_ends_with_the_fourth_start(stage: ContainersStage) -> None:
    states = Watching(stage, example("crash-loop"), "app").states(120)
    # The first restart is at once. A back-off lasts until the next instance runs, as people see it.
    backing_off = 2 * ["Running", "CrashLoopBackOff"]
    assert states == ["Running", "Error", *backing_off, "Running"]
    starts = [message for reason, message in stage.said() if reason == "Started"]
    assert len(starts) == 4
    history = stage.memory.records[example("crash-loop").uid].contents[0].containers
    assert [each.exit_code for each in history][-1] is None
    assert {each.message for each in history if each.exit_code} == {"no connection to the database"}


def test_an_image_is_pulled_in_the_fourth_attempt(stage: ContainersStage) -> None:
    states = Watching(stage, example("image-error"), "app").states(200)
    failing = 3 * ["ErrImagePull", "ImagePullBackOff"]
    assert states == ["ContainerCreating", *failing, "Running"]
    failed = [message for reason, message in stage.said() if reason == "Failed"]
    assert any("no such host" in message for message in failed)


def test_a_job_fails_once_and_succeeds(stage: ContainersStage) -> None:
    states = Watching(stage, example("job"), "work").states(60)
    assert states[0] == "Running"
    assert states[-2:] == ["Running", "Completed"]


def test_a_slow_start_waits_for_each_thing_in_turn(stage: ContainersStage) -> None:
    watching = Watching(stage, example("slow-start"), "server")
    assert watching.states(3.9)[-1] == "PodInitializing"
    assert watching.states(0.3)[-1] == "not ready"
    assert watching.states(9.5) == []
    assert watching.states(1.0) == ["Running"]


def test_the_stubborn_one_is_killed_when_its_grace_is_over(stage: ContainersStage) -> None:
    pod = example("stubborn")
    assert Watching(stage, pod, "app").states(1) == ["Running"]
    grace = pod.document["spec"]["terminationGracePeriodSeconds"]
    stage.stop(pod, grace)
    stage.play.advance(9.5)
    assert stage.running(pod) == ["app-0"]
    stage.play.advance(1.0)
    current = stage.container("app").current
    assert current is not None
    assert current.exit_code == 137


def test_memory_runs_out_again_and_again(stage: ContainersStage) -> None:
    states = Watching(stage, example("out-of-memory"), "app").states(120)
    contents = stage.memory.records[example("out-of-memory").uid].contents
    reasons = [each.reason for each in contents[0].containers if each.exit_code is not None]
    assert set(reasons) == {"OOMKilled"}
    assert "CrashLoopBackOff" in states


def test_a_misspelt_annotation_is_named_and_the_other_container_runs(
    stage: ContainersStage,
) -> None:
    stage.run(example("misspelt"))
    stage.play.advance(1.0)
    told = stage.last()
    wait = told.containers["first"].wait
    assert wait is not None
    assert wait.reason == "CreateContainerConfigError"
    assert "annotation hollow.actorlet/run-for.first should be a duration" in wait.message
    assert state_of(told, "second") == "Running"
