"""When reads of a watched object are answered, and what.

The answer to a read is current only if a list has come that was asked for at the mark of the read, or later.
A read waits for such a list as long as its reader allows. Then it gets what is known, with its age.
"""

from __future__ import annotations

from messages.holders import Mark, ReadObject
from messages.objects import HeldObject, ObjectRead, ReadVerdict
from messages.units import Seconds
from stores.objects.answers import answer_of
from stores.objects.last_known import LastKnown, Moment
from stores.objects.waiting_reads import WaitingRead
from stores.objects.watcher_memory import WatcherMemory, WatcherRules, is_reached


def is_ripe(waiting: WaitingRead, memory: WatcherMemory, rules: WatcherRules, now: Moment) -> bool:
    """Return whether to answer a read now: waiting would improve nothing, or it may not wait longer."""
    mark = waiting.read.mark
    if is_reached(waiting.until, now):
        return True
    if mark > memory.newest:
        # The message about its reference is still to come: such messages are coalesced.
        return False
    return not memory.references or is_proven(mark, memory, rules, now)


def is_proven(mark: Mark, memory: WatcherMemory, rules: WatcherRules, now: Moment) -> bool:
    """Return whether waiting would improve nothing for a pod whose reference has ``mark``."""
    is_known = mark <= memory.proven and memory.knowledge.known.is_learned
    return is_known or is_refused(memory, rules, now)


def held_object(memory: WatcherMemory, rules: WatcherRules, now: Moment) -> HeldObject:
    """Return what followers of a referenced object are told at ``now``."""
    name = f"{memory.object.kind} {memory.object.display_name}"
    known = memory.knowledge.known
    return known.held(reason=_reason(name, known, memory), otherwise=_otherwise(memory, rules, now))


def answer_to(
    read: ReadObject, memory: WatcherMemory, rules: WatcherRules, now: Moment
) -> ObjectRead:
    """Return the answer to ``read`` by what is known at ``now``."""
    name = f"{read.object.kind} {read.object.display_name}"
    if not memory.references:
        return answer_of(read, ReadVerdict.NOT_REGISTERED, reason=f"no pod references {name}")
    knowledge = memory.knowledge
    is_proven = read.mark <= memory.proven
    known = knowledge.known if is_proven else knowledge.known_before(now)
    otherwise = _otherwise(memory, rules, now)
    return known.answer(read, now, reason=_reason(name, known, memory), otherwise=otherwise)


def _otherwise(memory: WatcherMemory, rules: WatcherRules, now: Moment) -> ReadVerdict:
    """Return the verdict where no value is known, and not that there is none."""
    if memory.knowledge.known.flaw:
        return ReadVerdict.UNUSABLE
    return ReadVerdict.FORBIDDEN if is_refused(memory, rules, now) else ReadVerdict.NOT_SYNCED


def _reason(name: str, known: LastKnown, memory: WatcherMemory) -> str:
    """Return why a read does not get a current value."""
    if known.is_absent and known.current_until is None and memory.can_exist:
        return f"there is no {name}"
    if memory.error:
        return memory.error
    if known.value is not None:
        return f"{name} may have changed"
    return f"there may be a {name} by now" if known.is_known else f"{name} was not listed in time"


def is_refused(memory: WatcherMemory, rules: WatcherRules, now: Moment) -> bool:
    """Return whether a 403 counts, so that waiting makes no sense."""
    return memory.is_forbidden and is_reached(grace_ends(memory, rules), now)


def grace_ends(memory: WatcherMemory, rules: WatcherRules) -> Seconds:
    """Return until when a 403 does not count, on the monotonic clock."""
    return Seconds(memory.newest_at + rules.forbidden_grace)
