"""Who follows which objects: some follow one by its name, others all that there are."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from messages.objects import FollowObjects, ObjectFact, ObjectId, UnfollowObjects
from messages.port import Port

FollowerMemory: TypeAlias = dict[ObjectId | None, dict[Port[ObjectFact], None]]
"""Subscribers of one object, and under None those of all; never none at all."""


class ObjectFollowers:
    """See the module. The record that is handed in outlives it."""

    def __init__(self, memory: FollowerMemory) -> None:
        self._memory = memory

    def note(self, message: FollowObjects | UnfollowObjects) -> bool:
        """Take in who follows; return whether the first follower came or the last one went.

        That is of the object, or of all, that the message names. Repeats change nothing.
        """
        followed, subscriber = message.object, message.subscriber
        was_followed = followed in self._memory
        if isinstance(message, FollowObjects):
            self._memory.setdefault(followed, {})[subscriber] = None
        elif was_followed:
            self._memory[followed].pop(subscriber, None)
            if not self._memory[followed]:
                del self._memory[followed]
        return was_followed != (followed in self._memory)

    def are_there(self, wanted: ObjectId) -> bool:
        """Return whether anybody follows an object that is referenced."""
        return None in self._memory or wanted in self._memory

    def get(self, wanted: ObjectId, *, is_referenced: bool) -> Collection[Port[ObjectFact]]:
        """Return who hears of an object, each once: those of all only of what is referenced."""
        followers = dict(self._memory.get(wanted, {}))
        if is_referenced:
            followers |= self._memory.get(None, {})
        return followers.keys()
