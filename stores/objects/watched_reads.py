"""What those who read a watched object are answered, and when: the freshness that is promised.

A read of a mark is current only if a list that was asked for at that mark, or later, has come; it waits
for that as long as its reader allows. What is known by then is answered with its age.
"""

from __future__ import annotations

from typing import Final

from messages.holders import ReadObject
from messages.objects import ObjectRead, ReadVerdict
from messages.units import Seconds
from stores.objects.answers import answer_of
from stores.objects.knowledge import Moment
from stores.objects.waiting_reads import WaitingRead
from stores.objects.watcher_memory import WatcherMemory, WatcherRules, is_reached

_WITH_AGE: Final = frozenset({ReadVerdict.STALE, ReadVerdict.NOT_FOUND})


def is_ripe(waiting: WaitingRead, memory: WatcherMemory, rules: WatcherRules, now: Moment) -> bool:
    """Return whether a read is answered now: it cannot be answered better, or may not wait."""
    mark = waiting.read.mark
    if is_reached(waiting.until, now):
        return True
    if mark > memory.newest:
        # Its reference is told of behind it: of those only the newest is kept, at its place.
        return False
    is_proven = mark <= memory.proven and memory.knowledge.is_learned
    return not memory.references or is_proven or is_refused(memory, rules, now)


def answer_to(
    read: ReadObject, memory: WatcherMemory, rules: WatcherRules, now: Moment
) -> ObjectRead:
    """Return what is known of the object, as the answer to ``read``."""
    knowledge = memory.knowledge
    is_current = read.mark <= memory.proven and knowledge.doubtful_since is None
    name = f"{read.object.kind} {read.object.display_name}"
    if not memory.references:
        verdict, reason = ReadVerdict.NOT_REGISTERED, f"no pod references {name}"
    elif knowledge.value is not None and is_current:
        verdict, reason = ReadVerdict.FOUND, ""
    elif knowledge.value is not None:
        verdict, reason = ReadVerdict.STALE, memory.error or f"{name} may have changed"
    elif knowledge.flaw:
        verdict, reason = ReadVerdict.UNUSABLE, knowledge.flaw
    elif knowledge.is_known and is_current:
        verdict = ReadVerdict.NOT_FOUND
        reason = f"there is no {name}" if memory.can_exist else memory.error
    elif knowledge.is_known:
        verdict, reason = ReadVerdict.NOT_FOUND, memory.error or f"there may be a {name} by now"
    elif is_refused(memory, rules, now):
        verdict, reason = ReadVerdict.FORBIDDEN, memory.error
    else:
        verdict, reason = ReadVerdict.NOT_SYNCED, memory.error or f"{name} was not listed in time"
    return answer_of(
        read,
        verdict,
        value=knowledge.value,
        age=knowledge.age(now) if verdict in _WITH_AGE and not is_current else None,
        reason=reason,
    )


def is_refused(memory: WatcherMemory, rules: WatcherRules, now: Moment) -> bool:
    """Return whether there is a 403 that counts, so that waiting makes no sense."""
    return memory.is_forbidden and is_reached(grace_ends(memory, rules), now)


def grace_ends(memory: WatcherMemory, rules: WatcherRules) -> Seconds:
    """Return until when a 403 does not count."""
    return Seconds(memory.newest_at + rules.forbidden_grace)
