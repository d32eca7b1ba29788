"""HookRunner: carries out the hooks of containers that really run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, assert_never

import structlog
from typing_extensions import override

from kernel import Failure, GivenUpError, Key, OperationsMemory, PooledActor, Port
from messages.container_runtime import ContainerRuntimeMessage
from runtimes.lifecycle_hooks.messages import (
    SHORTENED,
    ForgetHook,
    HookEnded,
    HookOutcome,
    HookRef,
    HooksMessage,
    HookSockets,
    RunHook,
    ShortenHook,
    carried_out_hook,
    given_up,
)

CRASHED: Final = "the agent failed over it"

HOOK_RUNNER = Key[HooksMessage]("runtime/hooks")

_log = structlog.get_logger("hooks")


@dataclass(slots=True, eq=False)
class HookWork:
    """One hook that has not ended."""

    request: RunHook
    is_shortened: bool = False


@dataclass(slots=True)
class HookMemory:
    """What outlives a life of HookRunner. One life at a time uses it, so it needs no lock."""

    operations: OperationsMemory[HookWork] = field(default_factory=OperationsMemory)
    ended: dict[HookRef, HookEnded] = field(default_factory=dict)
    """How hooks ended that nobody has forgotten."""
    in_hand: HooksMessage | None = None
    """What is being handled. A life that finds something here follows on a crash over it."""


class HookRunner(PooledActor[HooksMessage]):
    """Carries hooks out, each within its time.

    Owns: the hooks in progress.
    Hears: ``HooksMessage``; answers about commands and connections.
    Tells: who asked for a hook ``HookEnded``; the runtime of containers ``AskContainer``.
    Fails when: it has a bug. Hooks in progress go on. The next life ends the hook that it failed over, as
    failed.

    Order: none among hooks. Repetition: a hook is carried out once. Its end is told once, again to who asks
    again, and perhaps again after a crash over it. It never waits: connections are made elsewhere, and what
    is too late is given up.
    """

    def __init__(
        self, containers: Port[ContainerRuntimeMessage], sockets: HookSockets, memory: HookMemory
    ) -> None:
        """``containers`` runs commands in containers."""
        self._containers = containers
        self._sockets = sockets
        self._memory = memory

    @override
    def started(self) -> None:
        self._operations = self.operations(self._memory.operations, self._finish)
        for lost in self._operations.recover():
            self._answer_lost(lost.request)
        failed, self._memory.in_hand = self._memory.in_hand, None
        match failed:
            case RunHook(ref=ref):
                if self._work(ref) is None:
                    self._answer_lost(failed)
            case ShortenHook(ref=ref):
                work = self._work(ref)
                if work is not None:
                    self._operations.drop(work)
                    self._answer_lost(work.request)
            case _:
                pass

    @override
    def receive(self, message: HooksMessage, /) -> None:
        self._memory.in_hand = message
        match message:
            case RunHook():
                self._begin(message)
            case ShortenHook(ref=ref, within=within):
                work = self._work(ref)
                if work is not None:
                    work.is_shortened |= self._operations.shorten(work, within)
            case ForgetHook(ref=ref):
                work = self._work(ref)
                if work is not None:
                    self._operations.drop(work)
                self._memory.ended.pop(ref, None)
            case _:
                assert_never(message)
        self._memory.in_hand = None

    def _begin(self, request: RunHook) -> None:
        ended = self._memory.ended.get(request.ref)
        if ended is not None:
            request.reply_to.tell(ended)
        elif self._work(request.ref) is None:
            hook = carried_out_hook(request, self._containers, self._sockets)
            self._operations.begin(HookWork(request), hook, request.within)

    def _work(self, ref: HookRef) -> HookWork | None:
        """Return the hook of ``ref``; None if it is not in progress."""
        works = self._operations.purposes()
        return next((work for work in works if work.request.ref == ref), None)

    def _finish(self, work: HookWork, result: HookOutcome | Failure) -> None:
        match result:
            case HookOutcome():
                self._end(work.request, result)
            case Failure(error=GivenUpError()):
                late = SHORTENED if work.is_shortened else given_up(work.request.within)
                self._end(work.request, HookOutcome(late))
            case Failure(error=error, where=where):
                _log.error("a hook failed over a bug", error=type(error).__name__, where=where)
                self._end(work.request, HookOutcome(CRASHED))

    def _answer_lost(self, request: RunHook) -> None:
        """Answer over what an earlier life failed: as it ended if that is known, or else as failed."""
        ended = self._memory.ended.get(request.ref)
        if ended is None:
            self._end(request, HookOutcome(CRASHED))
        else:
            request.reply_to.tell(ended)

    def _end(self, request: RunHook, outcome: HookOutcome) -> None:
        ended = HookEnded(ref=request.ref, failure=outcome.failure, remark=outcome.remark)
        self._memory.ended[request.ref] = ended
        request.reply_to.tell(ended)
