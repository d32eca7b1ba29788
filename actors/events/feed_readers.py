"""What the readers of the feed are told: the present state, what they missed, and what happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from actors.events.feed_parts import FeedMemory, FeedReader, KeptEvent, StatePart, names_of, with_id
from actors.events.lines import (
    missed,
    state_begins,
    state_is_complete,
    state_resumes,
    troubles_of,
)
from messages.event_feed import EventChunk, EventPieces, FeedTelling
from messages.port import Port
from messages.units import Seconds


class FeedReaders:
    """Tells readers. Whom there are is in the memory.

    While a reader waits for the present state it is told nothing else: the last events are kept, and what
    the state does not include is told after it.
    """

    def __init__(self, memory: FeedMemory) -> None:
        self._memory = memory
        self._late: list[Port[FeedTelling]] = []

    @staticmethod
    def tell(port: Port[FeedTelling], text: bytes) -> None:
        """Tell one reader."""
        port.tell(EventChunk(text=text))

    def happens(self, part: StatePart | None, *events: bytes) -> None:
        """Tell events to all who hear what happens. ``part``: of which state they are part from here on."""
        if not events:
            return
        ring = self._memory.ring
        told = EventChunk(text=b"".join([ring.add(part, each) for each in events]))
        for port, reader in self._memory.readers.items():
            if reader.is_live:
                port.tell(told)

    def resume(self, port: Port[FeedTelling], events: Sequence[KeptEvent]) -> None:
        """Tell a reader that came back what it missed."""
        self.tell(port, state_resumes(len(events)))
        port.tell(EventPieces(pieces=missed(events)))

    def begin(
        self,
        port: Port[FeedTelling],
        reader: FeedReader,
        parts: AbstractSet[StatePart],
        now: Seconds,
        why: str,
    ) -> None:
        """Begin to tell a reader the present state: first what the feed itself knows."""
        memory = self._memory
        reader.is_live = False
        reader.awaited, reader.fences = set(parts), {}
        reader.began_at, reader.began = memory.ring.newest, now
        self.tell(port, state_begins(why))
        troubles = troubles_of(tuple(memory.actors.values()), tuple(memory.volumes.values()))
        port.tell(EventPieces(pieces=troubles))

    def take_late(self) -> list[Port[FeedTelling]]:
        """Return the readers that have to begin anew, since more has happened than is kept."""
        late, self._late = self._late, []
        return late

    def take_part(self, part: StatePart, pieces: Callable[[], Iterator[bytes]]) -> None:
        """Tell a part of the present state to those who wait for it."""
        for port, reader in tuple(self._memory.readers.items()):
            if part not in reader.awaited:
                continue
            port.tell(EventPieces(pieces=pieces()))
            reader.awaited.discard(part)
            reader.fences[part] = self._memory.ring.newest
            if not reader.awaited:
                self._complete(port, reader)

    def give_up(self, before: Seconds) -> set[StatePart]:
        """Let those readers hear what happens whose state was begun ``before`` that.

        They are told what is missing, and that itself as soon as somebody says it. Returns all that readers
        wait for.
        """
        awaited: set[StatePart] = set()
        for port, reader in tuple(self._memory.readers.items()):
            awaited |= reader.awaited
            if reader.awaited and not reader.is_live and reader.began <= before:
                self._complete(port, reader)
        return awaited

    def _complete(self, port: Port[FeedTelling], reader: FeedReader) -> None:
        """Tell a reader that its state is complete, and what happened meanwhile."""
        memory = self._memory
        complete = state_is_complete(names_of(reader.awaited))
        if reader.is_live:  # it was told so before, but for what was missing
            self.tell(port, complete)
            return
        events = memory.ring.after(reader.began_at)
        if events is None:
            self._late.append(port)
            return
        began_at, fences = reader.began_at, reader.fences
        news = [each for each in events if each.number > _fence(each.part, fences, began_at)]
        if not reader.awaited:
            # Who comes back with this id is told some of what it knows, and misses nothing.
            complete = with_id(complete, memory.ring.id_of(began_at))
        self.tell(port, complete)
        port.tell(EventPieces(pieces=missed(news)))
        reader.is_live = True


def _fence(part: StatePart | None, fences: dict[StatePart, int], began_at: int) -> int:
    return began_at if part is None else fences.get(part, began_at)
