"""What changes in a runtime by itself, or by other hands, is seen: by events, and without them."""

from __future__ import annotations

import pytest

from messages.container_runtime import PodContainersAre, StartContainer, StopContainer
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxState
from messages.units import Seconds
from runtimes.cri.events import SomethingHappened
from runtimes.cri.inventory import ContainerExit
from runtimes.cri.messages import CRI_CONTAINERS, StreamTold
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure
from tests.support.cri.cri_stage import CriStage, creation_in, cri_pod, cri_stage
from tests.support.cri.fake_cri import CONTAINERD_EVENTS, CRI_EVENTS, Fault, task_exit
from tests.support.cri.fake_machine import Behaviour

POD, OTHER = cri_pod(), cri_pod("other")
EXITED, RUNNING = ContainerState.EXITED, ContainerState.RUNNING


def with_containerd_events(stage: CriStage) -> None:
    stage.cri.events = (CONTAINERD_EVENTS,)


def bare(container: ContainerObserved) -> str:
    return container.id.removeprefix("containerd://")


def states_told(stage: CriStage) -> list[tuple[ContainerState, int | None, str]]:
    """Return how the only container of the pod was told to be, in order."""
    return [
        (one.state, one.exit_code, one.reason)
        for fact in stage.told(POD)
        if isinstance(fact, PodContainersAre)
        for each in fact.sandboxes
        for one in each.containers
    ]


def test_an_exit_is_known_by_its_event_and_its_reason_a_moment_later() -> None:
    def is_killed(stage: CriStage) -> None:
        with_containerd_events(stage)
        stage.machine.behaviours["main"] = Behaviour(
            run_for=5.0, is_oom_killed=True, says_running_for=0.23
        )

    with cri_stage(prepare=is_killed) as stage:
        stage.started(POD)
        stage.follow()
        stage.play.advance(5.001)
        assert states_told(stage) == [(EXITED, 137, "Error")]
        assert [each.is_reason_open for each in stage.known(POD)] == [True]
        stage.play.advance(0.2)
        assert states_told(stage) == []
        stage.play.advance(1.0)
        assert states_told(stage) == [(EXITED, 137, "OOMKilled")]
        assert [each.is_reason_open for each in stage.known(POD)] == [False]


def test_the_end_of_a_sandbox_is_known_by_its_event_while_the_runtime_says_that_it_is_ready() -> (
    None
):
    with cri_stage(prepare=with_containerd_events) as stage:
        stage.started(POD)
        stage.follow()
        stage.machine.kill_pause(stage.seen(POD)[0].sandbox.id, says_ready_for=3.0)
        stage.play.settle()
        told = [
            each.sandbox.state
            for fact in stage.told(POD)
            if isinstance(fact, PodContainersAre)
            for each in fact.sandboxes
        ]
        assert told == [SandboxState.NOT_READY]
        for _ in range(4):
            stage.play.advance(1.0)
            assert [each.sandbox.state for each in stage.seen(POD)] == [SandboxState.NOT_READY]
            assert stage.memory.inventory.is_settled(POD.uid) == (
                stage.machine.sandbox_status(stage.seen(POD)[0].sandbox.id).state
                == cri.SANDBOX_NOTREADY
            )


def test_events_that_wait_are_one_for_each_container_and_one_for_its_exit() -> None:
    with cri_stage(prepare=with_containerd_events) as stage:
        container = stage.started(POD)
        stage.follow()
        actor, stream = stage.play.port(CRI_CONTAINERS), stage.memory.stream
        exited = SomethingHappened(id=bare(container), exited=ContainerExit(7, 1), at=1)
        actor.tell(StreamTold(stream=stream, happened=exited))
        for at in range(1000):
            for each in (bare(container), "of-somebody-else"):
                happened = SomethingHappened(id=each, at=at)
                actor.tell(StreamTold(stream=stream, happened=happened))
            actor.tell(StreamTold(stream=stream, happened=None))
        assert stage.play.waiting(CRI_CONTAINERS) == 4
        stage.play.settle()
        assert states_told(stage)[0] == (EXITED, 7, "Error")


@pytest.mark.parametrize("events", [(CRI_EVENTS,), (CONTAINERD_EVENTS,), ()])
def test_a_container_that_lives_for_20_ms_is_seen_with_its_exit_code(
    events: tuple[str, ...],
) -> None:
    def is_short(stage: CriStage) -> None:
        stage.cri.events = events
        stage.machine.behaviours["main"] = Behaviour(run_for=0.02, exit_code=7)

    with cri_stage(prepare=is_short) as stage:
        stage.started(POD)
        stage.play.advance(1.5)
        (ended,) = stage.known(POD)
        assert (ended.state, ended.exit_code) == (EXITED, 7)
        assert ended.started_at is not None


