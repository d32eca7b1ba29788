"""Somebody who reads objects once in a while, as new pods do: asks for a fresh value, and waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

from typing_extensions import override

from kernel import Key, KeyFollowed, Level, LevelIs, PooledActor, Unset
from messages.holders import HolderIs
from messages.objects import (
    HeldObject,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectValue,
    ReadVerdict,
)
from messages.units import Seconds
from tests.support.canary import LOOKOUT, revealed


@dataclass(frozen=True, slots=True)
class Read:
    """Reads an object. What is known after ``within`` seconds is the answer if nothing is proven by then."""

    object: ObjectId
    within: Seconds = Seconds(1.0)
    stays: bool = False
    """Whether the reader goes on following once it has its answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a read gave."""

    object: ObjectId
    verdict: ReadVerdict
    value: ObjectValue | None
    age: Seconds | None
    reason: str
    is_fresh: bool

    def in_words(self) -> str:
        """Return it as ``found a=1``, ``unproven a=1``, ``stale a=1 for 3 s``, ``not_found``.

        Unproven is what was known when the read had waited as long as it may.
        """
        is_unproven = self.verdict is ReadVerdict.FOUND and not self.is_fresh
        words = ["unproven" if is_unproven else str(self.verdict)]
        if self.value is not None:
            words += [f"{key}={revealed(text)}" for key, text in sorted(self.value.data.items())]
        if self.age is not None:
            words.append(f"for {self.age:.3g} s")
        return " ".join(words)


@dataclass(slots=True)
class ReadMemory:
    """The answers, and the reads that wait. Outlives a crash of the reader."""

    answers: list[Answer] = field(default_factory=list)
    waiting: dict[int, ObjectId] = field(default_factory=dict)
    """What is read, by the numbers of the reads, in their order."""
    known: dict[ObjectId, HeldObject] = field(default_factory=dict)
    kept: dict[ObjectId, None] = field(default_factory=dict)
    """What the reader goes on following."""
    reads: int = 0

    def take_answers(self) -> list[Answer]:
        """Return what was answered since the last look."""
        # Each is taken out in one piece: the reader may be on another thread.
        return [self.answers.pop(0) for _ in range(len(self.answers))]


ReaderMessage: TypeAlias = Read | LevelIs[ObjectId, HeldObject]
READER: Key[Any] = Key("reader")


class Reader(PooledActor[ReaderMessage]):
    """Reads objects of these levels."""

    def __init__(
        self,
        levels: Mapping[ObjectKind, Level[ObjectId, HeldObject]],
        me: Any,
        memory: ReadMemory,
    ) -> None:
        super().__init__()
        self._levels = levels
        self._address = me
        self._memory = memory

    @override
    def started(self) -> None:
        for number in self._memory.waiting:
            self.later(Seconds(1.0), partial(self._answer, number))

    @override
    def receive(self, message: ReaderMessage, /) -> None:
        LOOKOUT.look("repr of a message", repr(message))
        memory = self._memory
        if isinstance(message, Read):
            wanted = message.object
            memory.reads += 1
            memory.waiting[memory.reads] = wanted
            memory.known.pop(wanted, None)
            if message.stays:
                memory.kept[wanted] = None
            self._levels[wanted.kind].follow(wanted, self._address, fresh=True)
            self.later(message.within, partial(self._answer, memory.reads))
        elif not isinstance(message.value, Unset):
            memory.known[message.key] = message.value
            if message.is_fresh:
                for number in [n for n, each in memory.waiting.items() if each == message.key]:
                    self._answer(number, is_fresh=True)

    def _answer(self, number: int, *, is_fresh: bool = False) -> None:
        memory = self._memory
        wanted = memory.waiting.pop(number, None)
        if wanted is None:
            return
        held = memory.known.get(wanted) or HeldObject(verdict=ReadVerdict.NOT_SYNCED)
        age = held.age(self.clock.monotonic())
        memory.answers.append(Answer(wanted, held.verdict, held.value, age, held.reason, is_fresh))
        if wanted not in memory.kept and wanted not in memory.waiting.values():
            self._levels[wanted.kind].leave(wanted, self._address)


LEVEL_OWNER: Key[KeyFollowed[ObjectId]] = Key("level-owner")


class LevelOwner(PooledActor[KeyFollowed[ObjectId]]):
    """Owns a level in the manager's place. ``wants`` is told the last look that followers of a key want."""

    def __init__(
        self,
        level: Level[ObjectId, HeldObject],
        me: Any,
        wants: Callable[[ObjectId, int], None],
    ) -> None:
        super().__init__()
        self._level = level
        self._address = me
        self._wants = wants

    @override
    def started(self) -> None:
        self._level.own(self._address)

    @override
    def receive(self, message: KeyFollowed[ObjectId], /) -> None:
        self._wants(message.key, message.wanted if message.followers else 0)


F = TypeVar("F")


@dataclass(slots=True)
class Repeats:
    """What a manager is told again of an object only because somebody begins or ends to read it."""

    told: int = 0
    """How often the holder was told of that since the last look."""
    described: dict[ObjectId, ObjectDescribed] = field(default_factory=dict)
    """As the manager was told last."""

    def without(self, facts: Iterable[F]) -> list[F]:
        """Return what the manager was told since the last look, apart from that."""
        kept, repeats = list(facts), []
        for number, fact in enumerate(kept):
            if isinstance(fact, HolderIs):
                wanted = fact.described.object
                if fact.changed is None and fact.described == self.described.get(wanted):
                    repeats.append(number)
                self.described[wanted] = fact.described
        for number in repeats[::-1][: self.told]:
            del kept[number]
        self.told = 0
        return kept
