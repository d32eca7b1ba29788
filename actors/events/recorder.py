"""EventRecorder: hears the events that others post, remembers them for people, and passes them on.

So an agent without a cluster has them too, where nobody posts them anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from typing_extensions import override

from actors.events.lines import told_of
from actors.events.noted_events import NodeEvents, NotedChanges, NotedEvents
from kernel import Key, PooledActor, Port
from messages.events import (
    DescribeEventsOfPods,
    DescribePastEvents,
    DescribePodEvents,
    EventNoted,
    EventRecorderMessage,
    EventsOfPods,
    FollowPosts,
    PastEvent,
    PastEventsDescribed,
    PodEventsDescribed,
    PostEvent,
    UnfollowPosts,
)
from messages.objects import ChangeDecided, ObjectChanged
from messages.units import Timestamp

EVENT_RECORDER = Key[EventRecorderMessage]("event-recorder")


@dataclass(slots=True)
class RecorderMemory:
    """What outlives a life of the recorder."""

    events: NotedEvents = field(default_factory=NotedEvents)
    changes: NotedChanges = field(default_factory=NotedChanges)
    node: NodeEvents = field(default_factory=NodeEvents)
    since: Timestamp | None = None
    """When the first life began."""
    followers: dict[Port[EventNoted], None] = field(default_factory=dict)


class EventRecorder(PooledActor[EventRecorderMessage]):
    """Remembers the last events of each pod, the last changes of each object, and the last of all of them.

    Owns: these.
    Hears: ``PostEvent`` of everybody who has something to say; ``ObjectFact`` of the managers of objects,
    of what they know of in any case; ``FollowPosts``, ``UnfollowPosts``, ``DescribePodEvents``,
    ``DescribeEventsOfPods``, ``DescribePastEvents``.
    Tells: who posts events ``PostEvent``, followers ``EventNoted``.
    Fails when: it has a bug. The event that it failed over is lost.

    Order: events are passed on in the order in which they came. Repetition: equal events are remembered
    once, with a count.
    """

    def __init__(self, poster: Port[PostEvent] | None, memory: RecorderMemory) -> None:
        """``poster`` posts them at the API server; None without a cluster."""
        self._poster = poster
        self._memory = memory

    @override
    def started(self) -> None:
        if self._memory.since is None:
            self._memory.since = self.clock.wall()

    @override
    def receive(self, message: EventRecorderMessage, /) -> None:
        memory, now = self._memory, self.clock.wall()
        match message:
            case PostEvent():
                self._pass_on(message)
            case ObjectChanged() | ChangeDecided():
                memory.changes.note(message, now)
                memory.node.note(message, now)
            case DescribePodEvents(uid=uid, objects=objects, reply_to=reply_to):
                changes = memory.changes.of(uid, objects)
                reply_to.tell(PodEventsDescribed(events=memory.events.of(uid), changes=changes))
            case DescribeEventsOfPods(uids=uids, reply_to=reply_to):
                known = {uid: memory.events.of(uid) for uid in uids}
                reply_to.tell(
                    EventsOfPods(events={uid: each for uid, each in known.items() if each})
                )
            case DescribePastEvents(reply_to=reply_to):
                reply_to.tell(self._past(now))
            case FollowPosts(subscriber=subscriber):
                memory.followers[subscriber] = None
            case UnfollowPosts(subscriber=subscriber):
                memory.followers.pop(subscriber, None)
            case _:
                assert_never(message)

    def _pass_on(self, post: PostEvent) -> None:
        if self._poster is not None:
            self._poster.tell(post)
        now = self.clock.wall()
        count = self._memory.events.note(post, now)
        self._memory.node.note(post, now)
        for follower in self._memory.followers:
            follower.tell(EventNoted(post=post, at=now, count=count))

    def _past(self, now: Timestamp) -> PastEventsDescribed:
        memory = self._memory
        events = tuple(
            PastEvent(when.number, when.first, when.last, when.times, *told_of(fact, when.times))
            for fact, when in memory.node.newest_first()
        )
        since = now if memory.since is None else memory.since
        return PastEventsDescribed(since=since, forgotten=memory.node.forgotten, events=events)
