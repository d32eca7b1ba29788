"""What carrying out a hook takes, as an operation, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, assert_never

from typing_extensions import override

from kernel import Operation, Port, delay, wait_for
from kernel.lanes import InFlight
from kernel.steps import AskStep, OperationStep
from manifests.handlers import ExecAction, HttpGetAction, TcpSocketAction, UnusableHandler
from messages.container_runtime import (
    AskContainer,
    ContainerAnswered,
    ContainerRuntimeMessage,
    ExecEnded,
    ExecInContainer,
    RuntimeFailure,
)
from runtimes.lifecycle_hooks.messages import RunHook, SleepAction


class HookOutcome(NamedTuple):
    """How a hook ended."""

    failure: str = ""
    """Why it failed, for people; empty if it succeeded."""
    remark: str = ""
    """What people should know of a hook that succeeded."""


class HookSockets(Protocol):
    """Where hooks are carried out that need a connection."""

    def start(
        self, action: HttpGetAction | TcpSocketAction, done: Callable[[HookOutcome], None], /
    ) -> InFlight:
        """Begin, and return what can be abandoned. ``done`` is told the outcome once, on any thread.

        Nothing is told of what was abandoned, or only what was told just then.
        """
        ...


@dataclass(frozen=True, slots=True)
class ConnectStep(OperationStep):
    """Carries out a hook that needs a connection."""

    action: HttpGetAction | TcpSocketAction
    sockets: HookSockets = field(repr=False)

    @override
    def begin(self, done: Callable[[HookOutcome], None], /) -> InFlight:
        return self.sockets.start(self.action, done)


def carried_out_hook(
    request: RunHook, containers: Port[ContainerRuntimeMessage], sockets: HookSockets
) -> Operation[HookOutcome]:
    """Carry out a hook. Its time is that of the operation."""
    match request.action:
        case ExecAction(command=command):
            return (yield from _executed(request, command, containers))
        case HttpGetAction() | TcpSocketAction() as action:
            outcome: HookOutcome = yield from wait_for(ConnectStep(action, sockets))
            return outcome
        case SleepAction(seconds=seconds):
            yield from delay(seconds)
            return HookOutcome()
        case UnusableHandler(why=why):
            return HookOutcome(why)
        case _:
            assert_never(request.action)


def _executed(
    request: RunHook, command: tuple[str, ...], containers: Port[ContainerRuntimeMessage]
) -> Operation[HookOutcome]:
    """Run a command in the container, which kills it when its time is over."""

    def question(reply: Port[ContainerAnswered]) -> AskContainer:
        asked = ExecInContainer(id=request.ref.container_id, command=command)
        return AskContainer(
            question=asked, reply_to=reply, ref=request.ref, deadline=request.within
        )

    answered: ContainerAnswered = yield from wait_for(AskStep(containers, question))
    match answered.answer:
        case ExecEnded(exit_code=0):
            return HookOutcome()
        case ExecEnded(exit_code=code):
            return HookOutcome(f"the command exited with code {code}")
        case RuntimeFailure(message=message) if message:
            return HookOutcome(message)
        case _:
            return HookOutcome("the command could not be run")
