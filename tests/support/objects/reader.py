"""Somebody who reads objects once in a while, as new pods do: asks for a fresh value, and waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from typing_extensions import override

from kernel import Key, Level, LevelIs, PooledActor, Unset
from messages.objects import HeldObject, ObjectId, ObjectKind, ObjectValue, ReadVerdict
from messages.units import Seconds


@dataclass(frozen=True, slots=True)
class Read:
    """Reads an object. What is known after ``within`` seconds is the answer if nothing is proven by then."""

    object: ObjectId
    within: Seconds = Seconds(1.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a read gave."""

    object: ObjectId
    verdict: ReadVerdict
    value: ObjectValue | None
    age: Seconds | None
    reason: str
    is_fresh: bool


@dataclass(slots=True)
class ReadMemory:
    """The answers, and the reads that wait. Outlives a crash of the reader."""

    answers: list[Answer] = field(default_factory=list)
    waiting: dict[ObjectId, int] = field(default_factory=dict)
    """How many reads of each object wait."""
    known: dict[ObjectId, HeldObject] = field(default_factory=dict)


ReaderMessage: TypeAlias = Read | LevelIs[ObjectId, HeldObject]
READER: Key[Any] = Key("reader")


class Reader(PooledActor[ReaderMessage]):
    """Reads objects of these levels, and stays a follower: so nothing is told about it but the looks."""

    def __init__(
        self, levels: Mapping[ObjectKind, Level[ObjectId, HeldObject]], me: Any, memory: ReadMemory
    ) -> None:
        super().__init__()
        self._levels = levels
        self._address = me
        self._memory = memory

    @override
    def receive(self, message: ReaderMessage, /) -> None:
        memory = self._memory
        if isinstance(message, Read):
            wanted = message.object
            memory.waiting[wanted] = memory.waiting.get(wanted, 0) + 1
            memory.known.pop(wanted, None)
            self._levels[wanted.kind].follow(wanted, self._address, fresh=True)
            self.later(message.within, partial(self._answer, wanted))
        elif not isinstance(message.value, Unset):
            memory.known[message.key] = message.value
            if message.is_fresh:
                self._answer(message.key, is_fresh=True)

    def _answer(self, wanted: ObjectId, *, is_fresh: bool = False) -> None:
        memory = self._memory
        held = memory.known.get(wanted) or HeldObject(verdict=ReadVerdict.NOT_SYNCED)
        for _ in range(memory.waiting.pop(wanted, 0)):
            age = held.age(self.clock.monotonic())
            answer = Answer(wanted, held.verdict, held.value, age, held.reason, is_fresh)
            memory.answers.append(answer)


def take_answers(memory: ReadMemory) -> list[Answer]:
    """Return what was answered since the last look."""
    answers, memory.answers = memory.answers, []
    return answers
