"""What those who read a watched object are answered, and when: the freshness that is promised.

A read of a mark is current only if a list that was asked for at that mark, or later, has come; it waits
for that as long as its reader allows. What is known by then is answered with its age.
"""

from __future__ import annotations

from messages.holders import ReadObject
from messages.objects import ObjectRead, ReadVerdict
from messages.units import Seconds
from stores.objects.answers import answer_of
from stores.objects.last_known import LastKnown, Moment
from stores.objects.waiting_reads import WaitingRead
from stores.objects.watcher_memory import WatcherMemory, WatcherRules, is_reached


def is_ripe(waiting: WaitingRead, memory: WatcherMemory, rules: WatcherRules, now: Moment) -> bool:
    """Return whether a read is answered now: it cannot be answered better, or may not wait."""
    mark = waiting.read.mark
    if is_reached(waiting.until, now):
        return True
    if mark > memory.newest:
        # Its reference is told of behind it: of those only the newest is kept, at its place.
        return False
    is_proven = mark <= memory.proven and memory.knowledge.known.is_learned
    return not memory.references or is_proven or is_refused(memory, rules, now)


def answer_to(
    read: ReadObject, memory: WatcherMemory, rules: WatcherRules, now: Moment
) -> ObjectRead:
    """Return what is known of the object, as the answer to ``read``."""
    name = f"{read.object.kind} {read.object.display_name}"
    if not memory.references:
        return answer_of(read, ReadVerdict.NOT_REGISTERED, reason=f"no pod references {name}")
    knowledge = memory.knowledge
    is_proven = read.mark <= memory.proven
    known = knowledge.known if is_proven else knowledge.known_before(now)
    if known.flaw:
        otherwise = ReadVerdict.UNUSABLE
    elif is_refused(memory, rules, now):
        otherwise = ReadVerdict.FORBIDDEN
    else:
        otherwise = ReadVerdict.NOT_SYNCED
    return known.answer(read, now, reason=_reason(name, known, memory), otherwise=otherwise)


def _reason(name: str, known: LastKnown, memory: WatcherMemory) -> str:
    """Return why a read finds no current value."""
    if known.is_absent and known.current_until is None and memory.can_exist:
        return f"there is no {name}"
    if memory.error:
        return memory.error
    if known.value is not None:
        return f"{name} may have changed"
    return f"there may be a {name} by now" if known.is_known else f"{name} was not listed in time"


def is_refused(memory: WatcherMemory, rules: WatcherRules, now: Moment) -> bool:
    """Return whether there is a 403 that counts, so that waiting makes no sense."""
    return memory.is_forbidden and is_reached(grace_ends(memory, rules), now)


def grace_ends(memory: WatcherMemory, rules: WatcherRules) -> Seconds:
    """Return until when a 403 does not count."""
    return Seconds(memory.newest_at + rules.forbidden_grace)
