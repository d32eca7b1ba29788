"""Requests to a runtime that is slow, fails, breaks off, or answers nonsense: each is answered once."""

from __future__ import annotations

from typing import Any

import pytest
from typing_extensions import override

from messages.container_runtime import (
    ContainerAnswered,
    CreateContainer,
    ExecEnded,
    ExecInContainer,
    FollowContainers,
    LookAtPod,
    PodContainersAre,
    ReadContainerLog,
    RemoveContainer,
    RemoveSandbox,
    RunSandbox,
    RuntimeFact,
    RuntimeFailure,
    RuntimeFailureKind,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import (
    ContainerObserved,
    ContainerState,
    SandboxObserved,
    SandboxState,
)
from messages.pods import Pod
from messages.units import Seconds
from runtimes.cri.messages import CRI_CONTAINERS, ForgetPodsBut
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure
from tests.support.builders import make_pod
from tests.support.cri.cri_stage import IMAGE, CriStage, creation_in, cri_pod, cri_stage
from tests.support.cri.fake_cri import NEVER, Fault
from tests.support.cri.fake_machine import Behaviour, sandbox_name
from tests.support.kernel.probe import Probe

POD, OTHER = cri_pod(), cri_pod("other")
BROKEN = RpcFailure(code=RpcCode.UNAVAILABLE, message="Socket closed")
REFUSED = RpcFailure(code=RpcCode.OTHER, message="no space left\non device")
UNCERTAIN = RuntimeFailureKind.UNCERTAIN


def bare(container: ContainerObserved) -> str:
    return container.id.removeprefix("containerd://")


# --- each call is answered once ------------------------------------------------------------------------


@pytest.mark.parametrize("effect_after", [0.0, NEVER])
@pytest.mark.parametrize("method", ["RunPodSandbox", "CreateContainer", "StartContainer"])
def test_a_call_that_breaks_off_is_uncertain_and_the_look_says_what_became_of_it(
    method: str, effect_after: float
) -> None:
    with cri_stage() as stage:
        stage.follow()
        stage.cri.faults = [Fault(method=method, failure=BROKEN, effect_after=effect_after)]
        sandbox = stage.call(RunSandbox(pod=POD, attempt=0))
        if isinstance(sandbox, SandboxObserved):
            container = stage.call(creation_in(POD, sandbox))
            if isinstance(container, ContainerObserved):
                assert stage.refused(StartContainer(id=container.id)).kind is UNCERTAIN
        assert stage.cri.count(method) == 1
        contents = stage.seen(POD)
        machine = stage.machine
        assert [each.sandbox.id for each in contents] == list(machine.sandboxes)
        known = {one.id for each in contents for one in each.containers}
        assert known == {f"containerd://{each}" for each in machine.containers}
        assert stage.outcomes() == {}


def test_a_refusal_is_one_line_and_no_outage() -> None:
    with cri_stage() as stage:
        stage.follow()
        stage.cri.faults = [Fault(method="RunPodSandbox", failure=REFUSED)]
        failure = stage.refused(RunSandbox(pod=POD, attempt=0))
        assert (failure.kind, failure.message) == (
            RuntimeFailureKind.REFUSED,
            "no space left on device",
        )
        stage.play.advance(20.0)
        assert stage.away() == []


def test_a_call_that_hangs_is_given_up_and_its_late_outcome_is_no_second_answer() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.cri.faults = [Fault(method="RemoveContainer", delay=100.0)]
        ref = stage.send(RemoveContainer(id=container.id), deadline=30.0)
        stage.play.advance(65.0)
        outcome = stage.outcomes()[ref]
        assert isinstance(outcome, RuntimeFailure)
        assert outcome.kind is UNCERTAIN
        stage.play.advance(300.0)
        assert stage.outcomes() == {}
        assert stage.known(POD) == []


# --- stops that are not answered -----------------------------------------------------------------------


@pytest.mark.parametrize("exit_code", [0, 143])
def test_a_container_whose_exit_the_runtime_has_lost_is_stopped_with_its_exit_code(
    exit_code: int,
) -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.machine.lose_exit(bare(container), exit_code)
        outcome = stage.call(StopContainer(id=container.id, grace=Seconds(1.0)), within=7.0)
        assert isinstance(outcome, ContainerObserved)
        assert (outcome.state, outcome.exit_code) == (ContainerState.EXITED, exit_code)
        assert outcome.finished_at is not None
        # The runtime goes on to say that it runs, and nobody believes it.
        stage.play.advance(30.0)
        assert [each.state for each in stage.known(POD)] == [ContainerState.EXITED]


def test_another_agent_finds_what_has_no_task_stopped_at_once_with_an_unknown_exit() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.machine.lose_exit(bare(container), 0)
        stage.machine.delete_task(bare(container))
        outcome = stage.call(StopContainer(id=container.id, grace=Seconds(30.0)), within=0.2)
        assert isinstance(outcome, ContainerObserved)
        assert (outcome.state, outcome.exit_code, outcome.reason) == (
            ContainerState.EXITED,
            255,
            "Unknown",
        )
        assert stage.cri.count("Kill") == 0


@pytest.mark.parametrize("grace", [0.0, 3.0])
def test_what_runs_on_when_its_grace_is_over_is_killed_and_not_before(grace: float) -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.cri.faults = [Fault(method="StopContainer", delay=NEVER, effect_after=NEVER)]
        ref = stage.send(StopContainer(id=container.id, grace=Seconds(grace)))
        stage.play.advance(grace + 4.9)
        assert stage.cri.count("Kill") == 0
        stage.play.advance(0.5)
        outcome = stage.outcomes()[ref]
        assert isinstance(outcome, ContainerObserved)
        assert (outcome.state, outcome.exit_code) == (ContainerState.EXITED, 137)


def test_a_runtime_without_tasks_is_told_to_stop_at_once_when_a_grace_is_over() -> None:
    unknown = RpcFailure(code=RpcCode.UNIMPLEMENTED, message="unknown service Tasks")
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.cri.faults = [
            Fault(method="StopContainer", delay=NEVER, effect_after=NEVER),
            Fault(method="Kill", times=NEVER, failure=unknown),
            Fault(method="Delete", times=NEVER, failure=unknown),
        ]
        outcome = stage.call(StopContainer(id=container.id, grace=Seconds(1.0)), within=7.0)
        assert isinstance(outcome, ContainerObserved)
        assert (outcome.state, outcome.exit_code) == (ContainerState.EXITED, 137)
        graces = [
            asked.timeout
            for method, asked in stage.cri.asked
            if method == "StopContainer" and isinstance(asked, cri.StopContainerRequest)
        ]
        assert graces == [1, 0]


def test_what_the_runtime_cannot_remove_since_it_has_lost_its_exit_counts_as_removed() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        sandbox = stage.seen(POD)[0].sandbox
        stage.machine.lose_exit(bare(container), 0)
        stage.call(StopContainer(id=container.id, grace=Seconds(0.0)), within=7.0)
        stage.call(StopSandbox(id=sandbox.id))
        assert stage.call(RemoveSandbox(id=sandbox.id), within=12.0) is None
        stage.play.advance(30.0)
        assert stage.seen(POD) == ()
        # Its name is taken, so that the pod cannot be made again before what is left of it is known.
        assert isinstance(stage.call(RunSandbox(pod=POD, attempt=0)), RuntimeFailure)
        stage.play.advance(0.5)
        assert [each.sandbox.id for each in stage.seen(POD)] == [sandbox.id]
        stage.call(StopContainer(id=container.id, grace=Seconds(0.0)))
        stage.call(RemoveSandbox(id=sandbox.id), within=12.0)
        assert stage.seen(POD) == ()
        stage.wire.go_away()
        stage.play.advance(2.0)
        stage.machine.find_exits()
        stage.wire.come_back()
        stage.play.advance(5.0)
        assert [each.sandbox.id for each in stage.seen(POD)] == [sandbox.id]
        stage.call(RemoveSandbox(id=sandbox.id))
        assert sandbox.id not in stage.machine.sandboxes


def test_neighbours_of_a_pod_that_hangs_go_on() -> None:
    with cri_stage() as stage:
        stage.cri.faults = [
            Fault(
                method="RunPodSandbox",
                delay=NEVER,
                of=lambda request: request.config.metadata.name == POD.name,
            )
        ]
        ref = stage.send(RunSandbox(pod=POD, attempt=0))
        stage.started(OTHER)
        assert ref not in stage.outcomes()


def test_a_look_waits_for_what_is_in_progress_about_its_pod_alone() -> None:
    def is_stubborn(stage: CriStage) -> None:
        stage.machine.behaviours["main"] = Behaviour(ignores_term=True)

    with cri_stage(prepare=is_stubborn) as stage:
        container = stage.started(POD)
        stop = stage.send(StopContainer(id=container.id, grace=Seconds(3.0)))
        look, beside = stage.send(LookAtPod(uid=POD.uid)), stage.send(LookAtPod(uid=OTHER.uid))
        stage.play.advance(2.0)
        assert list(stage.outcomes()) == [beside]
        stage.play.advance(2.0)
        outcomes = stage.outcomes()
        assert list(outcomes) == [stop, look]
        seen, stopped = outcomes[look], outcomes[stop]
        assert isinstance(seen, PodContainersAre)
        assert seen.sandboxes[0].containers == (stopped,)


def test_a_name_that_nobody_can_be_seen_to_have_is_not_asked_for_without_a_pause() -> None:
    """An earlier call still goes on: its container is not listed, and its name is taken."""
    with cri_stage() as stage:
        sandbox = stage.sandbox(POD)
        name = f"main_{sandbox_name(stage.machine.sandboxes[sandbox.id].config)}"
        stage.machine.reserved[name] = "deadbeef"
        begun = stage.play.clock.monotonic()
        failure = stage.refused(creation_in(POD, sandbox))
        assert failure.kind is UNCERTAIN
        assert stage.play.clock.monotonic() - begun >= 0.5


def test_what_is_gone_is_stopped_and_removed() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.machine.remove_container(bare(container))
        assert stage.call(StopContainer(id=container.id, grace=Seconds(1.0))) is None
        assert stage.call(RemoveContainer(id=container.id)) is None
        assert stage.call(StopSandbox(id="unknown")) is None
        failure = stage.refused(StartContainer(id=container.id))
        assert failure.kind is RuntimeFailureKind.NOT_FOUND


def test_a_start_that_fails_has_exited_with_the_words_of_the_runtime() -> None:
    def cannot_start(stage: CriStage) -> None:
        stage.machine.behaviours["main"] = Behaviour(start_error="exec: no such file")

    with cri_stage(prepare=cannot_start) as stage:
        ended = stage.started(POD)
        assert (ended.state, ended.exit_code, ended.reason) == (
            ContainerState.EXITED,
            128,
            "StartError",
        )
        assert ended.message == "exec: no such file"


def test_a_container_in_a_sandbox_whose_pause_was_killed_is_not_found() -> None:
    with cri_stage() as stage:
        sandbox = stage.sandbox(POD)
        stage.machine.kill_pause(sandbox.id)
        failure = stage.refused(creation_in(POD, sandbox))
        assert failure.kind is RuntimeFailureKind.NOT_FOUND


def test_nothing_is_created_again_in_a_sandbox_that_has_ended_without_anybody_seeing_it() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        sandbox = stage.seen(POD)[0].sandbox
        stage.cri.loses_events = True
        stage.machine.end(bare(container), 137)
        stage.machine.kill_pause(sandbox.id)
        failure = stage.refused(creation_in(POD, sandbox, attempt=1))
        assert failure.kind is RuntimeFailureKind.NOT_FOUND
        assert stage.cri.count("CreateContainer") == 1
        (known,) = stage.memory.inventory.contents(POD.uid)
        assert known.sandbox.state is SandboxState.NOT_READY


# --- questions -----------------------------------------------------------------------------------------


def test_a_command_answers_its_exit_code_and_is_no_exit_of_the_container() -> None:
    def with_containerd_events(stage: CriStage) -> None:
        stage.cri.events = ("Subscribe",)
        stage.cri.execs[("sh", "-c", "probe")] = (3, "no")

    with cri_stage(prepare=with_containerd_events) as stage:
        container = stage.started(POD)
        stage.follow()
        asked = stage.cri.count("ListContainers")
        stage.ask(ExecInContainer(id=container.id, command=("sh", "-c", "probe")))
        stage.play.advance(0.5)
        (answered,) = stage.replies.drain()
        assert answered.answer == ExecEnded(exit_code=3, output="no")
        assert stage.told() == []
        assert stage.cri.count("ListContainers") == asked


def test_a_command_that_takes_too_long_was_killed_and_nothing_is_in_doubt() -> None:
    slow = RpcFailure(code=RpcCode.DEADLINE_EXCEEDED, message="timeout 1s exceeded")
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.cri.faults = [Fault(method="ExecSync", delay=1.03, failure=slow)]
        stage.ask(ExecInContainer(id=container.id, command=("sleep", "9")), deadline=1.0)
        stage.play.advance(2.0)
        (answered,) = stage.replies.drain()
        failure = answered.answer
        assert isinstance(failure, RuntimeFailure)
        assert (failure.kind, failure.reason) == (RuntimeFailureKind.REFUSED, "Timeout")


def test_a_question_that_the_runtime_does_not_know_is_not_supported() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        missing = RpcFailure(code=RpcCode.UNIMPLEMENTED, message="unknown method ExecSync")
        stage.cri.faults = [Fault(method="ExecSync", failure=missing)]
        stage.ask(ExecInContainer(id=container.id, command=("true",)))
        (answered,) = stage.replies.drain()
        assert isinstance(answered, ContainerAnswered)
        failure = answered.answer
        assert isinstance(failure, RuntimeFailure)
        assert failure.kind is RuntimeFailureKind.UNSUPPORTED


def test_a_command_that_writes_too_much_has_no_exit_code() -> None:
    too_large = RpcFailure(code=RpcCode.RESOURCE_EXHAUSTED, message="16777221 > 16777216")
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.cri.faults = [Fault(method="ExecSync", failure=too_large)]
        stage.ask(ExecInContainer(id=container.id, command=("yes",)))
        (answered,) = stage.replies.drain()
        failure = answered.answer
        assert isinstance(failure, RuntimeFailure)
        assert failure.message == "the command wrote more than 16 MiB, and its exit code is lost"


def test_questions_about_what_is_not_there_are_answered_so() -> None:
    with cri_stage() as stage:
        for question in (
            ReadContainerLog(id="containerd://none"),
            ExecInContainer(id="containerd://none", command=("true",)),
        ):
            stage.ask(question)
            (answered,) = stage.replies.drain()
            failure = answered.answer
            assert isinstance(failure, RuntimeFailure)
            assert failure.kind is RuntimeFailureKind.NOT_FOUND


def test_a_log_that_is_not_there_is_said_to_be_missing() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.ask(ReadContainerLog(id=container.id))
        (answered,) = stage.replies.drain()
        failure = answered.answer
        assert isinstance(failure, RuntimeFailure)
        assert failure.message == "log of container main: there is none"


# --- nonsense ------------------------------------------------------------------------------------------


def other_container(reply: Any) -> Any:
    reply.status.id = "somebody-else"
    return reply


def empty(reply: Any) -> Any:
    return type(reply)()


def hostile(reply: Any) -> Any:
    status = reply.status
    status.state, status.exit_code = 77, -(1 << 31)
    status.created_at, status.started_at, status.finished_at = -1, -(1 << 63), (1 << 63) - 1
    status.metadata.attempt = (1 << 32) - 1
    status.reason = "R" * 100_000
    status.message = "M\n" * 100_000
    status.labels.clear()
    status.annotations["io.kubernetes.container.restartCount"] = "9" * 5000
    return reply


@pytest.mark.parametrize("garbage", [other_container, empty, hostile])
@pytest.mark.parametrize("method", ["ContainerStatus", "PodSandboxStatus"])
def test_nonsense_about_one_pod_harms_no_other(method: str, garbage: Any) -> None:
    with cri_stage() as stage:
        stage.started(OTHER)
        stage.follow()
        if method == "PodSandboxStatus" and garbage is hostile:
            return  # a sandbox has no such fields
        stage.cri.faults = [Fault(method=method, times=NEVER, garbage=garbage)]
        sandbox = stage.call(RunSandbox(pod=POD, attempt=0))
        if isinstance(sandbox, SandboxObserved):
            stage.call(creation_in(POD, sandbox))
        stage.play.advance(30.0)
        assert stage.away() == []
        assert [each.state for each in stage.known(OTHER)] == [ContainerState.RUNNING]
        told = repr(stage.memory.inventory.contents(POD.uid))
        assert len(told) < 10_000
        stage.cri.faults.clear()
        stage.play.advance(15.0)
        contents = stage.seen(POD)
        assert [each.sandbox.id for each in contents if each.pod.uid == POD.uid] == [
            each.id
            for each in stage.machine.sandboxes.values()
            if each.config.metadata.name == "web"
        ]
        assert {one.state for each in contents for one in each.containers} <= {
            ContainerState.CREATED
        }
        assert stage.memory.operations.running == {}


def test_an_attempt_that_no_number_follows_is_no_crash() -> None:
    with cri_stage() as stage:
        stage.cri.faults = [Fault(method="ContainerStatus", times=NEVER, garbage=hostile)]
        sandbox = stage.sandbox(POD)
        made = stage.created(POD, sandbox)
        request: CreateContainer = creation_in(POD, sandbox, attempt=made.attempt + 1)
        assert isinstance(stage.call(request), ContainerObserved)


def test_a_container_that_cannot_be_read_is_there_and_stays_as_it_was() -> None:
    broken = RpcFailure(code=RpcCode.OTHER, message="failed to get container: metadata is broken")
    with cri_stage() as stage:
        container = stage.started(POD)
        unread = stage.machine.create_container(
            stage.seen(POD)[0].sandbox.id, named(stage.machine.containers[bare(container)].config)
        )
        stage.follow()
        stage.cri.faults = [Fault(method="ContainerStatus", times=NEVER, failure=broken)]
        stage.play.advance(11.0)
        states = {bare(each): each.state for each in stage.known(POD)}
        assert states == {
            bare(container): ContainerState.RUNNING,
            unread: ContainerState.CREATED,
        }
        assert stage.away() == []


def named(config: cri.ContainerConfig) -> cri.ContainerConfig:
    """Return the configuration of another container."""
    other = cri.ContainerConfig()
    other.CopyFrom(config)
    other.metadata.name = "beside"
    other.labels["io.kubernetes.container.name"] = "beside"
    return other


def test_containers_and_sandboxes_that_are_no_pods_are_left_alone() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        config = stage.machine.containers[bare(container)].config
        lost = stage.machine.create_container(stage.seen(POD)[0].sandbox.id, named(config))
        stage.machine.containers[lost].sandbox_id = "there-is-none"
        nobodys = cri.PodSandboxConfig(metadata=cri.PodSandboxMetadata(name="nobodys"))
        stage.machine.run_sandbox(nobodys)
        stage.follow()
        stage.play.advance(20.0)
        assert [bare(each) for each in stage.known(POD)] == [bare(container)]
        assert len(stage.memory.inventory.everything()) == 1


def test_two_requests_to_many_pods_at_once_are_each_answered() -> None:
    pods: list[Pod] = [cri_pod(f"web-{number}") for number in range(100)]
    with cri_stage() as stage:
        refs = [stage.send(RunSandbox(pod=pod, attempt=0)) for pod in pods for _ in range(2)]
        stage.play.advance(5.0)
        outcomes = stage.outcomes()
        assert sorted(outcomes) == refs
        assert sum(isinstance(each, SandboxObserved) for each in outcomes.values()) == 100
        assert isinstance(stage.call(LookAtPod(uid=pods[0].uid)), PodContainersAre)


def test_a_container_has_the_image_that_its_name_means_when_it_is_created() -> None:
    old, new = f"sha256:{1:0>64x}", f"sha256:{2:0>64x}"
    with cri_stage() as stage:
        for image in (old, new):
            # Somebody gives the name to another image; the one before stays, by its other name.
            stage.machine.images.ids |= {IMAGE: image, f"mirror.example/{image[-1]}:1": image}
            container = stage.started(POD, attempt=int(image[-1]))
            assert stage.machine.containers[bare(container)].config.image.image == image


# --- what is kept of pods ------------------------------------------------------------------------------


def test_what_people_should_know_of_a_pod_is_said_once_however_often_its_sandbox_is_tried() -> None:
    pod, other = (
        make_pod(name, spec={"dnsPolicy": "ClusterFirst", "containers": []}) for name in "ab"
    )
    with cri_stage() as stage:
        stage.cri.faults = [Fault(method="RunPodSandbox", failure=REFUSED, times=3)]
        for attempt in range(3):
            stage.refused(RunSandbox(pod=pod, attempt=attempt))
        assert [each.reason for each in stage.parts.notices] == ["MissingClusterDNS"]
        stage.sandbox(other)
        assert [each.reason for each in stage.parts.notices] == ["MissingClusterDNS"] * 2
        stage.play.tell(CRI_CONTAINERS, ForgetPodsBut(frozenset()))
        stage.sandbox(pod, attempt=3)
        assert len(stage.parts.notices) == 3


def test_user_ids_come_back_of_pods_that_are_gone_and_never_got_a_sandbox() -> None:
    starting, running, wanted, gone = map(cri_pod, ("starting", "running", "wanted", "gone"))
    with cri_stage() as stage:
        ids = stage.parts.context.user_ids
        first = {pod.uid: ids.of(pod.uid) for pod in (starting, running, wanted, gone)}
        stage.sandbox(running)
        stage.cri.faults = [Fault(method="RunPodSandbox", delay=NEVER, failure=BROKEN)]
        stage.send(RunSandbox(pod=starting, attempt=0))
        assert len(stage.machine.sandboxes) == 1  # nothing is to be seen of the other one yet
        stage.play.tell(CRI_CONTAINERS, ForgetPodsBut(frozenset({wanted.uid})))
        assert ids.pods() == {starting.uid, running.uid, wanted.uid}
        assert ids.of(OTHER.uid) == first[gone.uid]


def test_user_ids_stay_while_the_runtime_is_away() -> None:
    with cri_stage() as stage:
        stage.follow()
        stage.parts.context.user_ids.of(POD.uid)
        stage.wire.go_away()
        stage.play.advance(10.0)
        assert stage.away()
        stage.play.tell(CRI_CONTAINERS, ForgetPodsBut(frozenset()))
        assert stage.parts.context.user_ids.pods() == {POD.uid}


class FailsOnce(Probe[RuntimeFact]):
    """A follower over which the runtime's actor crashes when it tells the first change of a pod."""

    has_failed = False

    @override
    def tell(self, message: RuntimeFact, /) -> None:
        if isinstance(message, PodContainersAre) and not self.has_failed:
            self.has_failed = True
            raise RuntimeError("a bug")
        super().tell(message)


def test_a_crash_right_after_an_answer_is_no_second_answer() -> None:
    with cri_stage() as stage:
        follower = FailsOnce()
        stage.play.tell(CRI_CONTAINERS, FollowContainers(subscriber=follower))
        ref = stage.send(RunSandbox(pod=POD, attempt=0))
        stage.play.advance(3.0)
        assert follower.has_failed
        outcomes = stage.outcomes()
        assert list(outcomes) == [ref]
        assert isinstance(outcomes[ref], SandboxObserved)
