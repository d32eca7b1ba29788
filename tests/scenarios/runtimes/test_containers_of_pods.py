"""Pods are run as containers: started, restarted, stopped and forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from messages.pod_runtime import ContainerState, SandboxState
from runtimes.containers.actor import ContainersOptions
from tests.support.builders import make_pod
from tests.support.runtimes.containers_stage import ContainersStage, containers_stage
from tests.support.runtimes.hollow_stage import hollow_pod
from tests.support.runtimes.situations import IMAGE, container


@pytest.fixture
def stage() -> Iterator[ContainersStage]:
    with containers_stage() as made:
        yield made


def test_a_pod_runs_and_says_so_in_a_kubelets_words(stage: ContainersStage) -> None:
    pod = hollow_pod()
    mark = stage.run(pod)
    told = stage.last()
    assert told.mark == mark
    assert told.sandbox is not None
    assert told.sandbox.ips == ("10.244.0.2",)
    current = told.containers["main"].current
    assert current is not None
    assert (current.state, current.attempt) == (ContainerState.RUNNING, 0)
    assert told.containers["main"].wait is None
    image = "registry.example/web:1"
    assert stage.said() == [
        ("Pulled", f'hollow: image "{image}" counts as present, nothing is pulled'),
        ("Created", "Created container: main"),
        ("Started", "Started container main"),
    ]


def test_a_stopped_pod_is_told_with_the_mark_of_the_stop_and_then_forgotten(
    stage: ContainersStage,
) -> None:
    pod = hollow_pod()
    begun = stage.run(pod)
    stage.told()
    mark = stage.stop(pod)
    stage.play.advance(31)
    told = stage.told()
    assert {each.mark for each in told[:-1]} <= {begun}
    assert told[-1].mark == mark
    assert told[-1].sandbox is not None
    assert told[-1].sandbox.state is SandboxState.NOT_READY
    forgotten = stage.forget(pod)
    assert stage.last().mark == forgotten
    assert stage.pods() == ()
    assert stage.memory.records == {}


def test_a_container_that_fails_again_and_again_waits_longer_each_time(
    stage: ContainersStage,
) -> None:
    pod = hollow_pod(run_for="1s", exits="3")
    stage.run(pod)
    starts = []
    for second in range(100):
        starts += [second for reason, _ in stage.said() if reason == "Started"]
        stage.play.advance(1)
    assert starts == [0, 1, 12, 33, 74]
    history = stage.container()
    assert history.wait is not None
    assert history.wait.reason == "CrashLoopBackOff"
    assert history.wait.message == (
        "back-off 1m20s restarting failed container=main pod=web_default(uid-default-web)"
    )
    assert history.current is not None
    assert (history.current.attempt, history.current.exit_code) == (4, 3)
    assert history.last is not None
    assert history.last.attempt == 3


def test_nothing_is_disturbed_by_a_crash(stage: ContainersStage) -> None:
    pod = hollow_pod()
    stage.run(pod)
    before = stage.last()
    stage.crash()
    assert stage.told() == [before]
    assert stage.running(pod) == ["main-0"]


def test_steps_of_many_pods_are_no_lines_for_everybody() -> None:
    with (
        containers_stage(options=ContainersOptions(pods_told_of=1)) as stage,
        capture_logs() as logs,
    ):
        stage.run(hollow_pod("a"))
        stage.run(hollow_pod("b"))
    levels = {line["pod"]: line["log_level"] for line in logs if "container" in line}
    assert levels == {"default/a": "info", "default/b": "debug"}


@pytest.mark.parametrize(("policy", "pulls"), [("Always", 3), ("IfNotPresent", 1)])
def test_a_hollow_image_is_pulled_again_at_each_start_if_its_policy_says_so(
    stage: ContainersStage, policy: str, pulls: int
) -> None:
    main = {**container("a"), "imagePullPolicy": policy}
    annotations = {"hollow.actorlet/time-to-pull": "2s", "hollow.actorlet/exits": "1"}
    stage.run(make_pod(spec={"containers": [main]}, annotations=annotations))
    stage.play.advance(1.9)
    assert stage.said() == [("Pulling", f'Pulling image "{IMAGE}"')]
    stage.play.advance(20.0)
    reasons = [reason for reason, _ in stage.said()]
    assert reasons.count("Started") == 3
    assert 1 + reasons.count("Pulling") == pulls
