"""The operations of a runtime that are in progress, their failures, and who is told what there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import structlog

from kernel import Failure, GivenUpError, Operation, Operations, Port
from messages.container_runtime import (
    AskContainer,
    CallRuntime,
    ContainerAnswered,
    ContainersAre,
    PodContainersAre,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeIsAway,
)
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.cri.configs.documents import ConfigRefusedError
from runtimes.cri.messages import NOT_ASKED, CriMemory, Purpose, RunningOperation
from runtimes.cri.operations.flow import DiskError, RpcError, failure_of, failure_of_disk


class RuntimeFollowers:
    """Tells callers and followers. It is a part of CriRuntime, and reads its memory."""

    def __init__(self, memory: CriMemory) -> None:
        self.memory = memory
        """What is known, and who follows."""
        self._network_trouble = ""
        """What followers were told of the network."""

    # --- who follows -----------------------------------------------------------------------------------

    def follow(self, subscriber: Port[RuntimeFact]) -> None:
        """Tell an actor all that is there at once, and each change from now on."""
        memory = self.memory
        if subscriber not in memory.followers:
            memory.followers.append(subscriber)
        if not memory.away:
            subscriber.tell(self._everything())
        elif memory.away != NOT_ASKED:
            subscriber.tell(RuntimeIsAway(message=memory.away))

    def tell(self, fact: RuntimeFact) -> None:
        """Tell all followers."""
        for follower in self.memory.followers:
            follower.tell(fact)

    def tell_everything(self) -> ContainersAre:
        """Tell all followers all that there is, and return that."""
        everything = self._everything()
        self.tell(everything)
        return everything

    def tell_pods(self, uids: Iterable[PodUid]) -> None:
        """Tell all followers all that there is of these pods."""
        for uid in uids:
            self.tell(PodContainersAre(uid=uid, sandboxes=self.memory.inventory.contents(uid)))

    def tell_others(self, call: CallRuntime, uid: PodUid) -> None:
        """Tell the changes of a request to followers that do not get its answer."""
        asker: object = call.reply_to
        others = [each for each in self.memory.followers if each != asker]
        contents = self.memory.inventory.contents(uid)
        for follower in others:
            follower.tell(PodContainersAre(uid=uid, sandboxes=contents))

    @property
    def knows_network(self) -> bool:
        """Whether followers were told how the network is."""
        return self._network_now == self._network_trouble

    # --- who asks --------------------------------------------------------------------------------------

    @staticmethod
    def answer(call: CallRuntime | AskContainer, result: Any) -> None:
        """Tell the sender of a call or a question its result."""
        if isinstance(call, CallRuntime):
            call.reply_to.tell(RuntimeAnswered(ref=call.ref, outcome=result))
        else:
            call.reply_to.tell(ContainerAnswered(ref=call.ref, answer=result))

    # --- inside ----------------------------------------------------------------------------------------

    @property
    def _network_now(self) -> str:
        greeting = self.memory.greeting
        return greeting.network_trouble if greeting is not None else ""

    def _everything(self) -> ContainersAre:
        greeting = self.memory.greeting
        self._network_trouble = self._network_now
        return ContainersAre(
            sandboxes=self.memory.inventory.everything(),
            name=greeting.name if greeting is not None else "",
            version=greeting.version if greeting is not None else "",
            network_trouble=self._network_trouble,
        )


def uncertain(why: str) -> RuntimeFailure:
    """Return the answer to a request that may have had its effect."""
    return RuntimeFailure(kind=RuntimeFailureKind.UNCERTAIN, message=why)


_log = structlog.get_logger("runtime")


class RunningOperations:
    """What is in progress, and for what."""

    def __init__(self, engine: Operations[RunningOperation]) -> None:
        self._engine = engine

    def recover(self) -> Iterator[RunningOperation]:
        """Go on after a crash. Yield the operations over which it happened: they are lost."""
        return iter(self._engine.recover())

    def begin(self, running: RunningOperation, flow: Operation[Any], within: Seconds) -> None:
        """Begin an operation. It may have ended when this returns."""
        self._engine.begin(running, flow, within)

    def drop_own(self) -> None:
        """Drop our own operations. Outcomes that still come are ignored."""
        for each in tuple(self._engine.purposes()):
            if not isinstance(each.purpose, CallRuntime | AskContainer):
                self._engine.drop(each)

    def own(self) -> Iterator[Purpose]:
        """Yield the purposes of our own operations in progress."""
        return (
            each for each in self.purposes() if not isinstance(each, CallRuntime | AskContainer)
        )

    def is_changing(self, uid: PodUid) -> bool:
        """Return whether an operation is in progress that changes something of the pod."""
        return any(each.uid == uid for each in self._engine.purposes())

    def purposes(self) -> Iterator[Purpose]:
        """Yield what the operations in progress are for."""
        return (each.purpose for each in self._engine.purposes())


def as_runtime_failure(failed: Failure, purpose: Purpose) -> RuntimeFailure:
    """Return what the failure of an operation means for who asked. A bug is logged.

    The text of a bug's exception may be confidential: its type and place are not.
    """
    match failed.error:
        case RpcError(failure=failure):
            return failure_of(failure)
        case DiskError() as error:
            return failure_of_disk(str(error))
        case ConfigRefusedError(failure=failure):
            return failure
        case GivenUpError():
            return uncertain("it took too long")
        case bug:
            kind, where = type(bug).__name__, failed.where
            _log.error(
                "an operation failed", operation=type(purpose).__name__, error=kind, where=where
            )
            return RuntimeFailure(
                kind=RuntimeFailureKind.REFUSED,
                message=f"the agent failed over it: {kind} at {where}",
            )
