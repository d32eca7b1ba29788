"""Telling followers what has changed about an object, and what each pod wants done about that.

A part of the manager of objects, for one life of it.
"""

from __future__ import annotations

from random import Random

from actors.objects.manager_parts import ObjectManagerMemory
from actors.objects.notices import ObjectNotices
from messages.holders import HolderIs
from messages.objects import Change, ChangeMissed, ObjectFact
from stores.objects.changes import decisions
from stores.objects.followers import ObjectFollowers, hears
from stores.objects.reference_index import ReferenceIndex


class ObjectChanges:
    """Tells changes, and counts them."""

    def __init__(
        self,
        references: ReferenceIndex,
        followers: ObjectFollowers,
        notices: ObjectNotices,
        memory: ObjectManagerMemory,
        chance: Random,
    ) -> None:
        self._references = references
        self._followers = followers
        self._notices = notices
        self._memory = memory
        self._chance = chance

    def tell(self, news: HolderIs, *, was_known: bool = True) -> None:
        """Tell the change in ``news``, if there is one that concerns anybody."""
        changed = news.changed
        if changed is None:
            return
        is_referenced = changed.object in self._references.objects()
        followers = self._followers.get(changed.object, is_referenced=is_referenced)
        if not is_referenced and not followers:
            return
        pods = self._references.hooked_pods(changed.object, news.concerns)
        decided = tuple(decisions(changed, pods, self._chance))
        self._memory.changes[changed.change] += 1
        self._memory.decisions.update(decision.action for decision in decided)
        if is_referenced and (was_known or changed.change is not Change.ADDED):
            self._notices.note_change(changed, decided)
        facts: tuple[ObjectFact, ...] = (changed, *decided)
        for follower, pod in followers.items():
            for fact in facts if pod is None else reversed(facts):
                if hears(pod, fact):
                    follower.tell(fact)

    def tell_missed(self, missed: ChangeMissed) -> None:
        """Tell what a pod wants done about a change that nobody heard of, for this pod alone."""
        changed, pod = missed.changed, self._references.get(missed.pod)
        if pod is None or changed.object not in pod.references:
            return
        decided = tuple(decisions(changed, (pod,), self._chance))
        self._memory.decisions.update(decision.action for decision in decided)
        self._notices.note_change(changed, decided)
        for follower, about in self._followers.get(changed.object, is_referenced=True).items():
            for decision in decided:
                if hears(about, decision):
                    follower.tell(decision)
