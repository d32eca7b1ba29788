"""Signals reach the containers that they are for, and nobody else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from messages.container_runtime import (
    RuntimeFailure,
    RuntimeFailureKind,
    SignalContainer,
    StopContainer,
)
from messages.pod_runtime import ContainerObserved, ContainersSignalled, SignalContainers
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.containers.actor import POD_RUNTIME
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure
from tests.support.cri.cri_stage import CriStage, cri_pod, cri_stage
from tests.support.cri.fake_cri import Fault
from tests.support.kernel.probe import Probe
from tests.support.runtimes.containers_stage import (
    ContainersStage,
    PodsStage,
    containers_stage,
    scripted_stage,
)
from tests.support.runtimes.hollow_stage import hollow_pod
from tests.support.runtimes.scripted_containers import Deed

POD = cri_pod()
KILL = ("kill", "-s", "HUP", "1")


def sent_to(stage: PodsStage, **instances: str) -> Probe[ContainersSignalled]:
    """Ask for SIGHUP, and return where the answer comes."""
    answers: Probe[ContainersSignalled] = Probe()
    uid = PodUid(hollow_pod().uid)
    stage.play.tell(
        POD_RUNTIME,
        SignalContainers(
            uid=uid, signal="SIGHUP", instances=instances, reply_to=answers, ref="a change"
        ),
    )
    return answers


def id_of(stage: PodsStage) -> str:
    current = stage.container().current
    assert current is not None
    return current.id


def signals_of(stage: ContainersStage, container_id: str) -> list[str]:
    record = stage.hollow_memory.core.machine.inventory.container(container_id)
    assert record is not None
    return [name for _, name in record.signals]


# --- pods ----------------------------------------------------------------------------------------------


def test_a_signal_is_sent_to_the_instance_that_is_meant() -> None:
    with containers_stage() as stage:
        stage.run(hollow_pod())
        main = id_of(stage)
        answers = sent_to(stage, main=main, gone="hollow://other")
        told = answers.next()
        assert (told.uid, told.ref) == (hollow_pod().uid, "a change")
        assert told.failures == {"gone": "it does not run any more"}
        assert signals_of(stage, main) == ["SIGHUP"]
        # Another instance of the name has not to be told anything.
        assert sent_to(stage, main="hollow://earlier").next().failures.keys() == {"main"}
        assert signals_of(stage, main) == ["SIGHUP"]


def test_a_container_may_end_by_a_signal_that_it_does_not_handle() -> None:
    with containers_stage() as stage:
        stage.run(hollow_pod(ends_by_signal="SIGHUP"))
        main = id_of(stage)
        assert sent_to(stage, main=main).next().failures == {}
        last = stage.container().last
        assert last is not None
        assert last.exit_code == 129


def test_a_pod_that_nobody_knows_gets_no_signal() -> None:
    with containers_stage() as stage:
        assert sent_to(stage, main="hollow://x").next().failures.keys() == {"main"}


def test_who_asks_again_after_a_crash_is_answered_once() -> None:
    with scripted_stage() as stage:
        stage.run(hollow_pod())
        main = id_of(stage)
        stage.containers.next(SignalContainer, Deed.HELD)
        lost = sent_to(stage, main=main)
        stage.crash()
        stage.containers.release()
        stage.play.settle()
        assert lost.drain() == []
        assert len(sent_to(stage, main=main).drain()) == 1


# --- containers that speak the CRI ---------------------------------------------------------------------


def started(stage: CriStage) -> ContainerObserved:
    stage.follow()
    return stage.started(POD)


def kills(stage: CriStage) -> list[tuple[str, ...]]:
    """Return the commands that were run in containers."""
    return [
        tuple(request.cmd)
        for _, request in stage.cri.asked
        if isinstance(request, cri.ExecSyncRequest)
    ]


def test_kill_is_run_where_no_process_id_is_told() -> None:
    with cri_stage() as stage:
        container = started(stage)
        assert stage.call(SignalContainer(id=container.id, signal="SIGHUP")) is None
        assert kills(stage) == [KILL]


def test_a_process_that_is_not_the_containers_gets_no_signal() -> None:
    with (
        cri_stage() as stage,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as innocent,
    ):
        container = started(stage)
        only = next(iter(stage.machine.containers.values()))
        only.pid = innocent.pid
        assert stage.call(SignalContainer(id=container.id, signal="SIGHUP")) is None
        assert kills(stage) == [KILL]
        assert innocent.poll() is None
        innocent.kill()


@pytest.mark.parametrize("mode", [cri.POD, cri.NODE])
def test_kill_is_never_run_where_process_1_is_somebody_else(mode: cri.NamespaceMode) -> None:
    with cri_stage() as stage:
        container = started(stage)
        for sandbox in stage.machine.sandboxes.values():
            sandbox.config.linux.security_context.namespace_options.pid = mode
        failure = stage.refused(SignalContainer(id=container.id, signal="SIGHUP"))
        assert failure.kind is RuntimeFailureKind.REFUSED
        assert failure.message.endswith("kill in it would reach somebody else")
        assert kills(stage) == []


def test_an_image_without_kill_says_so() -> None:
    with cri_stage() as stage:
        container = started(stage)
        no_kill = RpcFailure(code=RpcCode.OTHER, message='exec: "kill": not found in $PATH')
        stage.cri.faults = [Fault(method="ExecSync", failure=no_kill)]
        failure = stage.refused(SignalContainer(id=container.id, signal="SIGHUP"))
        assert failure.message == (
            "the runtime does not tell its process id, and kill cannot be run in it: "
            'exec: "kill": not found in $PATH'
        )
        stage.cri.execs[KILL] = (1, "No such process")
        failure = stage.refused(SignalContainer(id=container.id, signal="SIGHUP"))
        assert failure.message.endswith("kill in it ended with 1: No such process")


def test_one_that_has_ended_is_not_found() -> None:
    with cri_stage() as stage:
        container = started(stage)
        with subprocess.Popen(["/bin/true"]) as ended:
            ended.wait()
        only = next(iter(stage.machine.containers.values()))
        only.pid = ended.pid
        stage.call(StopContainer(id=container.id, grace=Seconds(1.0)))
        outcome = stage.call(SignalContainer(id=container.id, signal="SIGHUP"))
        assert isinstance(outcome, RuntimeFailure)
        assert outcome.kind is RuntimeFailureKind.NOT_FOUND
