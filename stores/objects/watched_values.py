"""What followers of a watched object are told, and when that is as new as a pod wants it.

It is new enough if a list has come that was asked for at the mark of the pod's reference, or later.
"""

from __future__ import annotations

from messages.holders import Mark
from messages.objects import HeldObject, ReadVerdict
from messages.units import Instant, Seconds
from stores.objects.last_known import LastKnown
from stores.objects.watcher_memory import WatcherMemory, WatcherRules, is_reached


def is_proven(mark: Mark, memory: WatcherMemory, rules: WatcherRules, now: Instant) -> bool:
    """Return whether waiting would improve nothing for a pod whose reference has ``mark``."""
    is_known = mark <= memory.proven and memory.knowledge.known.is_learned
    return is_known or is_refused(memory, rules, now)


def held_object(memory: WatcherMemory, rules: WatcherRules, now: Instant) -> HeldObject:
    """Return what followers of a referenced object are told at ``now``."""
    name = f"{memory.object.kind} {memory.object.display_name}"
    known = memory.knowledge.known
    return known.held(reason=_reason(name, known, memory), otherwise=_otherwise(memory, rules, now))


def _otherwise(memory: WatcherMemory, rules: WatcherRules, now: Instant) -> ReadVerdict:
    """Return the verdict where no value is known, and not that there is none."""
    if memory.knowledge.known.flaw:
        return ReadVerdict.UNUSABLE
    return ReadVerdict.FORBIDDEN if is_refused(memory, rules, now) else ReadVerdict.NOT_SYNCED


def _reason(name: str, known: LastKnown, memory: WatcherMemory) -> str:
    """Return why followers do not have a current value."""
    if known.is_absent and known.current_until is None and memory.can_exist:
        return f"there is no {name}"
    if memory.error:
        return memory.error
    if known.value is not None:
        return f"{name} may have changed"
    return f"there may be a {name} by now" if known.is_known else f"{name} was not listed in time"


def is_refused(memory: WatcherMemory, rules: WatcherRules, now: Instant) -> bool:
    """Return whether a 403 counts, so that waiting makes no sense."""
    return memory.is_forbidden and is_reached(grace_ends(memory, rules), now)


def grace_ends(memory: WatcherMemory, rules: WatcherRules) -> Seconds:
    """Return until when a 403 does not count, on the monotonic clock."""
    return Seconds(memory.newest_at + rules.forbidden_grace)
