"""EventFeed: tells the readers of ``/events`` how everything is, and then what happens.

It formats each fact once and tells all readers the same bytes. It knows no sockets: a reader is a port
that takes what it is told and never makes the feed wait. Without readers it subscribes to nothing, since
objects that somebody follows have to be watched.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, assert_never

from typing_extensions import override

from actors.events import lines
from actors.events.feed_parts import (
    ACTORS,
    PODS,
    PROBES,
    STATUSES,
    VOLUMES,
    FeedGoesOn,
    FeedMemory,
    FeedMessage,
    FeedPorts,
    FeedReader,
    FeedSubscriptions,
    StatePart,
    objects_part,
    verdicts_part,
)
from actors.events.feed_readers import FeedReaders
from kernel import PooledActor, Port
from messages.event_feed import (
    ActorIs,
    AttachReader,
    DescribeFeed,
    DetachReader,
    FeedAnswer,
    FeedDescribed,
    FeedFact,
    FeedTelling,
    ReaderAttached,
    comment,
)
from messages.events import EventNoted
from messages.objects import ChangeDecided, ObjectChanged, ObjectFact, ObjectsDescribed
from messages.pod_manager import PodsAre, PodsChanged, PodsDescribed
from messages.probing import ProbeResultIs, ProbesDescribed
from messages.sources import SourceDescribed, VerdictsMayDiffer
from messages.statuses import PodStatusChanged, StatusesDescribed
from messages.units import Seconds
from messages.volumes import VolumeTroublesAre

WHY_RESTARTED: Final = "the event feed was restarted"
RESTARTED: Final = comment(f"{WHY_RESTARTED}: a change may be missing here")
TOO_OLD: Final = "what came after that id is not known any more"
UNKNOWN: Final = comment(f"{TOO_OLD}: something is missing here")

UNDER_WAY: Final = Seconds(30.0)
"""How long facts may still arrive after the feed unsubscribed. After that it unsubscribes again."""
LINGERS: Final = Seconds(60.0)
"""How long it goes on after the last reader: one that was cut comes back and misses nothing."""
ANSWER_WITHIN: Final = Seconds(2.5)
"""How long a reader waits for all of the present state. Between two lives an actor waits 1.7 s at most."""
BETWEEN_VERDICTS: Final = Seconds(0.5)
"""A source is asked for its verdicts at most so often: it may have thousands."""
GROUP: Final = 200
"""Events of one turn: a few milliseconds."""


class EventFeed(PooledActor[FeedMessage]):
    """Tells every reader the present state, if it wants that, and then what happens.

    Owns: the readers, the last events, what readers have been told of pods and manifests, and the actors
    and volumes that are in trouble.
    Hears: ``AttachReader``, ``DetachReader``, ``DescribeFeed``; every ``FeedFact``, those of actors,
    volumes and probes also while nobody reads; ``FeedAnswer``.
    Tells: readers ``EventChunk`` and ``EventPieces``. With the first reader, and a minute after the last:
    PodManager ``Subscribe``, ``DescribePods`` and ``Unsubscribe``, the managers of objects
    ``FollowObjects`` and ``UnfollowObjects``, the keeper of statuses ``FollowStatuses`` and
    ``UnfollowStatuses``, the recorder of events ``FollowPosts`` and ``UnfollowPosts``. For the present
    state all of these but the last, the sources and the keeper of probes ``Describe...``.
    Fails when: it has a bug. Readers stay attached; they are told that it was restarted, and the present
    state anew.

    Order: the facts of one manager stay in their order. A reader who wants the present state is told each
    part of it as of one moment, and then what happened since that moment. Who only wants what happens is
    not told of pods that exist when the first reader comes, if their source had listed by then. Many
    changes are told in groups, and what comes meanwhile waits.
    Facts that nobody reads are dropped.
    """

    def __init__(self, ports: FeedPorts, memory: FeedMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._subscriptions = FeedSubscriptions(ports, memory)
        self._readers = FeedReaders(memory)
        self._work: deque[Iterator[None]] = deque()
        """Facts and answers that are being told, in their order."""
        self._stale: set[StatePart] = set()
        """Sources whose verdicts may be others than readers know."""

    @override
    def started(self) -> None:
        memory = self._memory
        self._next_verdicts = self.alarm(self._ask_for_verdicts)
        self._state_is_late = self.alarm(self._give_up_state)
        self._nobody_came = self.alarm(self._unfollow)
        if not memory.readers:
            if memory.is_following:
                self._unfollow()
            return
        self._follow()
        for port, reader in memory.readers.items():
            if reader.wants_state:
                self._begin_state(port, reader, WHY_RESTARTED)
            else:
                self._readers.tell(port, RESTARTED)

    @override
    def receive(self, message: FeedMessage, /) -> None:
        match message:
            case AttachReader():
                self._attach(message)
            case DetachReader():
                self._detach(message)
            case DescribeFeed(reply_to=reply_to):
                memory = self._memory
                reply_to.tell(FeedDescribed(readers=len(memory.readers), dropped=memory.dropped))
            case FeedGoesOn():
                self._go_on()
            case (
                PodsDescribed()
                | StatusesDescribed()
                | SourceDescribed()
                | ObjectsDescribed()
                | ProbesDescribed()
            ):
                if self._memory.is_following:
                    self._add(self._answer(message))
            case _:
                self._note(message)

    # --- readers ---------------------------------------------------------------------------------------

    def _attach(self, message: AttachReader) -> None:
        memory, port = self._memory, message.reader
        self._nobody_came.at(None)
        if not memory.is_following:
            self._follow()
        reader = memory.readers[port] = FeedReader(wants_state=message.wants_state)
        message.reply_to.tell(ReaderAttached())
        missed = memory.ring.since(message.since) if message.since else None
        if missed is not None:
            self._readers.resume(port, missed)
        elif message.wants_state:
            self._begin_state(port, reader, TOO_OLD if message.since else "")
        elif message.since:
            self._readers.tell(port, UNKNOWN)

    def _detach(self, message: DetachReader) -> None:
        memory = self._memory
        if message.reader not in memory.readers:
            return
        del memory.readers[message.reader]
        memory.dropped += message.was_slow
        if not memory.readers:
            self._nobody_came.after(LINGERS)

    def _begin_state(self, port: Port[FeedTelling], reader: FeedReader, why: str) -> None:
        self._readers.begin(port, reader, self._ports.parts(), self.clock.monotonic(), why)
        self._subscriptions.ask(self._ports.parts())
        self._wait_for_state()

    def _wait_for_state(self) -> None:
        if self._state_is_late.due is None:
            self._state_is_late.after(ANSWER_WITHIN)

    def _give_up_state(self) -> None:
        """Go on without the parts of those who have had time to answer."""
        awaited = self._readers.give_up(Seconds(self.clock.monotonic() - ANSWER_WITHIN))
        self._begin_anew()
        if awaited:
            self._subscriptions.ask(awaited, again=True)
            self._wait_for_state()

    # --- what happens ----------------------------------------------------------------------------------

    def _note(self, fact: FeedFact) -> None:
        match fact:
            case ActorIs(name=name, state=state):
                self._memory.actors.pop(name, None)
                if state not in {"running", "gone"}:
                    self._memory.actors[name] = fact
            case VolumeTroublesAre(pod=pod, troubles=troubles):
                self._memory.volumes.pop(pod.uid, None)
                if troubles:
                    self._memory.volumes[pod.uid] = fact
            case _:
                pass
        if self._memory.is_following:
            self._add(self._happens(fact))
        elif isinstance(
            fact,
            PodsAre | PodsChanged | ObjectChanged | ChangeDecided | PodStatusChanged | EventNoted,
        ):
            self._note_stray()

    def _happens(self, fact: FeedFact) -> Iterator[None]:
        """Tell one fact, and pause after each group of events."""
        match fact:
            case PodsAre(source=source, pods=pods):
                changes = self._memory.seen.replace(source, pods)
                yield from self._tell_all(PODS, map(lines.pod_event, changes))
            case PodsChanged():
                changes = self._memory.seen.apply(fact.changes)
                yield from self._tell_all(PODS, map(lines.pod_event, changes))
            case VerdictsMayDiffer(source=source):
                self._stale.add(verdicts_part(source))
                if self._next_verdicts.due is None:
                    self._ask_for_verdicts()
            case _:
                self._readers.happens(*_told(fact))

    # --- the present state -----------------------------------------------------------------------------

    def _answer(self, answer: FeedAnswer) -> Iterator[None]:
        """Tell a part of the present state to those who wait for it."""
        match answer:
            case PodsDescribed():
                self._memory.seen.note_all(answer.listed)
                self._take_part(PODS, lambda: lines.pods_of(answer))
            case StatusesDescribed():
                known = self._memory.seen.by_uid()
                self._take_part(STATUSES, lambda: lines.statuses_of(answer, known))
            case ProbesDescribed():
                self._take_part(PROBES, lambda: lines.probes_of(answer))
            case ObjectsDescribed():
                part = objects_part(answer.kind)
                self._take_part(part, lambda: lines.objects_of(answer))
            case SourceDescribed(name=source):
                part, before = verdicts_part(source), self._memory.verdicts.get(source)
                self._memory.verdicts[source] = {each.path: each for each in answer.manifests}
                if before is not None:
                    changes = lines.verdict_changes(before, answer)
                    yield from self._tell_all(part, changes)
                self._take_part(part, lambda: lines.verdicts_of(answer))
            case _:
                assert_never(answer)

    def _take_part(self, part: StatePart, pieces: Callable[[], Iterator[bytes]]) -> None:
        self._subscriptions.note_answer(part)
        self._readers.take_part(part, pieces)
        self._begin_anew()

    def _begin_anew(self) -> None:
        for port in self._readers.take_late():
            self._begin_state(port, self._memory.readers[port], TOO_OLD)

    def _ask_for_verdicts(self) -> None:
        if self._stale and self._memory.is_following:
            self._subscriptions.ask(self._stale, again=True)
            self._stale = set()
            self._next_verdicts.after(BETWEEN_VERDICTS)

    # --- turns -----------------------------------------------------------------------------------------

    def _tell_all(self, part: StatePart, events: Iterator[bytes]) -> Iterator[None]:
        """Tell many events, and pause after each group."""
        group: list[bytes] = []
        for event in events:
            group.append(event)
            if len(group) == GROUP:
                self._readers.happens(part, *group)
                group.clear()
                yield
        self._readers.happens(part, *group)

    def _add(self, work: Iterator[None]) -> None:
        self._work.append(work)
        if len(self._work) == 1:
            self._go_on()

    def _go_on(self) -> None:
        """Tell what waits, until a group is told."""
        for _ in range(GROUP):
            if not self._work:
                return
            if next(self._work[0], self) is not self:
                break
            self._work.popleft()
        if self._work:
            self.me.tell(FeedGoesOn())

    # --- whom it follows -------------------------------------------------------------------------------

    def _follow(self) -> None:
        memory = self._memory
        memory.epochs += 1
        memory.ring.begin(f"{int(self.clock.wall() * 1000):x}.{memory.epochs}")
        self._subscriptions.follow()

    def _unfollow(self) -> None:
        self._work.clear()
        self._memory.seen.forget()
        self._memory.verdicts.clear()
        self._subscriptions.unfollow()
        self._memory.told_to_stop = self.clock.monotonic()

    def _note_stray(self) -> None:
        """Drop a fact that nobody reads. Unsubscribe again if it comes late: the first time may be lost."""
        if self.clock.monotonic() >= self._memory.told_to_stop + UNDER_WAY:
            self._unfollow()


def _told(
    fact: ObjectFact | PodStatusChanged | ProbeResultIs | VolumeTroublesAre | EventNoted | ActorIs,
) -> tuple[StatePart | None, bytes]:
    """Return a fact as an event, and the part of the present state that says the same."""
    match fact:
        case PodStatusChanged():
            return STATUSES, lines.status_event(fact)
        case ObjectChanged():
            return objects_part(fact.object.kind), lines.object_event(fact)
        case ProbeResultIs():
            return PROBES, lines.probe_event(fact)
        case VolumeTroublesAre():
            return VOLUMES, lines.volume_event(fact)
        case ActorIs():
            return ACTORS, lines.actor_event(fact)
        case ChangeDecided():
            return None, lines.object_event(fact)
        case EventNoted():
            return None, lines.posted_event(fact)
        case _:
            assert_never(fact)
