"""HollowContainers: a runtime of containers that run nothing, in memory.

``hollow.core`` decides all of it. This file is the actor around it: who is answered, who is told, and the
one timer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from typing_extensions import override

from kernel import Key, PooledActor, Port, Timer
from messages.pod_runtime import DescribeRuntime, RuntimeDescribed
from messages.units import Seconds
from runtimes.container_runtime import (
    CallRuntime,
    ContainerRuntimeMessage,
    ContainersAre,
    FollowContainers,
    PodContainersAre,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeFailure,
    RuntimeFailureKind,
)
from runtimes.hollow.core import AT_ONCE, HollowAnswer, HollowCore
from runtimes.hollow.machine import Instant

NAME: Final = "hollow"

STEPS_PER_TURN: Final = 64
"""Steps that are gone before other actors get their turn. Without a bound they wait a third of a second."""


_UNCERTAIN: Final = RuntimeFailure(
    kind=RuntimeFailureKind.UNCERTAIN, message="the runtime failed over the request"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HollowStepsDue:
    """Told by its timer, and by itself while more steps are due than it goes in one turn."""


HollowContainersMessage: TypeAlias = ContainerRuntimeMessage | HollowStepsDue

HOLLOW_CONTAINERS = Key[HollowContainersMessage]("runtime/containers")


@dataclass(slots=True)
class HollowMemory:
    """What outlives a life of HollowContainers: everything, so that its containers run on."""

    core: HollowCore
    in_hand: CallRuntime | None = None
    """The call that is being taken. A life that finds one here follows on a crash over it."""
    followers: list[Port[RuntimeFact]] = field(default_factory=list)


class HollowContainers(PooledActor[HollowContainersMessage]):
    """Makes, runs and ends containers as their pods' annotations say, or as the rules say.

    Owns: sandboxes, containers, images and addresses of pods; the calls that take time.
    Hears: ``CallRuntime``, ``FollowContainers``, ``DescribeRuntime``; its own timer.
    Tells: whoever made a call ``RuntimeAnswered``, once; followers ``ContainersAre`` when they begin to
    follow and when it starts again, and ``PodContainersAre`` for what happens by itself: a container that
    ends, becomes ready, or dies with its sandbox.
    Fails when: it has a bug. Containers run on, calls that take time are answered by the next life, and
    the call that it failed over is answered as uncertain.
    Order: answers come before the facts of the same turn, so a fact includes what the answers say.
    """

    def __init__(self, version: str, memory: HollowMemory) -> None:
        self._version = version
        self._memory = memory
        self._core = memory.core
        self._timer: Timer | None = None
        self._timer_due: Seconds | None = None
        self._goes_on = False
        """Whether it told itself to go on."""

    @override
    def started(self) -> None:
        failed, self._memory.in_hand = self._memory.in_hand, None
        if failed is not None:
            self._answer([HollowAnswer(failed, _UNCERTAIN)])
        self._tell(self._memory.followers, self._everything())
        self._set_timer()

    @override
    def receive(self, message: HollowContainersMessage, /) -> None:
        match message:
            case CallRuntime():
                self._memory.in_hand = message
                self._answer(self._core.take(message, self._now()))
                self._memory.in_hand = None
            case HollowStepsDue():
                self._goes_on = False
                self._timer = self._timer_due = None
                self._answer(self._core.go_on(self._now(), STEPS_PER_TURN))
            case FollowContainers(subscriber=subscriber):
                if subscriber not in self._memory.followers:
                    self._memory.followers.append(subscriber)
                subscriber.tell(self._everything())
            case DescribeRuntime(reply_to=reply_to):
                reply_to.tell(self._described())
            case _:
                assert_never(message)
        self._tell_changes()
        self._set_timer()

    def _answer(self, answers: Iterable[HollowAnswer]) -> None:
        for call, outcome in answers:
            call.reply_to.tell(RuntimeAnswered(ref=call.ref, outcome=outcome))

    def _tell_changes(self) -> None:
        for uid in self._core.take_changed():
            contents = self._core.machine.inventory.contents(uid)
            self._tell(self._memory.followers, PodContainersAre(uid=uid, sandboxes=contents))

    def _tell(self, followers: Iterable[Port[RuntimeFact]], fact: RuntimeFact) -> None:
        for follower in followers:
            follower.tell(fact)

    def _set_timer(self) -> None:
        """Have one timer, for the step that is due next; or go on after this turn if one is due."""
        due = self._core.next_due
        if self._goes_on or due == self._timer_due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timer_due = None
        if due is None:
            return
        wait = Seconds(due - self.clock.monotonic())
        if wait <= AT_ONCE:
            self._goes_on = True
            self.me.tell(HollowStepsDue())
        else:
            self._timer, self._timer_due = self.after(wait, HollowStepsDue()), due

    def _now(self) -> Instant:
        return Instant(self.clock.monotonic(), self.clock.wall())

    def _everything(self) -> ContainersAre:
        return ContainersAre(
            sandboxes=self._core.machine.inventory.everything(),
            name=NAME,
            version=self._version,
            assumes_images=True,
        )

    def _described(self) -> RuntimeDescribed:
        inventory = self._core.machine.inventory
        return RuntimeDescribed(
            name=NAME,
            version=self._version,
            pods=inventory.pods(),
            containers=inventory.states(),
        )
