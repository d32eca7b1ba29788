"""Commands in hollow containers, their logs, and what they use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from messages.container_runtime import (
    AskContainer,
    ContainerAnswered,
    ContainerLog,
    ContainerQuestion,
    ExecEnded,
    ExecInContainer,
    ReadContainerLog,
    RuntimeFailure,
    RuntimeFailureKind,
    StopContainer,
)
from messages.units import Seconds, Timestamp
from runtimes.hollow.actor import HOLLOW_CONTAINERS
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.probe import Probe
from tests.support.runtimes.hollow_stage import HollowStage, hollow_pod, hollow_stage


@pytest.fixture
def hollow() -> Iterator[HollowStage]:
    with hollow_stage() as stage:
        yield stage


def ask(hollow: HollowStage, question: ContainerQuestion) -> object:
    """Return the answer to a question, which comes once."""
    answers: Probe[ContainerAnswered] = Probe()
    message = AskContainer(question=question, reply_to=answers, ref="r")
    hollow.play.tell(HOLLOW_CONTAINERS, message)
    (answered,) = answers.drain()
    assert answered.ref == "r"
    return answered.answer


def log(hollow: HollowStage, container: str, **limits: object) -> list[tuple[float, str]]:
    """Return the log of a container: seconds since the test's epoch, and text."""
    found = ask(hollow, ReadContainerLog(id=container, **limits))  # type: ignore[arg-type]
    assert isinstance(found, ContainerLog)
    return [(line.at - EPOCH, line.text) for line in found.lines]


def with_command(*command: str) -> dict[str, object]:
    return {"containers": [{"name": "main", "image": "i", "command": list(command)}]}


def test_a_log_has_a_line_for_each_step_and_for_what_is_echoed(hollow: HollowStage) -> None:
    spec = with_command("sh", "-c", "echo hello; sleep 5; echo bye; exit 3")
    container = hollow.started(hollow_pod(spec=spec, ready_after="2s")).id
    begin = [(0.0, "hollow: attempt 0 of main starts"), (0.0, "hello")]
    assert log(hollow, container) == begin
    hollow.play.advance(3)
    assert log(hollow, container) == [*begin, (2.0, "hollow: ready")]
    hollow.play.advance(3)
    ended = [(5.0, "bye"), (5.0, "hollow: ends with exit code 3, Error")]
    assert log(hollow, container) == [*begin, (2.0, "hollow: ready"), *ended]
    assert log(hollow, container, tail=2) == ended
    assert log(hollow, container, tail=0) == []
    assert log(hollow, container, tail=99, since=Timestamp(EPOCH + 4)) == ended


def test_what_was_not_reached_is_not_in_the_log(hollow: HollowStage) -> None:
    spec = with_command("sh", "-c", "sleep 50; echo late")
    container = hollow.started(hollow_pod(spec=spec, ready_after="30s")).id
    hollow.play.advance(1)
    hollow.call(StopContainer(id=container, grace=Seconds(30)))
    hollow.play.advance(100)
    assert [text for _, text in log(hollow, container)] == [
        "hollow: attempt 0 of main starts",
        "hollow: ends with exit code 0, Completed",
    ]


def test_a_container_that_was_never_started_has_no_log(hollow: HollowStage) -> None:
    pod = hollow_pod()
    assert log(hollow, hollow.created(pod, hollow.sandbox(pod)).id) == []


@pytest.mark.parametrize(
    ("command", "ended"),
    [
        (["echo", "a", "b"], (0, "a b\n")),
        (["sh", "-c", "echo a; exit 4"], (4, "a\n")),
        (["cat", "/etc/passwd"], (0, "")),
        ([], (0, "")),
    ],
)
def test_a_command_in_a_container_ends_as_it_says(
    hollow: HollowStage, command: list[str], ended: tuple[int, str]
) -> None:
    container = hollow.started(hollow_pod()).id
    answer = ask(hollow, ExecInContainer(id=container, command=tuple(command)))
    assert isinstance(answer, ExecEnded)
    assert (answer.exit_code, answer.output) == ended


def test_an_annotation_says_how_commands_end(hollow: HollowStage) -> None:
    container = hollow.started(hollow_pod(exec_exit_code="7")).id
    answer = ask(hollow, ExecInContainer(id=container, command=("true",)))
    assert answer == ExecEnded(exit_code=7, note="hollow: nothing was run")


def test_only_what_runs_answers(hollow: HollowStage) -> None:
    unknown = ask(hollow, ExecInContainer(id="x", command=("true",)))
    assert isinstance(unknown, RuntimeFailure)
    assert unknown.kind is RuntimeFailureKind.NOT_FOUND
    container = hollow.started(hollow_pod()).id
    hollow.call(StopContainer(id=container, grace=Seconds(1)))
    stopped = ask(hollow, ExecInContainer(id=container, command=("true",)))
    assert isinstance(stopped, RuntimeFailure)
    assert stopped.kind is RuntimeFailureKind.REFUSED
