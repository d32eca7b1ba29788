"""Hooks are called when containers start and stop, over crashes, and people are told what goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from manifests.handlers import ExecAction, TcpSocketAction
from messages.container_runtime import StartContainer
from messages.pod_runtime import ContainerState
from messages.pods import Pod
from runtimes.lifecycle_hooks.messages import HookKind
from tests.support.builders import make_pod
from tests.support.runtimes.containers_stage import (
    ScriptedStage,
    containers_stage,
    scripted_stage,
)
from tests.support.runtimes.hollow_stage import hollow_pod
from tests.support.runtimes.scripted_containers import Deed
from tests.support.runtimes.situations import container, sidecar

EXEC = {"exec": {"command": ["true"]}}
POST_START, PRE_STOP = HookKind.POST_START, HookKind.PRE_STOP
RUNNING, EXITED = ContainerState.RUNNING, ContainerState.EXITED


@pytest.fixture
def stage() -> Iterator[ScriptedStage]:
    with scripted_stage() as made:
        yield made


def pod_of(*containers: Any, **fields: Any) -> Pod:
    return make_pod(spec={"containers": list(containers), **fields})


def pod_with(**hooks: Any) -> Pod:
    return pod_of(container("main", lifecycle=hooks))


def state(stage: ScriptedStage) -> ContainerState | None:
    """Return what was told last of the container ``main``."""
    current = stage.container().current
    return None if current is None else current.state


# --- postStart -----------------------------------------------------------------------------------------


def test_a_container_counts_as_started_when_its_hook_has_succeeded(stage: ScriptedStage) -> None:
    stage.containers.hooks.holds = {POST_START}
    stage.run(pod_with(postStart=EXEC))
    assert stage.containers.hooks.taken() == ["postStart of c2 within 86400"]
    stage.play.advance(60)
    assert stage.waits() == {"main": "ContainerCreating"}
    assert stage.containers.alive() == ["main-0"]
    stage.containers.hooks.release()
    stage.play.settle()
    assert state(stage) is RUNNING
    assert [reason for reason, _ in stage.said()] == ["Pulled", "Created", "Started"]


def test_the_hook_knows_the_address_of_the_pod_and_the_ports_of_its_container(
    stage: ScriptedStage,
) -> None:
    stage.containers.hooks.holds = {POST_START}
    ports = [{"name": "web", "containerPort": 8080}]
    hook = {"tcpSocket": {"port": "web"}}
    stage.run(pod_of(container("main", ports=ports, lifecycle={"postStart": hook})))
    (request,) = stage.containers.hooks.held.values()
    assert request.action == TcpSocketAction(host="10.0.0.7", port=8080)


def test_a_failed_hook_kills_its_container_which_restarts_by_its_policy_with_back_off(
    stage: ScriptedStage,
) -> None:
    hooks = stage.containers.hooks
    hooks.failures = {POST_START: "the command exited with code 3"}
    stage.run(pod_with(postStart=EXEC))
    assert [each for each in hooks.taken() if each.startswith("post")] == [
        "postStart of c2 within 86400",
        "postStart of c3 within 86400",
    ]
    last = stage.container()
    assert last.wait is not None
    assert last.wait.reason == "CrashLoopBackOff"
    assert last.current is not None
    assert (last.current.attempt, last.current.exit_code) == (1, 143)
    said = stage.said()
    assert (
        "FailedPostStartHook",
        "PostStartHook failed: the command exited with code 3",
    ) in said
    assert ("Killing", "FailedPostStartHook") in said
    hooks.failures = {}
    stage.play.advance(11)
    assert state(stage) is RUNNING


def test_a_container_that_is_being_killed_because_of_its_hook_says_so(stage: ScriptedStage) -> None:
    stage.containers.hooks.failures = {POST_START: "exit code 3"}
    stage.containers.ignores_stop = {"main"}
    stage.run(pod_with(postStart=EXEC))
    wait = stage.container().wait
    assert wait is not None
    assert (wait.reason, wait.message) == ("PostStartHookError", "exit code 3")


def test_a_container_that_ends_during_its_hook_gives_that_up(stage: ScriptedStage) -> None:
    stage.containers.hooks.holds = {POST_START}
    stage.run(pod_with(postStart=EXEC))
    stage.containers.exit("main", 1)
    stage.play.settle()
    assert stage.containers.hooks.taken() == [
        "postStart of c2 within 86400",
        "postStart of c2 no more",
        "postStart of c3 within 86400",
    ]
    assert "FailedPostStartHook" not in [reason for reason, _ in stage.said()]


def test_a_stop_gives_the_first_hook_up_and_calls_the_last(stage: ScriptedStage) -> None:
    stage.containers.hooks.holds = {POST_START}
    pod = pod_with(postStart=EXEC, preStop=EXEC)
    stage.run(pod)
    stage.containers.hooks.taken()
    stage.stop(pod, 30)
    assert stage.containers.hooks.taken() == ["postStart of c2 no more", "preStop of c2 within 30"]
    assert not stage.last().is_running
    assert "FailedPostStartHook" not in [reason for reason, _ in stage.said()]


def test_a_container_that_is_stopped_during_its_first_hook_never_counts_as_started(
    stage: ScriptedStage,
) -> None:
    stage.containers.hooks.holds = {POST_START}
    stage.containers.ignores_stop = {"main"}
    pod = pod_with(postStart=EXEC)
    stage.run(pod)
    stage.stop(pod, 30)
    stage.play.advance(5)
    assert stage.containers.alive() == ["main-0"]
    assert not any(each.containers for each in stage.told())


def test_a_container_does_not_count_as_started_though_the_runtime_goes_away_during_its_first_hook(
    stage: ScriptedStage,
) -> None:
    stage.containers.hooks.holds = {POST_START}
    stage.run(pod_with(postStart=EXEC))
    stage.containers.goes_away()
    stage.play.advance(5)
    told = stage.told()
    assert told[-1].troubles
    assert not any(each.containers for each in told)


def test_a_start_whose_answer_was_lost_has_its_hook(stage: ScriptedStage) -> None:
    stage.containers.next(StartContainer, Deed.DONE_UNCERTAINLY)
    stage.run(pod_with(postStart=EXEC))
    assert stage.containers.hooks.taken() == ["postStart of c2 within 86400"]
    assert state(stage) is RUNNING


def test_the_next_process_takes_a_container_that_runs_for_started(stage: ScriptedStage) -> None:
    pod = pod_with(postStart=EXEC)
    stage.containers.hooks.holds = {POST_START}
    stage.run(pod)
    stage.containers.hooks.taken()
    stage.forget_everything()
    stage.run(pod)
    assert stage.containers.hooks.taken() == []
    assert state(stage) is RUNNING


# --- preStop -------------------------------------------------------------------------------------------


def test_a_stop_waits_for_the_hook_and_gives_what_is_left_of_the_grace(
    stage: ScriptedStage,
) -> None:
    stage.containers.hooks.holds = {PRE_STOP}
    pod = pod_with(preStop=EXEC)
    stage.run(pod)
    stage.containers.taken()
    stage.said()
    stage.stop(pod, 30)
    assert stage.containers.hooks.taken() == ["preStop of c2 within 30"]
    assert stage.said() == [("Killing", "Stopping container main")]
    stage.play.advance(9)
    assert stage.containers.taken() == []
    stage.containers.hooks.release()
    stage.play.settle()
    assert stage.containers.taken() == ["stop c2 within 21", "stop s1"]
    assert stage.said() == []


def test_a_failed_hook_is_said_and_holds_nothing_up(stage: ScriptedStage) -> None:
    stage.containers.hooks.failures = {PRE_STOP: "given up after 30s"}
    pod = pod_with(preStop=EXEC)
    stage.run(pod)
    stage.said()
    stage.stop(pod, 30)
    assert ("FailedPreStopHook", "PreStopHook failed: given up after 30s") in stage.said()
    assert not stage.last().is_running


def test_a_hook_whose_end_is_lost_holds_a_stop_up_for_no_more_than_its_grace(
    stage: ScriptedStage,
) -> None:
    stage.containers.hooks.holds = {PRE_STOP}
    pod = pod_with(preStop=EXEC)
    stage.run(pod)
    stage.containers.taken()
    stage.stop(pod, 10)
    stage.containers.hooks.lose()
    stage.play.advance(13)
    assert stage.containers.taken() == ["stop c2 within 2", "stop s1"]


def test_a_second_stop_shortens_the_hook(stage: ScriptedStage) -> None:
    stage.containers.hooks.holds = {PRE_STOP}
    pod = pod_with(preStop=EXEC)
    stage.run(pod)
    stage.stop(pod, 600)
    stage.containers.taken()
    stage.stop(pod, 5)
    assert stage.containers.hooks.taken()[-1] == "preStop of c2 only 5"
    stage.stop(pod, 0)
    assert stage.containers.hooks.taken() == ["preStop of c2 only 0"]
    assert stage.containers.taken() == ["stop c2 within 0", "stop s1"]


def test_a_container_that_ends_during_its_last_hook_is_not_waited_for(stage: ScriptedStage) -> None:
    stage.containers.hooks.holds = {PRE_STOP}
    pod = pod_with(preStop=EXEC)
    stage.run(pod)
    stage.stop(pod, 600)
    stage.containers.exit("main", 0)
    stage.play.settle()
    assert not stage.last().is_running
    assert stage.containers.hooks.taken()[-1] == "preStop of c2 no more"


def test_sidecars_have_their_hooks_at_once_and_are_stopped_last(stage: ScriptedStage) -> None:
    stage.containers.hooks.holds = {PRE_STOP}
    hook = {"preStop": EXEC}
    inits = [sidecar("s", lifecycle=hook), sidecar("t", lifecycle=hook)]
    pod = pod_of(container("main", lifecycle=hook), initContainers=inits)
    stage.run(pod)
    stage.containers.taken()
    stage.stop(pod, 30)
    assert len(stage.containers.hooks.taken()) == 3
    stage.containers.hooks.release()
    stage.play.settle()
    assert stage.containers.taken() == [
        "stop c4 within 30",
        "stop c3 within 30",
        "stop c2 within 30",
        "stop s1",
    ]


# --- crashes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [POST_START, PRE_STOP])
def test_a_crash_of_who_runs_pods_neither_loses_a_hook_nor_calls_it_again(
    stage: ScriptedStage, kind: HookKind
) -> None:
    stage.containers.hooks.holds = {kind}
    pod = pod_with(postStart=EXEC, preStop=EXEC)
    stage.run(pod)
    if kind is PRE_STOP:
        stage.stop(pod, 600)
    called = stage.containers.hooks.taken()
    stage.crash()
    stage.containers.hooks.release()
    stage.play.settle()
    assert stage.containers.hooks.taken() == []
    assert called[-1].startswith(kind)
    assert stage.last().is_running is (kind is POST_START)


@pytest.mark.parametrize("kind", [POST_START, PRE_STOP])
def test_an_end_that_was_lost_is_asked_for_again(stage: ScriptedStage, kind: HookKind) -> None:
    stage.containers.hooks.loses_ends = True
    pod = pod_with(**{kind: EXEC})
    stage.run(pod)
    if kind is PRE_STOP:
        stage.stop(pod, 600)
    stage.play.advance(4.9)
    assert len(stage.containers.hooks.taken()) == 1
    assert stage.last().is_running
    assert stage.containers.alive() == ["main-0"]
    stage.play.advance(0.2)
    assert stage.containers.hooks.taken() == []
    assert state(stage) is (RUNNING if kind is POST_START else EXITED)


def test_hooks_are_forgotten_with_their_containers(stage: ScriptedStage) -> None:
    pod = pod_with(postStart=EXEC, preStop=EXEC)
    stage.run(pod)
    stage.containers.exit("main", 1)
    stage.play.settle()
    (record,) = stage.memory.records.values()
    assert set(record.hooks or {}) == {("c3", POST_START)}


def test_each_hook_has_its_lines_in_the_log(stage: ScriptedStage) -> None:
    with capture_logs() as lines:
        stage.run(pod_with(postStart=EXEC))
    told = [(line["event"], line.get("hook"), line.get("container")) for line in lines]
    assert ("hook begins", "postStart", "main") in told
    assert ("hook ended", "postStart", "main") in told


def test_values_of_a_hook_are_in_no_line_of_the_log(stage: ScriptedStage) -> None:
    hook = {"exec": {"command": ["curl", "-H", "s3cr3t"]}}
    stage.containers.hooks.holds = {POST_START}
    with capture_logs() as lines:
        stage.run(pod_with(postStart=hook))
    (request,) = stage.containers.hooks.held.values()
    assert request.action == ExecAction(command=("curl", "-H", "s3cr3t"))
    assert "s3cr3t" not in repr(lines) + repr(request) + repr(stage.memory)


# --- hollow containers ---------------------------------------------------------------------------------


def hollow_hooks(**hooks: Any) -> dict[str, Any]:
    image = "registry.example/app:1"
    return {"containers": [{"name": "main", "image": image, "lifecycle": hooks}]}


@pytest.mark.parametrize(
    "handler",
    [EXEC, {"httpGet": {"port": 80, "scheme": "HTTP"}}, {"tcpSocket": {"port": 80}}],
)
def test_hooks_of_hollow_containers_succeed_at_once(handler: Any) -> None:
    with containers_stage() as stage:
        pod = hollow_pod(spec=hollow_hooks(postStart=handler, preStop=handler))
        stage.run(pod)
        assert stage.container().wait is None
        stage.stop(pod)
        assert not stage.last().is_running


def test_a_hollow_hook_that_sleeps_takes_its_time() -> None:
    with containers_stage() as stage:
        sleep = {"sleep": {"seconds": 5}}
        command = {"exec": {"command": ["sleep", "3"]}}
        pod = hollow_pod(spec=hollow_hooks(postStart=command, preStop=sleep))
        stage.run(pod)
        stage.play.advance(2.9)
        assert stage.container().wait is not None
        stage.play.advance(0.2)
        assert stage.container().wait is None
        stage.stop(pod)
        stage.play.advance(4.9)
        assert stage.running(pod) == ["main-0"]
        stage.play.advance(0.2)
        assert not stage.last().is_running


def test_a_hollow_hook_is_given_up_when_the_grace_is_over() -> None:
    with containers_stage() as stage:
        command = {"exec": {"command": ["sleep", "infinity"]}}
        pod = hollow_pod(spec=hollow_hooks(preStop=command))
        stage.run(pod)
        stage.said()
        stage.stop(pod, 600)
        stage.stop(pod, 10)
        stage.play.advance(10.1)
        assert not stage.last().is_running
        reason = "PreStopHook failed: given up, since there is less time for it than there was"
        assert ("FailedPreStopHook", reason) in stage.said()


def test_annotations_make_a_hollow_hook_take_time_and_fail() -> None:
    with containers_stage() as stage:
        said = {"time_for_post_start": "5s", "post_start_error": "no such file"}
        pod = hollow_pod(spec=hollow_hooks(postStart=EXEC), **said)
        stage.run(pod)
        stage.play.advance(4.9)
        assert stage.container().current is None
        stage.play.advance(0.2)
        assert ("FailedPostStartHook", "PostStartHook failed: no such file") in stage.said()


def test_a_hollow_command_that_fails_fails_its_hook() -> None:
    with containers_stage() as stage:
        command = {"exec": {"command": ["sh", "-c", "exit 3"]}}
        stage.run(hollow_pod(spec=hollow_hooks(postStart=command)))
        reason = "PostStartHook failed: the command exited with code 3"
        assert ("FailedPostStartHook", reason) in stage.said()
