"""Whom the feed follows while somebody reads, and whom it asks for the present state."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from actors.events.feed_parts import (
    PODS,
    PROBES,
    STATUSES,
    FeedMemory,
    FeedPorts,
    objects_part,
    verdicts_part,
)
from actors.events.ring import StatePart
from messages.events import FollowPosts, UnfollowPosts
from messages.objects import DescribeObjects, FollowObjects, UnfollowObjects
from messages.pod_manager import DescribePods, Subscribe, Unsubscribe
from messages.probing import DescribeProbes
from messages.sources import DescribeSource
from messages.statuses import DescribeStatuses, FollowStatuses, UnfollowStatuses


class FeedSubscriptions:
    """Tells others that the feed follows them, and asks them."""

    def __init__(self, ports: FeedPorts, memory: FeedMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._asked: set[StatePart] = set()
        """Parts that somebody was asked for and has not told yet."""

    def follow(self) -> None:
        """Follow everybody, and learn what there is: it is no news."""
        ports = self._ports
        self._memory.is_following = True
        ports.pod_manager.tell(Subscribe(subscriber=ports.me))
        for manager in ports.managers.values():
            manager.tell(FollowObjects(subscriber=ports.me))
        if ports.statuses is not None:
            ports.statuses.tell(FollowStatuses(subscriber=ports.me))
        if ports.recorder is not None:
            ports.recorder.tell(FollowPosts(subscriber=ports.me))
        # The answer comes after the present listings, so it separates them from later ones.
        self.ask({PODS, *map(verdicts_part, ports.sources)})

    def unfollow(self) -> None:
        """Follow nobody."""
        ports = self._ports
        ports.pod_manager.tell(Unsubscribe(subscriber=ports.me))
        for manager in ports.managers.values():
            manager.tell(UnfollowObjects(subscriber=ports.me))
        if ports.statuses is not None:
            ports.statuses.tell(UnfollowStatuses(subscriber=ports.me))
        if ports.recorder is not None:
            ports.recorder.tell(UnfollowPosts(subscriber=ports.me))
        self._asked.clear()
        self._memory.is_following = False

    def ask(self, parts: AbstractSet[StatePart], *, again: bool = False) -> None:
        """Ask for parts of the present state.

        Who has been asked and has not answered is not asked ``again`` otherwise: its answer will be as new.
        """
        wanted = parts if again else parts - self._asked
        self._asked |= wanted
        ports = self._ports
        if PODS in wanted:
            ports.pod_manager.tell(DescribePods(reply_to=ports.me))
        if STATUSES in wanted and ports.statuses is not None:
            ports.statuses.tell(DescribeStatuses(reply_to=ports.me))
        if PROBES in wanted and ports.probes is not None:
            ports.probes.tell(DescribeProbes(reply_to=ports.me))
        for kind, manager in ports.managers.items():
            if objects_part(kind) in wanted:
                manager.tell(DescribeObjects(reply_to=ports.me))
        for name, source in ports.sources.items():
            if verdicts_part(name) in wanted:
                source.tell(DescribeSource(reply_to=ports.me))

    def note_answer(self, part: StatePart) -> None:
        """Note that a part was told."""
        self._asked.discard(part)
