"""Tells what the runtime has: answers to requests, and facts to actors that follow it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kernel import Port
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
from runtimes.cri.messages import NOT_ASKED, CriMemory


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
