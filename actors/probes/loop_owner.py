"""ProbeLoopOwner: carries out the probes of containers that really run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Final, assert_never

import structlog
from typing_extensions import override

from actors.probes.command_turns import LateCommands
from actors.probes.loop_messages import (
    CommandOverdue,
    CommandRef,
    Loop,
    LoopEnded,
    LoopFailedError,
    LoopTold,
    MakeLoop,
    ProbeLoopMemory,
    ProbeLoopMessage,
    ProbeLoopPorts,
)
from actors.probes.specs import begin
from actors.probes.texts import added, cannot_run, in_public, outcome_of_command
from actors.probes.watched import ExecIsDue, ProbeFact, ProbeNews
from actors.probes.watching import (
    DropProbe,
    FollowProbes,
    OnlyProbes,
    ProbeIs,
    ProbeRemark,
    ProbesBegan,
    ProbesToRun,
    RestProbe,
    RunProbe,
)
from kernel import PooledActor
from messages.container_runtime import AskContainer, ContainerAnswered, ExecInContainer
from messages.events import EventType, ObjectReference, PostEvent
from messages.probing import (
    AnswersCounted,
    AnswersDescribed,
    AttemptsBegun,
    DescribeAnswers,
    ProbeAnswer,
    ProbeKey,
    ProbeOutcome,
    ProbeResult,
)
from messages.units import DURATION_BOUNDS, Seconds

ANSWERED_WITHIN: Final = Seconds(10.0)
"""How long after its own deadline the answer of a command is waited for."""
COMMANDS_LATE: Final = "ProbesLate"

_LOST: Final = ProbeOutcome(ProbeResult.UNKNOWN, "nobody said how the command ended")

_log = structlog.get_logger("probes")


class ProbeLoopOwner(PooledActor[ProbeLoopMessage]):
    """Has probes carried out by a loop on a thread of its own, and runs the commands of exec probes.

    Owns: the loop, the turns of commands.
    Hears: ``ProbesToRun``; ``LoopTold``; ``ContainerAnswered``; a timer for each command.
    Tells: who wants a probe ``ProbeIs``; the runtime of containers ``AskContainer``; followers
    ``ProbesBegan`` in each life; who posts events that commands are late.
    Fails when: it or its loop has a bug. What counts outlives both: the next life goes on with a new loop.

    Order: commands begin in the order in which they were due. Repetition: every message may repeat. What is
    told of an instance that is not watched any more is dropped. It never waits: sockets are the loop's, and
    commands the runtime's.
    """

    def __init__(self, ports: ProbeLoopPorts, memory: ProbeLoopMemory, make_loop: MakeLoop) -> None:
        self._ports = ports
        self._memory = memory
        self._make_loop = make_loop

    @override
    def started(self) -> None:
        self._loop = self._begin_loop()
        for due in self._memory.turns.running:
            self._watch_over(due)
        self._begin_commands()
        for follower in self._memory.followers:
            follower.tell(ProbesBegan())

    @override
    def receive(self, message: ProbeLoopMessage, /) -> None:
        match message:
            case LoopTold(facts=facts):
                self._take(facts)
            case LoopEnded(error=error):
                raise LoopFailedError(error)
            case ContainerAnswered(ref=CommandRef(run=run)):
                self._end_command(run, outcome_of_command(message.answer))
            case ContainerAnswered():
                pass  # nobody asked for that
            case CommandOverdue(run=run):
                self._end_command(run, _LOST)
            case _:
                self._take_wish(message)

    def _begin_loop(self) -> Loop:
        me, here = self._ports.me, self.me

        def tell(facts: Sequence[ProbeFact]) -> None:
            me.tell(LoopTold(facts=tuple(facts)))

        def ended(bug: BaseException) -> None:
            here.tell(LoopEnded(error=f"{type(bug).__name__}: {bug}"))

        loop = self._make_loop(self._memory.loop, tell, ended, self.clock)
        self.resources.callback(loop.close)
        return loop

    # --- what is wanted --------------------------------------------------------------------------------

    def _take_wish(self, wish: ProbesToRun) -> None:
        match wish:
            case RunProbe():
                self._run(wish)
            case RestProbe(key=key):
                self._rest(key)
            case DropProbe(key=key):
                self._drop(key)
            case OnlyProbes(keys=keys):
                for key in {*self._memory.wishes, *self._memory.rested} - keys:
                    self._drop(key)
            case FollowProbes(subscriber=subscriber):
                self._memory.followers[subscriber] = None
            case DescribeAnswers(reply_to=reply_to):
                reply_to.tell(self._described())
            case _:
                assert_never(wish)

    def _run(self, wish: RunProbe) -> None:
        key, before = wish.key, self._memory.wishes.get(wish.key)
        self._memory.wishes[key] = wish
        if self._ports.containers is None and (why := cannot_run(wish)):
            self._loop.forget(key)
            self._pass(wish, why, is_new=before is None or before.target != wish.target)
            return
        known = self._answer(wish)
        if known is not None:
            # It may say something else by now than who wants it has heard.
            self._loop.watch(key, wish.spec, wish.target, known.result)
        else:
            if before is not None and _begun(before) is not _begun(wish):
                self._loop.forget(key)  # what it began with counts no more
            self._loop.watch(key, wish.spec, wish.target, wish.initial)
        wish.reply_to.tell(
            ProbeIs(
                key=key,
                container_id=wish.target.container_id,
                result=_begun(wish) if known is None else known.result,
                is_confirmed=known is not None,
            )
        )

    def _pass(self, wish: RunProbe, why: str, *, is_new: bool) -> None:
        """Let a probe count as passed that nobody can carry out here, and have that said once."""
        outcome, now = ProbeOutcome(ProbeResult.WARNING, why), self.clock.wall()
        wish.reply_to.tell(
            ProbeIs(
                key=wish.key,
                container_id=wish.target.container_id,
                result=ProbeResult.SUCCESS,
                is_confirmed=True,
                remark=ProbeRemark(outcome, 1, 1, now) if is_new else None,
            )
        )

    def _rest(self, key: ProbeKey) -> None:
        """Carry a probe out no more, and keep what was counted of it."""
        if key not in self._memory.wishes:
            return
        counted = self._counted(key)
        if counted is not None:
            # Whose values are hidden is forgotten with the wish.
            self._memory.rested[key] = self._in_public(key, counted)
        self._memory.turns.drop(key)
        self._loop.forget(key)
        self._memory.wishes.pop(key, None)

    def _drop(self, key: ProbeKey) -> None:
        self._rest(key)
        self._memory.rested.pop(key, None)

    # --- what the loop tells ---------------------------------------------------------------------------

    def _take(self, facts: Iterable[ProbeFact]) -> None:
        now = self.clock.monotonic()
        for fact in facts:
            watch = self._memory.wishes.get(fact.key)
            if watch is None or watch.target.container_id != fact.container_id:
                continue
            match fact:
                case ProbeNews():
                    self._tell(watch, fact)
                case ExecIsDue():
                    self._memory.turns.add(fact, now)
                case _:
                    assert_never(fact)
        self._begin_commands()

    def _tell(self, watch: RunProbe, news: ProbeNews) -> None:
        outcome = in_public(news.outcome, watch.hidden)
        watch.reply_to.tell(
            ProbeIs(
                key=news.key,
                container_id=news.container_id,
                result=news.result,
                is_confirmed=outcome.result is not ProbeResult.UNKNOWN,
                remark=ProbeRemark(outcome, news.in_a_row, news.times, news.at),
            )
        )

    # --- commands --------------------------------------------------------------------------------------

    def _begin_commands(self) -> None:
        while (begun := self._memory.turns.next(self.clock.monotonic())) is not None:
            due, late = begun
            if late is not None:
                self._say_late(late)
            self._watch_over(due)
            if self._ports.containers is None:
                continue  # it was due before anybody knew that
            question = ExecInContainer(id=due.container_id, command=due.command)
            self._ports.containers.tell(
                AskContainer(
                    question=question,
                    reply_to=self._ports.me,
                    ref=CommandRef(due.run),
                    deadline=due.timeout,
                )
            )

    def _watch_over(self, due: ExecIsDue) -> None:
        self.after(Seconds(due.timeout + ANSWERED_WITHIN), CommandOverdue(run=due.run))

    def _end_command(self, run: int, outcome: ProbeOutcome) -> None:
        ended = self._memory.turns.end(run, self.clock.monotonic())
        if ended is not None:
            due, took = ended
            self._loop.note(due.key, run, outcome, took)
            self._begin_commands()

    def _say_late(self, late: LateCommands) -> None:
        message = (
            f"Commands of probes are late: the next one has waited for {late.waited:.1f} s, and "
            f"{late.waiting} wait behind it. Longer periods, or probes other than exec, help"
        )
        _log.warning("commands of probes are late", waited=late.waited, waiting=late.waiting)
        name = self._ports.node_name
        if self._ports.events is not None and name:
            self._ports.events.tell(
                PostEvent(
                    regarding=ObjectReference(kind="Node", name=name, uid=name),
                    type=EventType.WARNING,
                    reason=COMMANDS_LATE,
                    message=message,
                )
            )

    # --- what is known ---------------------------------------------------------------------------------

    def _answer(self, wish: RunProbe) -> ProbeAnswer | None:
        """Return how a probe stands that has answered for the instance of now; None if it has not."""
        watched = self._memory.loop.watched.get(wish.key)
        answer = watched.answer if watched is not None else None
        if answer is None or answer.container_id != wish.target.container_id:
            return None
        return answer if answer.in_a_row else None

    def _described(self) -> AnswersDescribed:
        found = {}
        for key in (*self._memory.wishes, *self._memory.rested):
            counted = self._counted(key)
            if counted is not None:
                found[key] = self._in_public(key, counted)
        return AnswersDescribed(
            answers=found,
            bounds=DURATION_BOUNDS,
            commands=self._memory.turns.described(self.clock.monotonic()),
            begun=AttemptsBegun(**asdict(self._memory.loop.lateness)),
        )

    def _counted(self, key: ProbeKey) -> AnswersCounted | None:
        """Return what was counted of a probe, before it rested too."""
        watched, rested = self._memory.loop.watched.get(key), self._memory.rested.get(key)
        if watched is None or watched.answer is None:
            return rested
        return added(
            AnswersCounted(watched.answer, tuple(watched.buckets), watched.seconds), rested
        )

    def _in_public(self, key: ProbeKey, counted: AnswersCounted) -> AnswersCounted:
        wish, answer = self._memory.wishes.get(key), counted.answer
        if wish is None:
            return counted  # it rests, and was made public when it began to
        return counted._replace(answer=answer._replace(last=in_public(answer.last, wish.hidden)))


def _begun(wish: RunProbe) -> ProbeResult:
    """Return what counts of a probe until it answers."""
    return begin(wish.spec.kind, wish.initial).result
