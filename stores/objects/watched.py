"""Decides when a watched object is listed, watched, left idle and let go, and what its followers are told.

The decisions are pure, and about a record that outlives the actor. A method notes each message, ``settle``
draws the conclusions, and whatever has to be told stays in ``outgoing`` until it was told. So an actor that
was restarted after a crash needs nothing but the record. The caller passes the time, and waits until
``due``.
"""

from __future__ import annotations

from typing import assert_never

from manifests.versions import is_older
from messages.api import ApiFailure
from messages.holders import (
    NO_MARK,
    HolderDone,
    HolderIdle,
    HolderIs,
    Mark,
    ReferencesAre,
    StopIfIdle,
    UnprovenUsed,
)
from messages.objects import HeldObject, ObjectState, ReadVerdict
from messages.units import Instant, Seconds
from messages.watches import (
    ObjectsAre,
    TargetListed,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
)
from stores.objects.changes import change_after
from stores.objects.knowledge import ObjectKnowledge
from stores.objects.watcher_memory import (
    AskList,
    Inform,
    StartWatch,
    StopWatch,
    WatcherMemory,
    WatcherRules,
    grace_ends,
    held_object,
    is_proven,
    is_reached,
    is_refused,
)


class WatchedObject:
    """The decisions about one object. The caller passes each message to one method, then calls ``settle``."""

    __slots__ = ("_memory", "_rules")

    def __init__(self, memory: WatcherMemory, rules: WatcherRules) -> None:
        self._memory = memory
        self._rules = rules

    @property
    def _knowledge(self) -> ObjectKnowledge:
        return self._memory.knowledge

    @property
    def complaint(self) -> str:
        """What the API server told that cannot be used; empty if everything can."""
        return self._knowledge.known.flaw or self._knowledge.remark

    # What is heard.

    def revive(self, now: Instant) -> None:
        """Begin a new life: ask again, since the message that crashed the last may have been an answer."""
        memory = self._memory
        memory.asked = None
        if memory.is_watching:
            self._watch()
        self.settle(now)

    def take_references(self, wanted: ReferencesAre, now: Instant) -> None:
        """Note who needs the object. The manager is told how it is held, even if that has not changed."""
        memory = self._memory
        is_new = wanted.newest > memory.newest
        is_used = is_new or memory.references == 0 or memory.is_followed
        if is_new:
            memory.newest, memory.newest_at = wanted.newest, now.monotonic
        if memory.note_wanted(wanted.wanted) or is_used:
            memory.last_used = now.monotonic
        memory.references, memory.is_followed = wanted.references, wanted.is_followed
        memory.letting_go = None if wanted.references else wanted.newest
        memory.told, memory.is_told_idle = None, False

    def take_use(self, used: UnprovenUsed) -> None:
        """Note that a pod goes on with what was known before it came."""
        self._knowledge.usage.note_answer(used.mark, used.taken.verdict)
        missed = change_after(used.taken, self._knowledge.known.value)
        if missed is not None:
            self._memory.outgoing.append(Inform(missed))

    def take_stop(self, question: StopIfIdle) -> None:
        """Note that the manager asks whether the holder is still idle."""
        self._memory.stop_asked = question.number

    def take_watched(self, fact: WatchFact, now: Instant) -> None:
        """Note what the watch tells. What was under way when the watch was stopped counts as well."""
        memory = self._memory
        if memory.state is ObjectState.STOPPED:
            return
        match fact:
            case ObjectsAre():
                self._take_list(fact, now)
            case WatchEvent():
                self._knowledge.take_event(fact, now)
            case WatchFailed():
                self._take_failure(fact, now)
            case WatchRecovered():
                memory.fail(None)
                memory.late = 0
            case _:
                assert_never(fact)

    def _take_failure(self, failed: WatchFailed, now: Instant) -> None:
        memory = self._memory
        memory.fail(failed.failure if memory.is_watching else None)
        if memory.is_watching and failed.since is not None:
            self._knowledge.doubt(now.back_to(failed.since))

    def take_listed(self, answer: TargetListed, now: Instant) -> None:
        """Note the answer to the list under way. Any other answer came too late and is ignored."""
        memory = self._memory
        if answer.mark != memory.asked:
            return
        memory.asked = None
        if isinstance(answer.outcome, ApiFailure):
            failure = answer.outcome
            self._note_failed_list(failure.sentence, now, failure.retry_after or Seconds(0.0))
            return
        memory.lists_failed, memory.list_error = 0, ""
        version = answer.outcome.resource_version
        if is_older(version, memory.asked_over):
            # The API server went back in time: etcd was restored, and the old watch would tell nothing.
            self._watch()
            return
        memory.proven = max(memory.proven, Mark(answer.mark))
        if not is_older(version, self._knowledge.seen):
            self._knowledge.take_list(answer.outcome, now)

    def _take_list(self, listed: ObjectsAre, now: Instant) -> None:
        memory = self._memory
        is_watching = memory.is_watching
        if is_older(listed.resource_version, self._knowledge.seen) and (
            listed.mark < memory.proven or not is_watching
        ):
            # Either asked for before the list that proved the mark, or etcd was restored.
            if is_watching:
                self._watch()
            return
        self._knowledge.take_list(listed, now)
        memory.proven = max(memory.proven, Mark(listed.mark))
        # Nobody asked for this list, so Watches may have crashed and lost the other list.
        memory.asked = None
        if is_watching:
            memory.state = ObjectState.SYNCED
            self._plan_another(now)

    def _plan_another(self, now: Instant) -> None:
        """Set the time at which a watch that listed, but is failing, is asked for anew."""
        memory = self._memory
        if memory.failure is None:
            memory.late, memory.late_at = 0, None
        else:
            limit = self._rules.open_within(memory.late + 1)
            memory.late_at = Seconds(now.monotonic + limit)

    # What follows from it.

    def settle(self, now: Instant) -> None:
        """Bring watch, list and manager in line with what is known and needed."""
        memory = self._memory
        if not memory.references:
            self._let_go()
        elif not memory.can_exist:
            self._note_impossible()
        if memory.is_certain:
            self._knowledge.trust()
        if memory.references:
            self._hold(now)
            self._ask(now)
        if not memory.is_certain:
            self._knowledge.doubt(now)
        if self._knowledge.known.is_known:
            self._knowledge.usage.note(memory.proven)
        self._note_looks(now)
        self._inform()
        self._tell_idle(now)

    def held(self, now: Instant) -> HeldObject | None:
        """Return what followers are told now, after ``settle``; None if no pod references the object."""
        memory = self._memory
        return held_object(memory, self._rules, now) if memory.references else None

    def _note_looks(self, now: Instant) -> None:
        """Note which of the looks that followers want are done."""
        memory, usage = self._memory, self._knowledge.usage
        held = self.held(now)
        if held is None:
            return
        for wanted, mark in tuple(memory.looks.items()):
            if is_proven(mark, memory, self._rules, now):
                usage.note_answer(mark, held.verdict)
                memory.looked = wanted
                del memory.looks[wanted]
        if memory.wanted and held.verdict is ReadVerdict.NOT_FOUND:
            usage.note_absence()

    def give_up(self, now: Instant) -> None:
        """Stop the watch, since the actor is being stopped. What is known is uncertain from now on.

        The record still says that the object is watched, so that a next life watches it again.
        """
        memory = self._memory
        if memory.is_watching:
            memory.outgoing.append(StopWatch())
            self._knowledge.doubt(now)

    def due(self, now: Instant) -> Seconds | None:
        """Return when ``settle`` has to be called next even if no message comes; None if never."""
        memory = self._memory
        moments = [] if memory.late_at is None else [memory.late_at]
        if memory.looks and memory.is_forbidden and not is_refused(memory, self._rules, now):
            moments.append(grace_ends(memory, self._rules))
        if self._may_become_idle:
            moments.append(Seconds(memory.last_used + self._rules.idle_limit))
        if memory.newest > memory.proven:
            if memory.asked is not None:
                moments.append(Seconds(memory.asked_at + self._rules.answer_within))
            elif self._may_ask:
                moments.append(memory.retry_at)
        return min(moments, default=None)

    def _let_go(self) -> None:
        memory = self._memory
        if memory.state is ObjectState.STOPPED:
            return
        self._unwatch(ObjectState.STOPPED)
        # The next reference starts with nothing (rule W1).
        memory.forget()

    def _note_impossible(self) -> None:
        """Note that there is no such object: the API server accepts no such name."""
        memory = self._memory
        memory.state, memory.proven = ObjectState.IMMUTABLE, memory.newest
        memory.knowledge.learn_absence()

    def _hold(self, now: Instant) -> None:
        memory, is_idle = self._memory, self._is_idle(now)
        match memory.state:
            case ObjectState.STOPPED:
                self._watch()
            case ObjectState.IDLE if not is_idle:
                self._watch()
            case ObjectState.IMMUTABLE if not memory.is_immutable:
                self._watch()
            case ObjectState.SYNCED if self._knowledge.known.is_immutable:
                self._unwatch(ObjectState.IMMUTABLE)
            case ObjectState.SYNCED if is_idle and not memory.looks:
                self._unwatch(ObjectState.IDLE)
            case ObjectState.SYNCED if self._is_late(now):
                memory.late += 1
                self._watch()
            case _:
                pass

    def _watch(self) -> None:
        memory = self._memory
        memory.state = ObjectState.INITIALISING
        memory.fail(None)
        self._start_watch()

    def _start_watch(self) -> None:
        self._memory.watch_mark = self._memory.newest
        self._memory.outgoing.append(StartWatch(self._memory.newest))

    def _unwatch(self, state: ObjectState) -> None:
        self._memory.state = state
        self._memory.fail(None)
        self._memory.outgoing.append(StopWatch())

    def _is_late(self, now: Instant) -> bool:
        late_at = self._memory.late_at
        return late_at is not None and is_reached(late_at, now)

    def _ask(self, now: Instant) -> None:
        """Ask for a list that proves the newest mark, one at a time."""
        memory = self._memory
        if memory.newest <= memory.proven:
            memory.lists_failed, memory.list_error = 0, ""
            return
        if memory.asked is not None and is_reached(
            memory.asked_at + self._rules.answer_within, now
        ):
            memory.asked = None
            self._note_failed_list("a list was never answered", now)
        if memory.failure is not None and memory.newest > memory.watch_mark:
            # A new watch begins with a list, and is tried at once if that makes sense.
            self._start_watch()
        elif self._may_ask and is_reached(memory.retry_at, now):
            memory.asked, memory.asked_at = memory.newest, now.monotonic
            memory.asked_over = self._knowledge.seen
            memory.outgoing.append(AskList(memory.newest))

    @property
    def _may_ask(self) -> bool:
        memory = self._memory
        is_held = memory.state in {ObjectState.SYNCED, ObjectState.IMMUTABLE}
        return is_held and memory.failure is None and memory.asked is None

    def _note_failed_list(self, sentence: str, now: Instant, wish: Seconds = Seconds(0.0)) -> None:
        memory, rules = self._memory, self._rules
        memory.lists_failed += 1
        memory.list_error = sentence
        delay = max(rules.retry(memory.lists_failed), wish)
        memory.retry_at = Seconds(now.monotonic + delay)

    @property
    def _may_become_idle(self) -> bool:
        """Whether something changes when nobody wants the object until it is idle."""
        memory = self._memory
        if memory.is_followed or memory.looks:
            return False
        is_resting = memory.state is ObjectState.IMMUTABLE and self._has_no_question
        return memory.state is ObjectState.SYNCED or (is_resting and not memory.is_told_idle)

    @property
    def _has_no_question(self) -> bool:
        memory = self._memory
        return memory.asked is None and memory.newest <= memory.proven

    def _may_be_stopped(self, now: Instant) -> bool:
        """Return whether the holder does nothing but wait for somebody who needs the object."""
        memory = self._memory
        if not memory.references or memory.looks:
            return False
        match memory.state:
            case ObjectState.IDLE:
                return memory.asked is None
            case ObjectState.IMMUTABLE:
                return self._has_no_question and self._is_idle(now)
            case _:
                return False

    def _is_idle(self, now: Instant) -> bool:
        limit = self._memory.last_used + self._rules.idle_limit
        return not self._memory.is_followed and is_reached(limit, now)

    def _tell_idle(self, now: Instant) -> None:
        memory = self._memory
        number, memory.stop_asked = memory.stop_asked, 0
        is_told, memory.is_told_idle = memory.is_told_idle, self._may_be_stopped(now)
        if memory.is_told_idle and (number or not is_told):
            memory.outgoing.append(Inform(HolderIdle(object=memory.object, number=number)))

    def _inform(self) -> None:
        memory, untold = self._memory, self._knowledge.untold
        described = memory.described
        if memory.newest != NO_MARK and (untold or described != memory.told):
            for changed, concerns in untold:
                news = HolderIs(described=described, changed=changed, concerns=concerns)
                memory.outgoing.append(Inform(news))
            if not untold:
                memory.outgoing.append(Inform(HolderIs(described=described)))
            untold.clear()
            memory.told = described
        if memory.letting_go is not None:
            done = HolderDone(object=memory.object, newest=memory.letting_go)
            memory.outgoing.append(Inform(done))
            memory.letting_go = None
