"""HollowContainers: a runtime of containers that run nothing, in memory.

``hollow.core`` decides all of it. This file is the actor around it: who is answered, who is told, and the
alarm for the next step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias

from typing_extensions import override

from actors.probes.watching import FollowProbes, ProbesBegan, ProbesToRun
from files.record_keeper import KeepRecords, ReadRecords, RecordsAre
from kernel import Key, PooledActor, Port
from messages.container_runtime import (
    AskContainer,
    CallRuntime,
    ContainerAnswered,
    ContainerRuntimeMessage,
    ContainersAre,
    FollowContainers,
    PodContainersAre,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeFailure,
    RuntimeFailureKind,
)
from messages.pod_runtime import DescribeRuntime, RuntimeDescribed
from messages.probing import AnswersDescribed, DescribeAnswers
from messages.units import Seconds
from runtimes.hollow.core import HollowAnswer, HollowCore
from runtimes.hollow.questions import answer_of
from runtimes.hollow.record_file import HollowRecordsAre, HollowRecordsMessage
from runtimes.hollow.saved import restore, saved
from runtimes.lifecycle_hooks.messages import (
    ForgetHook,
    HookEnded,
    HooksMessage,
    RunHook,
    ShortenHook,
)

NAME: Final = "hollow"

SAVING_PAUSE: Final = Seconds(0.1)
"""Between two times that pods are saved."""
SAVED_PER_TURN: Final = 512
ASK_AGAIN_AFTER: Final = Seconds(5.0)

STEPS_PER_TURN: Final = 64
"""Steps that are gone before other actors get their turn. Without a bound they wait a third of a second."""


_UNCERTAIN: Final = RuntimeFailure(
    kind=RuntimeFailureKind.UNCERTAIN, message="the runtime failed over the request"
)


HollowContainersMessage: TypeAlias = (
    ContainerRuntimeMessage | HooksMessage | ProbesToRun | HollowRecordsAre
)

HOLLOW_CONTAINERS = Key[HollowContainersMessage]("runtime/containers")


@dataclass(slots=True)
class HollowMemory:
    """What outlives a life of HollowContainers: everything, so that its containers run on."""

    core: HollowCore
    in_hand: CallRuntime | HooksMessage | None = None
    """What is being taken. A life that finds something here follows on a crash over it."""
    followers: list[Port[RuntimeFact]] = field(default_factory=list)
    probe_followers: dict[Port[ProbesBegan], None] = field(default_factory=dict)
    is_restored: bool = False
    """Whether it knows what the process before has saved."""
    waiting: list[HollowContainersMessage] = field(default_factory=list)
    """What it was told before it knew that."""


class HollowContainers(PooledActor[HollowContainersMessage]):
    """Makes, runs and ends containers as their pods' annotations say, or as the rules say.

    Owns: sandboxes, containers, images and addresses of pods; the calls that take time.
    Hears: ``CallRuntime``, ``AskContainer``, ``HooksMessage``, ``ProbesToRun``, ``FollowContainers``,
    ``DescribeRuntime``.
    Tells: whoever made a call ``RuntimeAnswered``, once, of a hook ``HookEnded``, and of a probe
    ``ProbeIs``; followers
    ``ContainersAre`` when they begin to follow and when it starts again, and ``PodContainersAre`` for what
    happens by itself: a container that ends, becomes ready, or dies with its sandbox.
    Fails when: it has a bug. Containers run on, calls that take time are answered by the next life, and
    the call that it failed over is answered as uncertain.

    With records it first waits for what the process before has saved; whatever it is told meanwhile waits
    too. After that it tells them each pod that changed, many changes within a tenth of a second at once.

    Order: answers come before the facts of the same turn, so a fact includes what the answers say.
    """

    def __init__(
        self, version: str, memory: HollowMemory, records: Port[HollowRecordsMessage] | None = None
    ) -> None:
        self._version = version
        self._records = records
        self._memory = memory
        self._core = memory.core
        self._saved_at: Seconds | None = None

    @override
    def started(self) -> None:
        self._next_step = self.alarm(self._go_on)
        self._next_saving = self.alarm(self._save)
        self._no_records = self.alarm(self._ask_records)
        failed, self._memory.in_hand = self._memory.in_hand, None
        if isinstance(failed, CallRuntime):
            self._answer([HollowAnswer(failed, _UNCERTAIN)])
        elif isinstance(failed, RunHook):
            failed.reply_to.tell(HookEnded(ref=failed.ref, failure=_UNCERTAIN.message))
        self._answer_hooks()
        for prober in self._memory.probe_followers:
            prober.tell(ProbesBegan())
        if self._records is not None and not self._memory.is_restored:
            self._ask_records()
            return
        self._tell(self._memory.followers, self._everything())
        self._next_step.at(self._core.next_due)
        self._save()

    @override
    def stopping(self) -> None:
        self._save_now(len(self._core.machine.touched))

    @override
    def receive(self, message: HollowContainersMessage, /) -> None:
        if self._records is not None and not self._memory.is_restored:
            self._wait_for_records(message)
            return
        self._handle(message)
        self._end_turn()

    def _go_on(self) -> None:
        """Go the steps that are due. If these are too many for a turn, there is another one."""
        self._answer(self._core.go_on(self.clock.now(), STEPS_PER_TURN))
        self._end_turn()

    def _end_turn(self) -> None:
        self._answer_hooks()
        self._tell_changes()
        self._next_step.at(self._core.next_due)
        self._save()

    def _handle(self, message: HollowContainersMessage) -> None:
        match message:
            case CallRuntime() | RunHook() | ShortenHook() | ForgetHook():
                self._take(message)
            case FollowContainers(subscriber=subscriber):
                if subscriber not in self._memory.followers:
                    self._memory.followers.append(subscriber)
                subscriber.tell(self._everything())
            case DescribeRuntime(reply_to=reply_to):
                reply_to.tell(self._described())
            case AskContainer(question=question, reply_to=reply_to, ref=ref):
                answer = answer_of(self._core.machine, question, self.clock.wall())
                reply_to.tell(ContainerAnswered(ref=ref, answer=answer))
            case RecordsAre():
                pass  # what was saved before is known by now
            case _:
                self._take_probe(message)

    def _take_probe(self, message: ProbesToRun) -> None:
        match message:
            case FollowProbes(subscriber=follower):
                self._memory.probe_followers[follower] = None
            case DescribeAnswers(reply_to=asker):
                asker.tell(
                    AnswersDescribed(answers=self._core.answers(self.clock.now()), bounds=())
                )
            case _:
                self._core.take_probe(message, self.clock.now())

    def _take(self, message: CallRuntime | HooksMessage) -> None:
        self._memory.in_hand = message
        if isinstance(message, CallRuntime):
            self._answer(self._core.take(message, self.clock.now()))
        else:
            self._core.take_hook(message, self.clock.now())
        self._memory.in_hand = None

    # --- records ---------------------------------------------------------------------------------------

    def _ask_records(self) -> None:
        """Ask what the process before has saved, and again if nobody answers."""
        if self._records is not None:
            self._records.tell(ReadRecords(reply_to=self.me))
            self._no_records.after(ASK_AGAIN_AFTER)

    def _wait_for_records(self, message: HollowContainersMessage) -> None:
        memory = self._memory
        if isinstance(message, RecordsAre):
            restore(self._core.machine, message.records.values(), self.clock.now())
            memory.is_restored = True
            self._no_records.at(None)
            waiting, memory.waiting = memory.waiting, []
            for each in waiting:
                self._handle(each)
            self._tell_changes()
            self._next_step.at(self._core.next_due)
        else:
            memory.waiting.append(message)

    def _save(self) -> None:
        """Have saved what changed: at once, or in a moment if that was done just now."""
        if self._records is None:
            self._core.machine.touched.clear()
            return
        if not self._core.machine.touched or self._next_saving.due is not None:
            return
        now = self.clock.monotonic()
        if self._saved_at is None or now >= self._saved_at + SAVING_PAUSE:
            self._save_now(SAVED_PER_TURN)
            self._saved_at = now
        if self._core.machine.touched:
            self._next_saving.after(SAVING_PAUSE)

    def _save_now(self, limit: int) -> None:
        machine, now = self._core.machine, self.clock.now()
        uids = tuple(islice(machine.touched, limit))
        if self._records is not None and uids:
            pods = {uid: saved(machine, uid, now) for uid in uids}
            self._records.tell(KeepRecords(records=pods))
        for uid in uids:  # not before: the next life saves what this one crashes over
            del machine.touched[uid]

    # --- what it tells ---------------------------------------------------------------------------------

    def _answer(self, answers: Iterable[HollowAnswer]) -> None:
        for call, outcome in answers:
            call.reply_to.tell(RuntimeAnswered(ref=call.ref, outcome=outcome))

    def _answer_hooks(self) -> None:
        for request, ended in self._core.hooks_ended():
            request.reply_to.tell(ended)
        for watch, told in self._core.probes_told():
            watch.reply_to.tell(told)

    def _tell_changes(self) -> None:
        for uid in self._core.take_changed():
            contents = self._core.machine.inventory.contents(uid)
            self._tell(self._memory.followers, PodContainersAre(uid=uid, sandboxes=contents))

    def _tell(self, followers: Iterable[Port[RuntimeFact]], fact: RuntimeFact) -> None:
        for follower in followers:
            follower.tell(fact)

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
