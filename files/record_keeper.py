"""RecordKeeper: keeps records for the next process, on a thread of its own.

Nothing depends on it while the agent runs. What cannot be written or read is said once and done without.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, assert_never

from typing_extensions import override

from files.records import Trouble
from kernel import Actor, Key, Port
from messages.units import Seconds

K = TypeVar("K")
V = TypeVar("V")

WRITE_AGAIN: Final = Seconds(30.0)
"""How long after a write that failed it is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepRecords(Generic[K, V]):
    """Keep these records; None for one that is to go. Of each key the newest counts. May repeat."""

    records: Mapping[K, V | None]
    reply_to: Port[RecordsKept] | None = None
    """Who is told once they are kept; None if nobody waits for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsKept:
    """What was to be kept is on disk; or it cannot be, which the log says. May repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecords(Generic[K, V]):
    """Asks for what the process before has kept. Answered by one ``RecordsAre``. Coalesced."""

    reply_to: Port[RecordsAre[K, V]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsAre(Generic[K, V]):
    """What the process before has kept."""

    records: Mapping[K, V]


RecordKeeperMessage: TypeAlias = KeepRecords[K, V] | ReadRecords[K, V]


def record_key(path: str) -> Key[RecordKeeperMessage[Any, Any]]:
    """Return the key of a keeper. What is to be kept of the same keys is coalesced, unless somebody waits."""
    return Key(path, coalesce=_name_of)


def _name_of(message: RecordKeeperMessage[Any, Any]) -> Hashable | None:
    match message:
        case KeepRecords(records=records, reply_to=None):
            return frozenset(records)
        case ReadRecords():
            return ReadRecords
        case _:
            return None


class RecordStore(Protocol[K, V]):
    """Where records are on disk: a directory with a file of each, or something faster."""

    trouble: Trouble

    def read(self) -> Mapping[K, V]:
        """Return all records. What cannot be read is said, and done without."""
        ...

    def write(self, records: Mapping[K, V | None]) -> Mapping[K, OSError]:
        """Write these, and return what keeps some from being written. Raises OSError if none is."""
        ...


@dataclass(slots=True)
class RecordMemory(Generic[K, V]):
    """What outlives a life of the keeper."""

    store: RecordStore[K, V]
    unwritten: dict[K, V | None] = field(default_factory=dict)
    """What is to be on disk, and may not be yet; None for a record that is to go."""
    refused: dict[K, V | None] = field(default_factory=dict)
    """What the disk has refused. It waits for the next try."""
    waiting: list[Port[RecordsKept]] = field(default_factory=list)
    """Who is told once the disk has, or refuses, what was to be kept."""


class RecordKeeper(Actor[RecordKeeperMessage[K, V]]):
    """Keeps records of one kind on disk.

    Owns: the records there; what is not on disk yet.
    Hears: ``KeepRecords`` (coalesced), ``ReadRecords``.
    Tells: who asked ``RecordsAre``, and who waits ``RecordsKept``.
    Fails when: it has a bug. The next life writes again what may not be on disk.

    A record that cannot be written keeps no other waiting: it is tried again later, and so is everything if
    the disk is full or broken. That is said once, and once more when it is over.
    """

    def __init__(self, memory: RecordMemory[K, V]) -> None:
        self._memory = memory

    @override
    def started(self) -> None:
        self._next_try = self.alarm(self._try_again)
        self._try_again()

    @override
    def stopping(self) -> None:
        self._try_again()

    @override
    def receive(self, message: RecordKeeperMessage[K, V], /) -> None:
        memory = self._memory
        match message:
            case KeepRecords(records=records, reply_to=reply_to):
                memory.unwritten |= records
                if reply_to is not None:
                    memory.waiting.append(reply_to)
                self._write()
            case ReadRecords(reply_to=reply_to):
                reply_to.tell(RecordsAre(records=memory.store.read()))
            case _:
                assert_never(message)

    def _try_again(self) -> None:
        memory = self._memory
        memory.unwritten, memory.refused = memory.refused | memory.unwritten, {}
        self._write()

    def _write(self) -> None:
        """Bring onto the disk what is not there yet, and tell those who wait for that."""
        memory = self._memory
        if memory.unwritten:
            self._write_all()
        waiting, memory.waiting = memory.waiting, []
        for reply_to in waiting:
            reply_to.tell(RecordsKept())

    def _write_all(self) -> None:
        memory = self._memory
        for key in memory.unwritten:
            memory.refused.pop(key, None)  # the newest counts
        try:
            errors = memory.store.write(memory.unwritten)
        except OSError as error:
            errors = dict.fromkeys(memory.unwritten, error)
        memory.refused |= {key: memory.unwritten[key] for key in errors}
        memory.unwritten = {}
        if errors:
            reason = next(iter(errors.values())).strerror
            memory.store.trouble.note(f"cannot be written: {reason}")
        elif not memory.refused:
            memory.store.trouble.note("")
        if memory.refused and self._next_try.due is None:
            self._next_try.after(WRITE_AGAIN)
