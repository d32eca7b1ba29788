"""What answers teach of a pod, one by one."""

from __future__ import annotations

import pytest

from messages.container_runtime import (
    PodContainersAre,
    RemoveContainer,
    ResizeContainer,
    RunSandbox,
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeOutcome,
    RuntimeRequest,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import ContainerState, SandboxState
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.containers.contents import with_container
from runtimes.containers.learning import learn, note_vanished
from runtimes.containers.record import RuntimeRecord
from runtimes.containers.situation import SANDBOX, Step
from tests.support.builders import make_pod
from tests.support.runtimes.situations import (
    NOW,
    created,
    dead_sandbox,
    exited,
    running,
    sandbox,
    unknown,
)

POD = make_pod()


@pytest.fixture
def record() -> RuntimeRecord:
    return RuntimeRecord(
        PodUid(POD.uid), 1, pod=POD, contents=(sandbox(running("a"), running("b")),)
    )


def teach(
    record: RuntimeRecord, target: str, request: RuntimeRequest, outcome: RuntimeOutcome
) -> None:
    learn(record, Step(target, request), outcome, NOW, Seconds(300.0))


def stop(name: str) -> StopContainer:
    return StopContainer(id=f"{name}-0", grace=Seconds(1.0))


def names(record: RuntimeRecord) -> list[str]:
    return [one.id for each in record.contents for one in each.containers]


def test_a_container_that_is_not_there_was_stopped(record: RuntimeRecord) -> None:
    teach(record, "a", stop("a"), None)
    assert names(record) == ["b-0"]
    assert record.notes is not None
    assert record.notes["a"].highest == 0


def test_a_container_that_still_lives_after_its_stop_makes_the_pod_wait(
    record: RuntimeRecord,
) -> None:
    teach(record, "a", stop("a"), unknown("a"))
    teach(record, "a", stop("a"), running("a"))  # it failed together with the one before
    assert record.paused_until == NOW + 1
    teach(record, "a", stop("a"), exited("a"))
    assert record.failures == 0


def test_a_stopped_sandbox_is_not_ready_and_its_containers_stay(record: RuntimeRecord) -> None:
    teach(record, SANDBOX, StopSandbox(id="sandbox-0"), None)
    assert record.contents[0].sandbox.state is SandboxState.NOT_READY
    assert names(record) == ["a-0", "b-0"]


def test_what_is_removed_is_gone(record: RuntimeRecord) -> None:
    teach(record, "a-0", RemoveContainer(id="a-0"), None)
    assert names(record) == ["b-0"]


def test_a_sandbox_that_was_there_is_as_it_is_now(record: RuntimeRecord) -> None:
    teach(record, SANDBOX, RunSandbox(pod=POD, attempt=0), dead_sandbox().sandbox)
    assert [each.sandbox.state for each in record.contents] == [SandboxState.NOT_READY]


def test_the_newest_sandbox_is_first(record: RuntimeRecord) -> None:
    teach(record, SANDBOX, RunSandbox(pod=POD, attempt=1), sandbox(attempt=1).sandbox)
    assert [each.sandbox.attempt for each in record.contents] == [1, 0]


def test_a_look_replaces_all_that_was_known(record: RuntimeRecord) -> None:
    seen = PodContainersAre(uid=record.uid, sandboxes=(dead_sandbox(), sandbox(attempt=2)))
    teach(record, record.uid, ResizeContainer(pod=POD, id="a-0", resources={}), seen)
    assert [each.sandbox.attempt for each in record.contents] == [2, 0]
    assert record.highest_sandbox == 0


@pytest.mark.parametrize("kind", [RuntimeFailureKind.NOT_FOUND, RuntimeFailureKind.UNCERTAIN])
def test_what_is_not_certain_is_looked_at(record: RuntimeRecord, kind: RuntimeFailureKind) -> None:
    teach(record, "a", stop("a"), RuntimeFailure(kind=kind, message="lost"))
    assert record.is_in_doubt


def test_a_refused_stop_is_certain(record: RuntimeRecord) -> None:
    failure = RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message="no")
    teach(record, "a", stop("a"), failure)
    assert (record.is_in_doubt, record.paused_until) == (False, NOW + 1)


def test_a_container_is_discarded_only_if_it_surely_cannot_be_started(
    record: RuntimeRecord,
) -> None:
    for kind, discarded in (
        (RuntimeFailureKind.UNCERTAIN, ""),
        (RuntimeFailureKind.REFUSED, "a-0"),
    ):
        failure = RuntimeFailure(kind=kind, message="bad command")
        teach(record, "a", StartContainer(id="a-0"), failure)
        assert record.notes_of("a").discarded_id == discarded


def test_an_answer_about_what_is_gone_changes_nothing() -> None:
    contents = (sandbox(running("a")),)
    assert with_container(contents, created("b")) == contents


def test_attempts_that_vanished_are_remembered(record: RuntimeRecord) -> None:
    before = (sandbox(exited("a", 1, 4), attempt=2),)
    note_vanished(record, before, ())
    assert (record.notes_of("a").highest, record.highest_sandbox) == (4, 2)
    assert record.contents[0].containers[0].state is ContainerState.RUNNING
