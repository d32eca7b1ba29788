"""A runtime behind a socket that goes away, hangs, starts, is another one, or only says nonsense."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from messages.container_runtime import (
    ContainersAre,
    LookAtPod,
    PodContainersAre,
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeIsAway,
    StopContainer,
)
from messages.node import RuntimeHasNews
from messages.pod_runtime import ContainerState
from messages.units import Seconds
from runtimes.cri.wire.transport import RpcCode, RpcFailure
from tests.support.cri.cri_stage import CriStage, cri_pod, cri_stage
from tests.support.cri.fake_cri import CONTAINERD_EVENTS, CRI_EVENTS, NEVER, Fault
from tests.support.cri.fake_machine import Behaviour

POD = cri_pod()
STARTING = RpcFailure(code=RpcCode.OTHER, message="server is not initialized yet")
CHANGING = {"RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox"}


def asked_for_changes(stage: CriStage) -> list[str]:
    return [method for method, _ in stage.cri.asked if method in CHANGING]


def lines(logs: list[Any]) -> list[str]:
    """Return the reasons for which it was logged that the runtime cannot be used."""
    return [
        each["trouble"]
        for each in logs
        if "cannot be used" in each["event"] and each["log_level"] == "warning"
    ]


def test_one_that_is_away_at_the_start_is_there_half_a_second_after_it_has_come() -> None:
    with capture_logs() as logs, cri_stage(prepare=lambda stage: stage.wire.go_away()) as stage:
        stage.follow()
        stage.play.advance(60.0)
        assert stage.complete() == []
        stage.wire.come_back()
        stage.play.advance(0.5)
        assert [each.name for each in stage.complete()] == ["containerd"]
    assert lines(logs) == ["connect: no such file or directory"]


def test_an_outage_is_one_line_and_each_of_its_reasons_is_told_once_whoever_asks() -> None:
    with capture_logs() as logs, cri_stage() as stage:
        stage.follow()
        stage.wire.go_away()
        stage.play.advance(3.0)
        stage.wire.come_back()
        stage.cri.faults = [Fault(method="*", times=7, failure=STARTING)]
        stage.play.advance(5.0)
        told = stage.told()
        assert [each.message for each in told if isinstance(each, RuntimeIsAway)] == [
            "connect: no such file or directory",
            "server is not initialized yet",
        ]
        assert len([each for each in told if isinstance(each, ContainersAre)]) == 1
    assert lines(logs) == ["connect: no such file or directory"]


def test_a_runtime_that_starts_anew_does_not_make_the_node_unready() -> None:
    with cri_stage() as stage:
        stage.play.advance(1.0)
        stage.parts.news.drain()
        for _ in range(3):
            stage.wire.go_away()
            stage.play.advance(2.0)
            assert stage.described().trouble == "connect: no such file or directory"
            assert stage.memory.shown_node.value.troubles == {}
            stage.wire.come_back()
            stage.play.advance(28.0)
        stage.play.advance(60.0)
        assert stage.parts.news.drain() == []


def test_the_node_is_unready_half_a_minute_after_its_runtime_went_and_ready_at_once_when_it_is_back() -> (
    None
):
    with cri_stage() as stage:
        stage.play.advance(1.0)
        stage.parts.news.drain()
        stage.wire.go_away()
        stage.play.advance(29.0)
        assert stage.memory.shown_node.value.troubles == {}
        assert stage.parts.news.drain() == []
        stage.crash()
        stage.play.advance(12.0)
        down = "container runtime is down: connect: no such file or directory"
        assert stage.memory.shown_node.value.troubles == {"Ready": down}
        assert stage.parts.news.drain() == [RuntimeHasNews()]
        stage.wire.come_back()
        stage.play.advance(0.5)
        assert stage.memory.shown_node.value.troubles == {}
        assert stage.parts.news.drain() == [RuntimeHasNews()]


def test_the_node_is_unready_at_once_if_its_runtime_was_never_there() -> None:
    with cri_stage(prepare=lambda stage: stage.wire.go_away()) as stage:
        stage.play.advance(1.0)
        assert "Ready" in stage.memory.shown_node.value.troubles
        stage.play.advance(60.0)
        assert len(stage.parts.news.drain()) == 1


def test_statuses_stay_while_it_is_away_and_nothing_is_started_or_stopped() -> None:
    def ends_at_once(stage: CriStage) -> None:
        stage.machine.behaviours["main"] = Behaviour(says_running_for=0.0)

    with cri_stage(prepare=ends_at_once) as stage:
        container = stage.started(POD)
        stage.follow()
        before = asked_for_changes(stage)
        stage.wire.go_away()
        stage.play.advance(30.0)
        told = stage.told()
        assert {type(fact) for fact in told} == {RuntimeIsAway}
        assert [each.state for each in stage.known(POD)] == [ContainerState.RUNNING]
        failure = stage.refused(StopContainer(id=container.id, grace=Seconds(1.0)))
        assert failure.kind is RuntimeFailureKind.UNCERTAIN
        stage.machine.end(container.id.removeprefix("containerd://"), 42)
        stage.wire.come_back()
        stage.play.advance(0.5)
        (complete,) = stage.complete()
        ((ended,),) = [each.containers for each in complete.sandboxes]
        assert (ended.state, ended.exit_code) == (ContainerState.EXITED, 42)
        assert asked_for_changes(stage) == before


def test_a_look_that_waits_is_answered_when_it_is_back() -> None:
    with cri_stage() as stage:
        stage.started(POD)
        stage.wire.go_away()
        stage.play.advance(1.0)
        ref = stage.send(LookAtPod(uid=POD.uid))
        stage.play.advance(30.0)
        assert stage.outcomes() == {}
        stage.wire.come_back()
        stage.play.advance(0.5)
        assert isinstance(stage.outcomes()[ref], PodContainersAre)


def test_a_look_that_cannot_be_taken_in_its_time_is_answered_all_the_same() -> None:
    with cri_stage() as stage:
        stage.wire.go_away()
        stage.play.advance(1.0)
        ref = stage.send(LookAtPod(uid=POD.uid), deadline=60.0)
        stage.play.advance(95.0)
        outcome = stage.outcomes()[ref]
        assert isinstance(outcome, RuntimeFailure)
        assert outcome.kind is RuntimeFailureKind.UNCERTAIN
        stage.wire.come_back()
        stage.play.advance(5.0)
        assert stage.outcomes() == {}


def test_one_that_hangs_is_away_within_20_s_and_there_at_once_when_it_goes_on() -> None:
    with capture_logs() as logs, cri_stage() as stage:
        stage.started(POD)
        stage.follow()
        stage.play.advance(3.0)
        stage.wire.hang()
        stage.play.advance(20.0)
        away = stage.away()
        assert away == ["it takes calls and does not answer within 2 s"]
        stage.play.advance(60.0)
        stage.wire.go_on()
        stage.play.advance(0.5)
        assert len(stage.complete()) == 1
    assert lines(logs) == away


def test_a_runtime_that_comes_back_hanging_after_several_requests_were_lost_is_there_when_it_goes_on() -> (
    None
):
    pods = [cri_pod(name) for name in ("web", "db")]
    with cri_stage() as stage:
        stage.machine.behaviours["main"] = Behaviour(ignores_term=True)
        ids = [stage.started(pod).id for pod in pods]
        stage.follow()
        for each in ids:
            stage.send(StopContainer(id=each, grace=Seconds(30.0)))
        stage.play.advance(0.05)
        stage.wire.go_away()
        stage.wire.come_back()
        stage.wire.hang()
        stage.play.advance(1.0)
        stage.wire.go_on()
        stage.play.advance(0.5)
        assert len(stage.complete()) == 1


def test_one_question_that_it_does_not_answer_in_time_is_no_outage() -> None:
    with cri_stage() as stage:
        stage.follow()
        stage.cri.faults = [Fault(method="Version", delay=3.0)]
        stage.play.advance(60.0)
        assert stage.away() == []


def test_another_runtime_at_the_same_socket_has_its_own_containers() -> None:
    with cri_stage() as stage:
        stage.started(POD)
        stage.follow()
        stage.wire.go_away()
        stage.play.advance(1.0)
        stage.machine.sandboxes.clear()
        stage.machine.containers.clear()
        stage.machine.ids_begin_with = "feed"
        stage.cri.name, stage.cri.version = "cri-o", "1.31.0"
        stage.wire.come_back()
        stage.play.advance(1.0)
        (complete,) = stage.complete()
        assert (complete.name, complete.sandboxes) == ("cri-o", ())
        assert stage.started(POD).id.startswith("cri-o://feed")


def test_one_that_is_replaced_in_a_moment_is_asked_who_it_is() -> None:
    with cri_stage() as stage:
        stage.follow()
        stage.cri.name = "cri-o"
        stage.cri.end_streams(RpcFailure(code=RpcCode.UNAVAILABLE, message="GOAWAY"))
        stage.play.advance(0.1)
        assert [each.name for each in stage.complete()] == ["cri-o"]


def test_what_does_not_speak_the_version_is_one_clear_sentence() -> None:
    def is_old(stage: CriStage) -> None:
        unknown = RpcFailure(code=RpcCode.UNIMPLEMENTED, message="unknown service")
        stage.cri.faults = [Fault(method="*", times=NEVER, failure=unknown)]

    with capture_logs() as logs, cri_stage(prepare=is_old) as stage:
        stage.play.advance(30.0)
    (line,) = lines(logs)
    assert "does not speak version v1 of the container runtime interface" in line


def test_one_that_says_something_else_each_time_is_not_told_about_each_time() -> None:
    numbers = iter(range(10_000))

    def is_mad(stage: CriStage) -> None:
        def other(reply: Any) -> Any:
            reply.runtime_api_version = f"v{next(numbers)}" + "x" * 1000
            reply.runtime_name = "y\n" * 1_000_000
            return reply

        stage.cri.faults = [Fault(method="Version", times=NEVER, garbage=other)]

    with capture_logs() as logs, cri_stage(prepare=is_mad) as stage:
        stage.follow()
        stage.play.advance(60.0)
        assert len(stage.away()) <= 10
    assert 1 <= len(lines(logs)) <= 10
    assert max(map(len, lines(logs))) <= 300


# --- events --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [None, RpcFailure(code=RpcCode.OTHER, message="off")])
def test_one_that_ends_each_stream_at_once_is_used_without_events(
    failure: RpcFailure | None,
) -> None:
    def ends_streams(stage: CriStage) -> None:
        stage.cri.ends_streams = failure

    with capture_logs() as logs, cri_stage(prepare=ends_streams) as stage:
        stage.follow()
        stage.play.advance(120.0)
        assert stage.told() == []
        assert stage.cri.count("Version") < 40
        assert stage.cri.count(CRI_EVENTS) < 10
        assert 100 <= stage.cri.count("ListContainers") <= 140
    assert lines(logs) == []


def test_streams_that_a_runtime_does_not_have_are_asked_for_once_on_each_connection() -> None:
    def has_none(stage: CriStage) -> None:
        stage.cri.events = ()

    with cri_stage(prepare=has_none) as stage:
        stage.play.advance(60.0)
        assert (stage.cri.count(CRI_EVENTS), stage.cri.count(CONTAINERD_EVENTS)) == (1, 1)
        assert 55 <= stage.cri.count("ListContainers") <= 65
        stage.wire.go_away()
        stage.play.advance(5.0)
        stage.wire.come_back()
        stage.play.advance(5.0)
        assert (stage.cri.count(CRI_EVENTS), stage.cri.count(CONTAINERD_EVENTS)) == (2, 2)


def test_while_events_come_everything_is_looked_at_every_ten_seconds() -> None:
    with cri_stage() as stage:
        stage.play.advance(100.0)
        assert 10 <= stage.cri.count("ListContainers") <= 13


def test_a_stream_that_breaks_is_opened_again_and_everything_is_looked_at() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.follow()
        stage.cri.loses_events = True
        stage.machine.end(container.id.removeprefix("containerd://"), 3)
        stage.play.advance(0.1)
        stage.cri.loses_events = False
        stage.cri.end_streams(RpcFailure(code=RpcCode.OTHER, message="too large"))
        stage.play.advance(0.01)
        assert [each.state for each in stage.known(POD)] == [ContainerState.EXITED]
        stage.play.advance(1.0)
        assert len(stage.cri.streams) == 1
        assert stage.away() == []


def test_a_stream_that_breaks_while_everything_is_looked_at_for_the_first_time() -> None:
    def is_slow(stage: CriStage) -> None:
        stage.cri.faults = [Fault(method="ListContainers", delay=1.0)]

    with cri_stage(prepare=is_slow) as stage:
        stage.play.advance(0.5)
        stage.cri.end_streams(RpcFailure(code=RpcCode.UNAVAILABLE, message="Socket closed"))
        stage.play.advance(5.0)
        assert len(stage.cri.streams) == 1
        assert stage.described().trouble == ""


def test_what_it_cannot_list_is_asked_for_at_a_pace() -> None:
    """The answer may be too large for any call."""
    too_large = RpcFailure(code=RpcCode.RESOURCE_EXHAUSTED, message="Received message larger than")
    with capture_logs() as logs, cri_stage() as stage:
        stage.follow()
        stage.cri.faults = [Fault(method="ListContainers", times=NEVER, failure=too_large)]
        stage.cri.asked.clear()
        stage.play.advance(20.0)
        assert len(stage.cri.asked) < 1000
        assert len(stage.away()) == 1
        stage.cri.faults.clear()
        stage.play.advance(0.5)
        assert any(isinstance(fact, ContainersAre) for fact in stage.told())
    assert len(lines(logs)) == 1
