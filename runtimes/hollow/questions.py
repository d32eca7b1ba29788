"""What a hollow container answers: commands in it, and its log. Pure.

Nothing of that is kept: a log follows from when the container started and ended, and what it uses from what
its specification requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from messages.container_runtime import (
    ContainerLog,
    ContainerQuestion,
    ExecEnded,
    ExecInContainer,
    LogLine,
    ReadContainerLog,
    RuntimeFailure,
)
from messages.units import Timestamp
from runtimes.hollow.commands import run
from runtimes.hollow.inventory import ContainerRecord
from runtimes.hollow.machine import HollowMachine, not_found, refused

NOTHING_RUN: Final = "hollow: nothing was run"
"""Said of a command that is not plain: it has an exit code, and nothing else."""


def answer_of(
    machine: HollowMachine, question: ContainerQuestion, now: Timestamp
) -> ExecEnded | ContainerLog | RuntimeFailure:
    """Return the answer to ``question``."""
    record = machine.inventory.container(question.id)
    if record is None:
        return not_found("container", question.id)
    match question:
        case ReadContainerLog():
            return _log(machine, record, question, now)
        case ExecInContainer() if not record.is_running:
            return refused(f"container {question.id} is not running")
        case ExecInContainer(command=command):
            return _exec(record, command)
        case _:
            assert_never(question)


def _exec(record: ContainerRecord, command: tuple[str, ...]) -> ExecEnded:
    outcome = run(command) if command else None
    if record.behaviour.exec_exit_code or outcome is None:
        return ExecEnded(exit_code=record.behaviour.exec_exit_code, note=NOTHING_RUN)
    output = "".join(f"{said.text}\n" for said in outcome.says)
    return ExecEnded(exit_code=outcome.exit_code, output=output)


def _log(
    machine: HollowMachine, record: ContainerRecord, question: ReadContainerLog, now: Timestamp
) -> ContainerLog:
    lines = sorted(_lines(machine, record, now), key=lambda line: line.at)
    if question.since is not None:
        lines = [line for line in lines if line.at >= question.since]
    if question.tail is not None:
        lines = lines[max(0, len(lines) - question.tail) :]
    return ContainerLog(lines=tuple(lines))


def _lines(machine: HollowMachine, record: ContainerRecord, now: Timestamp) -> Iterator[LogLine]:
    observed = record.observed
    started, finished = observed.started_at, observed.finished_at
    if started is None:
        return
    until = now if finished is None else finished
    yield LogLine(started, f"hollow: attempt {observed.attempt} of {observed.name} starts")
    for said in record.behaviour.says:
        if started + said.after <= until:
            yield LogLine(Timestamp(started + said.after), said.text)
    ready = Timestamp(started + machine.drawn_for(record, "ready_after"))
    if started < ready <= until:
        yield LogLine(ready, "hollow: ready")
    for at, signal in record.signals:
        yield LogLine(at, f"hollow: gets {signal}")
    if finished is not None:
        yield LogLine(
            finished, f"hollow: ends with exit code {observed.exit_code}, {observed.reason}"
        )
