"""How the hooks of hollow containers end: nothing is run and no connection is opened. Pure.

A command takes what it would take if it is a plain one, and ends with its exit code. A sleep takes its time.
Pages and ports answer at once. Annotations say otherwise.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from manifests.handlers import ExecAction, HttpGetAction, TcpSocketAction, UnusableHandler
from messages.units import Seconds
from runtimes.hollow.commands import carried_out
from runtimes.hollow.inventory import ContainerRecord, HookEnds
from runtimes.hollow.machine import HollowMachine
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
