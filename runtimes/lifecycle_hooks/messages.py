"""What is said about hooks: to carry one out, to have less time for it, what that takes, and how it ended.

An actor that hears ``HooksMessage`` answers each ``RunHook`` by one ``HookEnded``, at its deadline at the
latest, over its own crashes too. A hook is told by its ``HookRef``, and carried out once: the same
``RunHook`` once more changes nothing while that one is in progress, and is answered as before when it has
ended. So an actor may ask again after its own crash. ``ForgetHook`` ends that. ``action_of`` reads what a
hook is to do from the handler of a specification, and ``carried_out_hook`` is the operation that does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, TypeAlias, assert_never

from typing_extensions import override

from kernel import Operation, delay, wait_for
from kernel.lanes import InFlight
from kernel.steps import AskStep, OperationStep
from manifests.handlers import (
    ExecAction,
    HttpGetAction,
    TcpSocketAction,
    UnusableHandler,
    common_action,
)
from manifests.times import format_duration
from messages.container_runtime import (
    AskContainer,
    ContainerAnswered,
    ContainerRuntimeMessage,
    ExecEnded,
    ExecInContainer,
    RuntimeFailure,
)
from messages.pods import JsonObject, PodUid
from messages.port import Port
from messages.units import Seconds

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepAction:
    """Wait for so long."""

    seconds: Seconds


HookAction: TypeAlias = ExecAction | HttpGetAction | TcpSocketAction | SleepAction | UnusableHandler
"""A page succeeds if there is an answer, whatever its status is, as for a kubelet."""


def action_of(handler: JsonObject, container: JsonObject, ip: str) -> HookAction:
    """Return what ``handler`` of ``container`` says, with its named port resolved.

    ``ip`` is the pod's, for targets without a host; empty for the network of the node.
    """
    action = common_action(handler, container)
    if isinstance(action, HttpGetAction | TcpSocketAction):
        return replace(action, host=action.host or ip or LOOPBACK)
    if action is not None:
        return action
    if sleep := handler.get("sleep"):
        return SleepAction(seconds=Seconds(float(max(0, sleep.get("seconds") or 0))))
    return UnusableHandler(why="the hook says nothing that can be done")


class HookKind(StrEnum):
    """When a hook is called."""

    POST_START = "postStart"
    PRE_STOP = "preStop"


class HookRef(NamedTuple):
    """One hook of one instance of a container. It is called once, so this tells it from all others."""

    uid: PodUid
    container_id: str
    kind: HookKind


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEnded:
    """Answers one ``RunHook``."""

    ref: HookRef
    failure: str = ""
    """Why it failed, for people; empty if it succeeded. Never contains confidential values: neither what a
    command wrote nor what a page says."""
    remark: str = ""
    """What people should know of a hook that succeeded: HTTPS was answered by plain HTTP, say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHook:
    """Carry out a hook of a container that runs."""

    ref: HookRef
    action: HookAction
    within: Seconds
    """From now on. What takes longer is given up, and has failed."""
    reply_to: Port[HookEnded]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortenHook:
    """Give a hook in progress less time than it had; it never gets more. With 0 it is given up now."""

    ref: HookRef
    within: Seconds
    """From now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetHook:
    """Nobody asks for a hook any more. One that is in progress is given up, and nothing is told of it."""

    ref: HookRef


SHORTENED: Final = "given up, since there is less time for it than there was"


def given_up(within: Seconds) -> str:
    """Return why a hook failed that took too long."""
    return f"given up after {format_duration(Seconds(round(within, 3)))}"


HooksMessage: TypeAlias = RunHook | ShortenHook | ForgetHook
"""What is heard by whoever carries out hooks."""


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