def test_an_exit_event_that_stays_wrong_is_believed_without_asking_for_ever() -> None:
    with cri_stage(prepare=with_containerd_events) as stage:
        container = stage.started(POD)
        stage.follow()
        at = container.started_at
        assert at is not None
        for stream in stage.cri.streams:
            stream.told(task_exit(bare(container), 9, int(at * 1e9) + 1))
        stage.cri.asked.clear()
        stage.play.advance(60.0)
        assert states_told(stage) == [(EXITED, 9, "Error")]
        assert stage.cri.count("ContainerStatus") < 15


def test_everything_is_looked_at_each_second_as_soon_as_events_have_ended() -> None:
    with cri_stage() as stage:
        stage.play.advance(3.0)
        stage.cri.events = ()
        stage.cri.end_streams(RpcFailure(code=RpcCode.OTHER, message="no more"))
        stage.cri.asked.clear()
        stage.play.advance(3.5)
        assert stage.cri.count("ListContainers") >= 3


def test_a_container_whose_sandbox_is_gone_is_removed_so_that_its_name_is_free() -> None:
    with cri_stage() as stage:
        left = bare(stage.started(POD))
        runs = bare(stage.started(OTHER))
        stage.call(StopContainer(id=left, grace=Seconds(0.0)))
        for container in (left, runs):
            del stage.machine.sandboxes[stage.machine.containers[container].sandbox_id]
        stage.play.advance(11.0)
        assert left not in stage.machine.containers
        assert runs in stage.machine.containers


def test_a_container_that_is_no_pods_stays_though_its_sandbox_is_gone() -> None:
    with cri_stage() as stage:
        config = cri.ContainerConfig()
        config.CopyFrom(stage.machine.containers[bare(stage.started(POD))].config)
        config.metadata.name = "nobodys"
        config.labels.clear()
        nobodys = stage.machine.create_container(stage.seen(POD)[0].sandbox.id, config)
        stage.machine.containers[nobodys].sandbox_id = "there-is-none"
        looks = stage.cri.count("ListContainers")
        stage.play.advance(11.0)
        assert stage.cri.count("ListContainers") > looks
        assert nobodys in stage.machine.containers


def test_an_event_of_a_container_that_nobody_knows_is_followed_by_no_question() -> None:
    with cri_stage(prepare=with_containerd_events) as stage:
        stage.play.advance(5.0)
        asked = len(stage.cri.asked)
        for stream in stage.cri.streams:
            stream.told(task_exit("somebody-else", 9, 1))
        stage.play.settle()
        assert len(stage.cri.asked) == asked


@pytest.mark.parametrize(("events", "within"), [((CRI_EVENTS,), 0.1), ((), 1.1)])
def test_what_other_hands_have_done_is_seen(events: tuple[str, ...], within: float) -> None:
    def with_events(stage: CriStage) -> None:
        stage.cri.events = events

    with cri_stage(prepare=with_events) as stage:
        container, beside = stage.started(POD), stage.started(OTHER)
        stage.play.advance(3.0)
        stage.follow()
        stage.machine.remove_container(bare(container))
        stage.machine.remove_sandbox(stage.machine.containers[bare(beside)].sandbox_id)
        config = cri_config(stage)
        stage.machine.run_sandbox(config)
        stage.play.advance(within)
        assert stage.known(POD) == []
        assert stage.memory.inventory.contents(OTHER.uid) == ()
        (contents,) = stage.memory.inventory.contents(cri_pod("third").uid)
        assert contents.pod.name == "third"
        told = {each.uid for each in stage.told() if isinstance(each, PodContainersAre)}
        assert told == {POD.uid, OTHER.uid, cri_pod("third").uid}


def cri_config(stage: CriStage) -> cri.PodSandboxConfig:
    """Return what somebody else would make a sandbox of, for the pod ``third``."""
    (first, *_) = stage.machine.sandboxes.values()
    config = cri.PodSandboxConfig()
    config.CopyFrom(first.config)
    config.metadata.name, config.metadata.uid = "third", cri_pod("third").uid
    config.labels["io.kubernetes.pod.name"] = "third"
    config.labels["io.kubernetes.pod.uid"] = cri_pod("third").uid
    return config


