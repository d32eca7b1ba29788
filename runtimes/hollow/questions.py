"""What a hollow container answers: commands in it, its log, what it uses. Pure.

Nothing of that is kept: a log follows from when the container started and ended, and what it uses from what
its specification requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, assert_never

from manifests.quantities import amount, is_quantity
from manifests.times import Span
from messages.container_runtime import (
    ContainerLog,
    ContainerQuestion,
    ContainerStats,
    ExecEnded,
    ExecInContainer,
    LogLine,
    ReadContainerLog,
    ReadContainerStats,
    RuntimeFailure,
)
from messages.units import Seconds, Timestamp
from runtimes.hollow.commands import run
from runtimes.hollow.inventory import ContainerRecord
from runtimes.hollow.machine import HollowMachine, not_found, refused
from runtimes.hollow.rules import drawn

NOTHING_RUN: Final = "hollow: nothing was run"
"""Said of a command that is not plain: it has an exit code, and nothing else."""
_SHARE: Final = Span(Seconds(0.3), Seconds(0.9))
"""How much of what it requests a container uses."""
_CPU: Final = 0.01
"""Cores that a container requests that does not say."""
_MEMORY: Final = 16 * 2**20
"""Bytes, the same."""
_MOST: Final = 2**60


def answer_of(
    machine: HollowMachine, question: ContainerQuestion, now: Timestamp
) -> ExecEnded | ContainerLog | ContainerStats | RuntimeFailure:
    """Return the answer to ``question``."""
    record = machine.inventory.container(question.id)
    if record is None:
        return not_found("container", question.id)
    match question:
        case ReadContainerLog():
            return _log(machine, record, question, now)
        case ExecInContainer() | ReadContainerStats() if not record.is_running:
            return refused(f"container {question.id} is not running")
        case ExecInContainer(command=command):
            return _exec(record, command)
        case ReadContainerStats():
            return _stats(machine, record, now)
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


def _stats(machine: HollowMachine, record: ContainerRecord, now: Timestamp) -> ContainerStats:
    observed, resources = record.observed, record.observed.resources or {}
    cpu = _requested(resources, "cpu", _CPU)
    memory = _requested(resources, "memory", _MEMORY)
    names = (machine.rules.seed, record.sandbox.pod.uid, observed.name)
    nanocores = int(cpu * 10**9 * drawn(_SHARE, *names, "cpu"))
    uptime = max(0.0, now - (observed.started_at or now))
    return ContainerStats(
        id=observed.id,
        at=now,
        cpu_nanocores=nanocores,
        cpu_nanoseconds=int(nanocores * uptime),
        memory_bytes=int(memory * drawn(_SHARE, *names, "memory")),
    )


def _requested(resources: Mapping[str, Any], name: str, default: float) -> float:
    """Return what is requested, or limited, of a resource."""
    for kind in ("requests", "limits"):
        text = str((resources.get(kind) or {}).get(name, ""))
        if is_quantity(text) and amount(text) > 0:
            return float(min(amount(text), Fraction(_MOST)))
    return default
