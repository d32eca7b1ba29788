"""HookRunner: carries out the hooks of containers that really run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from typing_extensions import override

from kernel import Key, PooledActor, Port
from manifests.handlers import ExecAction, HttpGetAction, TcpSocketAction, UnusableHandler
from messages.units import Seconds
from runtimes.container_questions import ExecEnded, ExecInContainer
from runtimes.container_runtime import (
    AskContainer,
    ContainerAnswered,
    ContainerRuntimeMessage,
    RuntimeFailure,
)
from runtimes.hooks.actions import SleepAction
from runtimes.hooks.messages import (
    SHORTENED,
    ForgetHook,
    HookEnded,
    HookRef,
    HooksMessage,
    RunHook,
    ShortenHook,
    given_up,
)
from runtimes.hooks.sockets import HookSockets, SocketCall, SocketHookEnded

AT_ONCE: Final = Seconds(1e-6)
"""No timer is more exact."""
CRASHED: Final = "the agent failed over it"


@dataclass(frozen=True, slots=True)
class HookDue:
    """Timer: a hook has slept, or is to be given up."""

    ref: HookRef


HookRunnerMessage: TypeAlias = HooksMessage | ContainerAnswered | SocketHookEnded | HookDue

HOOK_RUNNER = Key[HookRunnerMessage]("runtime/hooks")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRunnerPorts:
    """Whom it tells."""

    containers: Port[ContainerRuntimeMessage]
    """Who runs commands in containers."""
    me: Port[HookRunnerMessage]
    """Its own address, which outlives a crash: where answers go."""


@dataclass(slots=True)
class HookInProgress:
    """One hook that has not ended."""

    request: RunHook
    until: Seconds
    """When it is given up, by the monotonic clock."""
    wakes_at: Seconds | None = None
    """When its sleep is over; None for a hook that does not sleep."""
    call: SocketCall | None = None
    is_shortened: bool = False

    @property
    def due(self) -> Seconds:
        """When something happens to it by itself."""
        return self.until if self.wakes_at is None else min(self.until, self.wakes_at)


@dataclass(slots=True)
class HookMemory:
    """What outlives a life of HookRunner. One life at a time uses it, so it needs no lock."""

    in_progress: dict[HookRef, HookInProgress] = field(default_factory=dict)
    ended: dict[HookRef, HookEnded] = field(default_factory=dict)
    """How hooks ended that nobody has forgotten."""
    in_hand: HookRunnerMessage | None = None
    """What is being handled. A life that finds something here follows on a crash over it."""


class HookRunner(PooledActor[HookRunnerMessage]):
    """Carries hooks out, each within its time.

    Owns: the hooks in progress.
    Hears: ``HooksMessage``; ``ContainerAnswered`` for commands, ``SocketHookEnded`` for connections; its
    timers.
    Tells: who asked for a hook ``HookEnded``, once; the runtime of containers ``AskContainer``.
    Fails when: it has a bug. Hooks in progress go on, and their answers go to its address. The next life
    ends the hook that it failed over, as failed, and waits for the others as before.

    Order: none among hooks. Repetition: a hook is carried out once, and its end told again to who asks again.
    It never waits: connections are made elsewhere, and what is too late is given up by a timer.
    """

    def __init__(self, ports: HookRunnerPorts, sockets: HookSockets, memory: HookMemory) -> None:
        self._ports = ports
        self._sockets = sockets
        self._memory = memory

    @override
    def started(self) -> None:
        failed, self._memory.in_hand = self._memory.in_hand, None
        match failed:
            case RunHook(ref=ref):
                self._memory.in_progress.setdefault(ref, HookInProgress(failed, Seconds(0.0)))
                self._end(ref, CRASHED)
            case ShortenHook(ref=ref) | SocketHookEnded(ref=ref):
                self._end(ref, CRASHED)
            case ContainerAnswered(ref=HookRef() as ref):
                self._end(ref, CRASHED)
            case _:
                pass  # nothing, or a timer: those are set anew
        for ref in tuple(self._memory.in_progress):
            self._set_timer(ref)

    @override
    def receive(self, message: HookRunnerMessage, /) -> None:
        self._memory.in_hand = message
        match message:
            case RunHook():
                self._begin(message)
            case ShortenHook():
                self._shorten(message)
            case ForgetHook(ref=ref):
                self._forget(ref)
            case ContainerAnswered() | SocketHookEnded():
                self._take_end(message)
            case HookDue(ref=ref):
                self._look_at(ref)
            case _:
                assert_never(message)
        self._memory.in_hand = None

    # --- beginning -------------------------------------------------------------------------------------

    def _begin(self, request: RunHook) -> None:
        ref, action, within = request.ref, request.action, request.within
        if ref in self._memory.in_progress:
            return
        if ref in self._memory.ended:
            request.reply_to.tell(self._memory.ended[ref])
            return
        now = self.clock.monotonic()
        hook = HookInProgress(request, Seconds(now + within))
        self._memory.in_progress[ref] = hook
        match action:
            case ExecAction(command=command):
                question = ExecInContainer(id=ref.container_id, command=command)
                self._ports.containers.tell(
                    AskContainer(
                        question=question, reply_to=self._ports.me, ref=ref, deadline=within
                    )
                )
            case HttpGetAction() | TcpSocketAction():
                hook.call = SocketCall(ref, action, within)
                self._sockets.start(hook.call, self._ports.me)
            case SleepAction(seconds=seconds):
                hook.wakes_at = Seconds(now + seconds)
            case UnusableHandler(why=why):
                self._end(ref, why)
                return
            case _:
                assert_never(action)
        self._set_timer(ref)

    def _shorten(self, message: ShortenHook) -> None:
        hook = self._memory.in_progress.get(message.ref)
        until = Seconds(self.clock.monotonic() + message.within)
        if hook is not None and until < hook.until:
            hook.until, hook.is_shortened = until, True
            self._set_timer(message.ref)

    def _forget(self, ref: HookRef) -> None:
        hook = self._memory.in_progress.pop(ref, None)
        if hook is not None and hook.call is not None:
            self._sockets.give_up(hook.call)
        self._memory.ended.pop(ref, None)

    # --- ending ----------------------------------------------------------------------------------------

    def _take_end(self, message: ContainerAnswered | SocketHookEnded) -> None:
        if isinstance(message, ContainerAnswered):
            self._take_answer(message)
        else:
            self._take_outcome(message.ref)

    def _take_answer(self, answered: ContainerAnswered) -> None:
        match answered.answer:
            case ExecEnded(exit_code=0):
                failure = ""
            case ExecEnded(exit_code=code):
                failure = f"the command exited with code {code}"
            case RuntimeFailure(message=message):
                failure = message or "the command could not be run"
            case _:
                failure = "the command could not be run"
        if isinstance(answered.ref, HookRef):
            self._end(answered.ref, failure)

    def _take_outcome(self, ref: HookRef) -> None:
        hook = self._memory.in_progress.get(ref)
        outcome = hook.call.outcome if hook is not None and hook.call is not None else None
        if outcome is not None:
            self._end(ref, outcome.failure, outcome.remark)

    def _look_at(self, ref: HookRef) -> None:
        """End a hook whose time has come, and otherwise wait on: it may have got less time since."""
        hook = self._memory.in_progress.get(ref)
        now = Seconds(self.clock.monotonic() + AT_ONCE)
        if hook is None or hook.due > now:
            return
        if hook.wakes_at is not None and hook.wakes_at <= hook.until:
            self._end(ref)
        else:
            self._end(ref, SHORTENED if hook.is_shortened else given_up(hook.request.within))

    def _end(self, ref: HookRef, failure: str = "", remark: str = "") -> None:
        hook = self._memory.in_progress.pop(ref, None)
        if hook is None:
            return
        if hook.call is not None and hook.call.outcome is None:
            self._sockets.give_up(hook.call)
        ended = HookEnded(ref=ref, failure=failure, remark=remark)
        self._memory.ended[ref] = ended
        hook.request.reply_to.tell(ended)

    def _set_timer(self, ref: HookRef) -> None:
        hook = self._memory.in_progress[ref]
        wait = Seconds(max(0.0, hook.due - self.clock.monotonic()))
        self.after(wait, HookDue(ref))