def test_an_event_that_is_lost_costs_ten_seconds() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.cri.loses_events = True
        stage.machine.end(bare(container), 4)
        stage.play.advance(10.2)
        assert [each.exit_code for each in stage.known(POD)] == [4]


def test_what_happened_while_nobody_followed_is_in_the_first_account() -> None:
    """The stream stands before anything is listed: what happens in between is told by it."""
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.wire.go_away()
        stage.play.advance(1.0)
        stage.cri.asked.clear()
        stage.wire.come_back()
        stage.cri.faults = [Fault(method="ListPodSandbox", delay=0.5)]
        stage.play.advance(0.4)
        stage.machine.end(bare(container), 5)
        stage.play.advance(0.7)
        methods = [method for method, _ in stage.cri.asked]
        assert methods.index(CRI_EVENTS) < methods.index("ListContainers")
        assert [each.exit_code for each in stage.known(POD)] == [5]


def test_a_look_that_began_before_an_answer_does_not_undo_it() -> None:
    def hold(stage: CriStage, method: str) -> None:
        stage.cri.faults.append(Fault(method=method, delay=3.0))

    with cri_stage() as stage:
        sandbox = stage.sandbox(POD)
        created = stage.created(POD, sandbox)
        stage.play.advance(2.0)
        stage.follow()
        hold(stage, "ListPodSandbox")  # its look has listed the containers before anything happens
        stage.play.advance(9.0)
        started = stage.call(StartContainer(id=created.id))
        beside = stage.call(creation_in(POD, sandbox, "beside"))
        stage.play.advance(10.0)
        assert {each.id: each.state for each in stage.known(POD)} == {
            created.id: RUNNING,
            beside.id if isinstance(beside, ContainerObserved) else "": ContainerState.CREATED,
        }
        assert isinstance(started, ContainerObserved)
        for fact in stage.told(POD):
            assert isinstance(fact, PodContainersAre)
            state = {one.id: one.state for one in fact.sandboxes[0].containers}[created.id]
            assert state is RUNNING


def test_a_container_does_not_run_again_after_its_end_whatever_the_runtime_says() -> None:
    with cri_stage() as stage:
        container = stage.started(POD)
        stage.machine.end(bare(container), 1)
        stage.play.advance(1.0)
        stage.follow()
        stage.machine.containers[bare(container)].state = cri.CONTAINER_RUNNING
        stage.play.advance(30.0)
        assert states_told(stage) == []
        assert [each.state for each in stage.known(POD)] == [EXITED]


def test_repeated_events_tell_nobody_twice() -> None:
    def repeats(stage: CriStage) -> None:
        stage.cri.repeats_events = True

    with cri_stage(prepare=repeats) as stage:
        container = stage.started(POD)
        stage.play.advance(1.0)
        stage.follow()
        stage.machine.end(bare(container), 1)
        stage.play.advance(5.0)
        assert states_told(stage) == [(EXITED, 1, "Error")]


# --- many ----------------------------------------------------------------------------------------------


def test_a_thousand_dead_containers_at_the_start_are_asked_for_32_at_a_time() -> None:
    with cri_stage() as stage:
        sandbox = stage.sandbox(POD)
        template = stage.created(POD, sandbox)
        config = stage.machine.containers[bare(template)].config
        for attempt in range(1, 1000):
            one = cri.ContainerConfig()
            one.CopyFrom(config)
            one.metadata.attempt = attempt
            made = stage.machine.create_container(sandbox.id, one)
            stage.machine.start_container(made)
            stage.machine.end(made, 1)
        stage.wire.go_away()
        stage.play.advance(1.0)
        stage.wire.most_in_flight = 0
        stage.wire.come_back()
        stage.play.advance(1.0)
        assert len(stage.known(POD)) == 1000
        assert stage.wire.most_in_flight <= 32 + 8


def test_a_hundred_containers_of_one_pod_run() -> None:
    pod = cri_pod("many", *(f"c{number}" for number in range(100)))
    with cri_stage() as stage:
        sandbox = stage.sandbox(pod)
        refs = [stage.send(creation_in(pod, sandbox, f"c{number}")) for number in range(100)]
        stage.play.advance(1.0)
        made = stage.outcomes()
        assert sorted(made) == refs
        for each in made.values():
            assert isinstance(each, ContainerObserved)
            stage.send(StartContainer(id=each.id))
        stage.play.advance(1.0)
        assert len(stage.outcomes()) == 100
        assert {each.state for each in stage.known(pod)} == {RUNNING}
