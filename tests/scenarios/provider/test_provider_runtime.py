"""A pod's life by way of somebody's class: run, observed, stopped, forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from actorlet import ContainerReport, PodReport
from messages.pod_runtime import (
    ContainerState,
    ContainerWait,
    Mark,
    PodObserved,
    RunPod,
    RuntimePod,
    SandboxState,
)
from messages.pods import PodPhase
from runtimes.provider.memory import ProviderRules
from tests.support.builders import make_pod
from tests.support.kernel.clock import EPOCH
from tests.support.provider.provider_stage import ProviderStage, provider_stage
from tests.support.provider.providers import AbleProvider, ObedientProvider

WEB = make_pod("web")


@pytest.fixture
def stage() -> Iterator[ProviderStage]:
    with provider_stage() as stage:
        yield stage


def test_a_pod_is_run_once_and_told_as_running_with_all_its_containers(
    stage: ProviderStage,
) -> None:
    mark = stage.runs(WEB)
    assert stage.provider.drain() == ["run web"]
    told = stage.last()
    assert (told.mark, told.phase) == (mark, PodPhase.RUNNING)
    current = told.containers["main"].current
    assert current is not None
    assert current.state is ContainerState.RUNNING
    assert current.started_at == EPOCH + stage.play.clock.monotonic() - 0.05 + 0.02
    assert told.sandbox is not None
    assert told.sandbox.state is SandboxState.READY
    stage.advance(60.0)
    assert stage.provider.drain() == []
    assert stage.worker.drain() == []


def test_variables_are_those_of_the_start_until_the_class_starts_a_container_again(
    stage: ProviderStage,
) -> None:
    def versions() -> list[str]:
        current = stage.last().containers["main"].current
        return [used.version for used in current.variables_from] if current is not None else []

    variable = {"name": "K", "valueFrom": {"secretKeyRef": {"name": "db", "key": "k"}}}
    container = {"name": "main", "image": "busybox", "env": [variable]}
    web = make_pod("web", source="api", spec={"containers": [container]})
    secrets = {"db": {"k": b"v"}}
    stage.calls.hold("run")
    stage.runs(web, secrets, "1")
    # The class has been given the first version, whenever it tells that the pod runs.
    stage.runs(web, secrets, "2")
    stage.calls.let_go()
    stage.advance(1.0)
    assert versions() == ["1"]
    stage.runs(web, secrets, "3")
    assert versions() == ["1"]
    again = ContainerReport(restarts=1)
    stage.reports(web, PodReport("Running", containers={"main": again}))
    assert versions() == ["3"]


def test_what_ran_before_the_agent_does_not_tell_what_its_variables_are_made_from() -> None:
    variable = {"name": "K", "valueFrom": {"secretKeyRef": {"name": "db", "key": "k"}}}
    container = {"name": "main", "image": "busybox", "env": [variable]}
    web = make_pod("web", source="api", spec={"containers": [container]})
    provider = ObedientProvider()
    provider.reports[web.uid] = PodReport("Running")
    with provider_stage(provider) as stage:
        stage.advance(1.0)
        stage.runs(web, {"db": {"k": b"v"}})
        current = stage.last().containers["main"].current
        assert current is not None
        assert current.variables_from == ()


def test_until_it_is_reported_its_containers_wait(stage: ProviderStage) -> None:
    stage.provider.on_run = lambda _pod: None
    stage.runs(WEB)
    told = stage.last()
    assert told.phase is PodPhase.PENDING
    assert told.containers["main"].wait == ContainerWait(reason="ContainerCreating")
    assert told.sandbox is None


def test_it_is_observed_each_second_and_at_once_when_the_provider_says_so(
    stage: ProviderStage,
) -> None:
    stage.advance(10.0)
    assert stage.provider.looks == 11
    stage.provider.changed()
    stage.provider.changed()
    stage.advance(0.02)
    assert stage.provider.looks == 12


def test_a_pod_that_ends_is_told_with_its_exit_code(stage: ProviderStage) -> None:
    stage.runs(WEB)
    stage.reports(WEB, PodReport(containers={"main": ContainerReport(exit_code=3, message="no")}))
    told = stage.last()
    assert told.phase is PodPhase.FAILED
    main = told.containers["main"].current
    assert main is not None
    assert (main.state, main.exit_code, main.reason, main.message) == (
        ContainerState.EXITED,
        3,
        "Error",
        "no",
    )
    assert not told.is_running


def test_a_pod_that_has_ended_is_not_run_again(stage: ProviderStage) -> None:
    stage.provider.on_run = lambda _pod: "Succeeded"
    stage.runs(WEB)
    stage.runs(WEB)
    stage.advance(60.0)
    assert stage.provider.drain() == ["run web"]
    assert stage.last().phase is PodPhase.SUCCEEDED


def test_a_pod_is_stopped_and_told_as_stopped_when_it_is_not_reported_any_more(
    stage: ProviderStage,
) -> None:
    ran = stage.runs(WEB)
    stage.provider.on_stop = lambda _pod: PodReport("Running")
    stopped = stage.stops(WEB.uid, grace=20.0)
    assert stage.provider.drain() == ["run web", "stop web 20"]
    assert stage.last().mark == ran
    del stage.provider.reports[WEB.uid]
    stage.advance(1.0)
    told = stage.last()
    assert (told.mark, told.is_running) == (stopped, False)
    main = told.containers["main"].current
    assert main is not None
    assert (main.exit_code, main.reason) == (137, "ContainerStatusUnknown")


def test_a_shorter_grace_is_passed_on_and_a_longer_one_is_not(stage: ProviderStage) -> None:
    stage.runs(WEB)
    stage.provider.on_stop = lambda _pod: PodReport("Running")
    stage.calls.hold("stop")
    stage.stops(WEB.uid, grace=60.0)
    stage.stops(WEB.uid, grace=100.0)
    stage.stops(WEB.uid, grace=5.0)
    stage.calls.let_go()
    stage.advance(1.0)
    assert stage.provider.drain() == ["run web", "stop web 60", "stop web 5"]


def test_a_pod_that_outlives_its_grace_is_stopped_again(stage: ProviderStage) -> None:
    stage.runs(WEB)
    stage.provider.on_stop = lambda _pod: PodReport("Running")
    stage.stops(WEB.uid, grace=5.0)
    stage.advance(14.0)
    assert stage.provider.drain() == ["run web", "stop web 5"]
    stage.advance(2.0)
    assert stage.provider.drain() == ["stop web 1"]


def test_what_is_being_stopped_is_not_run_again_until_it_was_forgotten(
    stage: ProviderStage,
) -> None:
    stage.runs(WEB)
    stage.stops(WEB.uid)
    stage.runs(WEB)
    assert stage.provider.drain() == ["run web", "stop web 30"]
    mark = stage.forgets(WEB.uid)
    assert stage.last() == PodObserved(uid=WEB.uid, mark=mark)
    stage.runs(WEB)
    assert stage.provider.drain() == ["run web"]


def test_a_uid_is_run_anew_even_if_the_former_pod_is_still_reported_as_ended(
    stage: ProviderStage,
) -> None:
    stage.provider.on_run = lambda _pod: "Succeeded"
    stage.provider.on_stop = lambda _pod: "Succeeded"
    stage.runs(WEB)
    stage.stops(WEB.uid)
    stage.forgets(WEB.uid)
    stage.provider.on_run = lambda _pod: "Running"
    stage.runs(WEB)
    assert stage.provider.drain() == ["run web", "stop web 30", "run web"]
    assert stage.last().phase is PodPhase.RUNNING


def test_a_pod_that_runs_is_stopped_before_it_is_forgotten() -> None:
    with provider_stage(AbleProvider()) as stage:
        stage.runs(WEB)
        mark = stage.forgets(WEB.uid)
        assert stage.provider.drain() == ["run web", "stop web 1", "forget web"]
        assert stage.last() == PodObserved(uid=WEB.uid, mark=mark)
        stage.forgets(WEB.uid)
        assert stage.provider.drain() == []


def test_a_pod_that_nobody_knows_is_stopped_and_forgotten_already(stage: ProviderStage) -> None:
    stopped = stage.stops(WEB.uid)
    assert stage.last().mark == stopped
    forgotten = stage.forgets(WEB.uid)
    assert stage.last() == PodObserved(uid=WEB.uid, mark=forgotten)
    assert stage.provider.drain() == []


def test_a_command_with_a_smaller_mark_is_ignored_also_after_the_pod_was_forgotten(
    stage: ProviderStage,
) -> None:
    stage.runs(WEB)
    old = RunPod(pod=WEB, mark=Mark(0, 99), reply_to=stage.worker)
    stage.stops(WEB.uid)
    stage.forgets(WEB.uid)
    stage.worker.drain()
    stage.tell(old)
    assert stage.provider.drain() == ["run web", "stop web 30"]
    assert stage.worker.drain() == []


def test_nothing_is_said_and_nothing_run_before_the_first_observation(stage: ProviderStage) -> None:
    stage.provider.fail("observe", ConnectionError("down"))
    with provider_stage(stage.provider) as second:
        second.runs(WEB)
        assert (second.worker.drain(), second.lists()) == ([], None)
        assert second.provider.drain() == []
        second.advance(1.0)
        assert second.provider.drain() == ["run web"]


def test_a_pod_that_outlived_the_agent_is_listed_and_not_run_again(stage: ProviderStage) -> None:
    report = PodReport("Running", namespace="default", name="web", source="file")
    stage.provider.reports = {WEB.uid: report}
    with provider_stage(stage.provider) as second:
        listed = second.lists()
        assert listed is not None
        assert listed.pods == (
            RuntimePod(
                uid=WEB.uid, namespace="default", name="web", source="file", is_running=True
            ),
        )
        second.runs(WEB)
        assert second.last().phase is PodPhase.RUNNING
        assert second.provider.drain() == []
        assert second.events.drain() == []


def test_a_pod_that_the_provider_alone_knows_can_be_stopped(stage: ProviderStage) -> None:
    stage.provider.reports = {WEB.uid: PodReport(namespace="default", name="web")}
    stage.advance(1.0)
    mark = stage.stops(WEB.uid, grace=1.0)
    assert stage.provider.drain() == ["stop web 1"]
    assert stage.last().mark == mark


def test_a_pod_that_went_while_the_agent_was_away_is_stopped_without_a_warning(
    stage: ProviderStage,
) -> None:
    told = PodReport(namespace="default", name="web", containers={"main": ContainerReport()})
    stage.provider.reports = {WEB.uid: told}
    stage.advance(1.0)
    with capture_logs() as lines:
        stage.stops(WEB.uid, grace=1.0)
    assert stage.provider.drain() == ["stop web 1"]
    assert [line for line in lines if line["log_level"] == "warning"] == []
    assert stage.warnings() == []


def test_a_pod_that_ended_before_this_process_is_shown_by_its_specification(
    stage: ProviderStage,
) -> None:
    stage.provider.reports = {WEB.uid: PodReport(containers={"main": ContainerReport(exit_code=7)})}
    stage.advance(1.0)
    mark = stage.stops(WEB.uid, pod=WEB)
    told = stage.last()
    current = told.containers["main"].current
    assert current is not None
    assert (told.mark, current.exit_code) == (mark, 7)


def test_many_pods_are_run_with_a_bounded_number_of_calls_at_a_time(stage: ProviderStage) -> None:
    pods = [make_pod(f"web-{number}") for number in range(100)]
    stage.calls.hold("run")
    for pod in pods:
        stage.runs(pod)
    assert len(stage.calls.held) == 32
    stage.calls.let_go()
    stage.advance(1.0)
    assert sorted(stage.provider.drain()) == sorted(f"run {pod.name}" for pod in pods)


def test_pods_that_wait_for_room_are_run_in_turn_though_nothing_can_be_observed() -> None:
    with provider_stage(rules=ProviderRules(at_a_time=1)) as stage:
        stage.calls.hold("run", "observe")
        for number in range(4):
            stage.runs(make_pod(f"p{number}"))
        for _ in range(4):
            stage.calls.let_one_go("run")
            stage.play.settle()
        assert stage.provider.drain() == ["run p0", "run p1", "run p2", "run p3"]
