"""Who follows which objects: some subscribers follow one object, others follow all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from messages.objects import ChangeDecided, FollowObjects, ObjectFact, ObjectId, UnfollowObjects
from messages.pods import PodUid
from messages.port import Port

FollowerMemory: TypeAlias = dict[ObjectId | None, dict[Port[ObjectFact], PodUid | None]]
"""The subscribers of each followed object, with the pod whose decisions they hear, or None for all of them;
under None those who follow all objects. No entry is empty."""


class ObjectFollowers:
    """The subscribers to objects of one kind. ``memory`` outlives it."""

    def __init__(self, memory: FollowerMemory) -> None:
        self._memory = memory

    def note(self, message: FollowObjects | UnfollowObjects) -> bool:
        """Note who follows; return whether the first follower came or the last one went.

        That counts the followers of what the message names: an object, or all. Repeats change nothing.
        """
        followed, subscriber = message.object, message.subscriber
        was_followed = followed in self._memory
        if isinstance(message, FollowObjects):
            self._memory.setdefault(followed, {})[subscriber] = message.pod
        elif was_followed:
            self._memory[followed].pop(subscriber, None)
            if not self._memory[followed]:
                del self._memory[followed]
        return was_followed != (followed in self._memory)

    def are_there(self, wanted: ObjectId) -> bool:
        """Return whether anybody follows a referenced object, by its name or with all others."""
        return None in self._memory or wanted in self._memory

    def get(
        self, wanted: ObjectId, *, is_referenced: bool
    ) -> Mapping[Port[ObjectFact], PodUid | None]:
        """Return each follower of an object once. Those who follow all hear only of referenced objects."""
        followers = dict(self._memory.get(wanted, {}))
        if is_referenced:
            followers |= self._memory.get(None, {})
        return followers


def hears(pod: PodUid | None, fact: ObjectFact) -> bool:
    """Return whether a follower who hears decisions about ``pod``, or about all if None, is told this."""
    return pod is None or not isinstance(fact, ChangeDecided) or fact.pod == pod
