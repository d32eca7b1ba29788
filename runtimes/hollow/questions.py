"""What hollow containers answer: their hooks, commands in them, and their logs. Pure.

Nothing is run, no connection is opened, and nothing is kept: a log follows from when the container started
and ended. A hook's command takes what it would take if it is a plain one, and ends with its exit code. A
sleep takes its time. Pages and ports answer at once. Annotations say otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, assert_never

from manifests.handlers import ExecAction, HttpGetAction, TcpSocketAction, UnusableHandler
from messages.container_runtime import (
    ContainerLog,
    ContainerQuestion,
    ExecEnded,
    ExecInContainer,
    LogLine,
    OpenAttach,
    OpenExec,
    OpenPortForward,
    ReadContainerLog,
    RuntimeFailure,
)
from messages.units import Seconds, Timestamp
from runtimes.hollow.commands import carried_out, run
from runtimes.hollow.inventory import ContainerRecord, HookEnds
from runtimes.hollow.machine import HollowMachine, not_found, refused
from runtimes.lifecycle_hooks.messages import (
    SHORTENED,
    ForgetHook,
    HookEnded,
    HookKind,
    HookRef,
    HooksMessage,
    RunHook,
    ShortenHook,
    SleepAction,
    given_up,
)

NOTHING_RUN: Final = "hollow: nothing was run"
"""Said of a command that is not plain: it has an exit code, and nothing else."""


def answer_of(
    machine: HollowMachine, question: ContainerQuestion, now: Timestamp
) -> ExecEnded | ContainerLog | RuntimeFailure:
    """Return the answer to ``question``."""
    if isinstance(question, OpenPortForward):
        return refused("a hollow pod has no ports")
    record = machine.inventory.container(question.id)
    if record is None:
        return not_found("container", question.id)
    match question:
        case OpenExec() | OpenAttach():
            return refused("a hollow container has no process to talk to")
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


class HookAnswer(NamedTuple):
    """The end of one hook."""

    request: RunHook
    ended: HookEnded


class HollowHooks:
    """The hooks that are in progress in a hollow runtime."""

    def __init__(self) -> None:
        self._in_progress: dict[HookRef, HookEnds] = {}
        self._ended: dict[HookRef, HookEnded] = {}
        """How hooks ended that nobody has forgotten."""

    def take(self, message: HooksMessage, machine: HollowMachine, now: Seconds) -> None:
        """Begin a hook, or give one less time. Its end is a step of the machine."""
        match message:
            case RunHook(ref=ref):
                if ref in self._ended:
                    message.reply_to.tell(self._ended[ref])
                elif ref not in self._in_progress:
                    self._set(_beginning(machine, message, now), machine)
            case ForgetHook(ref=ref):
                machine.schedule.cancel(self._in_progress.pop(ref, None))
                self._ended.pop(ref, None)
            case ShortenHook():
                self._shorten(message, machine, now)
            case _:
                assert_never(message)

    def end(self, step: HookEnds) -> HookAnswer:
        """Return what is answered now that the time of a hook has come."""
        ref = step.request.ref
        self._in_progress.pop(ref, None)
        ended = self._ended[ref] = HookEnded(ref=ref, failure=step.failure)
        return HookAnswer(step.request, ended)

    def _shorten(self, message: ShortenHook, machine: HollowMachine, now: Seconds) -> None:
        step = self._in_progress.get(message.ref)
        if step is not None and step.due > now + message.within:
            machine.schedule.cancel(step)
            due = Seconds(now + message.within)
            self._set(HookEnds(due, step.request, SHORTENED), machine)

    def _set(self, step: HookEnds, machine: HollowMachine) -> None:
        self._in_progress[step.request.ref] = step
        machine.schedule.add(step)


def _beginning(machine: HollowMachine, request: RunHook, now: Seconds) -> HookEnds:
    record = machine.inventory.container(request.ref.container_id)
    if record is None or not record.is_running:
        return HookEnds(now, request, "the container is not running")
    takes, failure = _outcome(machine, record, request)
    if takes > request.within:
        takes, failure = float(request.within), given_up(request.within)
    return HookEnds(Seconds(now + takes), request, failure)


def _outcome(
    machine: HollowMachine, record: ContainerRecord, request: RunHook
) -> tuple[float, str]:
    """Return how many seconds a hook takes, and why it fails."""
    behaviour = record.behaviour
    if request.ref.kind is HookKind.POST_START:
        span, error, field = behaviour.for_post_start, behaviour.post_start_error, "for_post_start"
    else:
        span, error, field = behaviour.for_pre_stop, behaviour.pre_stop_error, "for_pre_stop"
    takes, failure = _plain_outcome(record, request)
    if span is not None:
        takes = machine.drawn_for(record, field)
    return takes, error or failure


def _plain_outcome(record: ContainerRecord, request: RunHook) -> tuple[float, str]:
    match request.action:
        case ExecAction(command=command):
            takes, code = carried_out(command, record.behaviour.exec_exit_code)
            return takes, f"the command exited with code {code}" if code else ""
        case SleepAction(seconds=seconds):
            return seconds, ""
        case HttpGetAction() | TcpSocketAction():
            return 0.0, ""
        case UnusableHandler(why=why):
            return 0.0, why
        case _:
            assert_never(request.action)
