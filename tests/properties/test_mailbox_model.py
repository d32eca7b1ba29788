"""A mailbox against a plain list: order, coalescing, lives that end, addresses that close."""

from __future__ import annotations

from collections import deque
from typing import Any, NoReturn

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from typing_extensions import override

from kernel import Key
from kernel.cell import EMPTY, STOP, Cell
from kernel.incarnation import Executor, Incarnation
from kernel.mailbox import CoalescingQueue
from kernel.telemetry import Telemetry

WORDS = st.tuples(st.sampled_from("abc") | st.none(), st.integers())
"""A message: its name, if it has one, and something to tell it apart."""


def name_of(message: Any) -> str | None:
    """Return the first part of a message."""
    name: str | None = message[0]
    return name


@given(st.lists(WORDS | st.none()))
def test_what_comes_out_is_a_subsequence_of_what_went_in(steps: list[Any]) -> None:
    queue, fifo = CoalescingQueue(name_of), deque[Any]()
    handled, told = [], []
    for step in steps:
        if step is None:
            handled += [queue.popleft()] if len(queue) else []
        else:
            queue.append(step)
            told.append(step)
            fifo.append(step)
    handled += [queue.popleft() for _ in range(len(queue))]

    rest = iter(told)
    assert all(any(item is other for other in rest) for item in handled)


@given(st.lists(WORDS))
def test_only_the_newest_of_each_name_is_left(messages: list[tuple[str | None, int]]) -> None:
    queue = CoalescingQueue(name_of)
    for message in messages:
        queue.append(message)
    left = [queue.popleft() for _ in range(len(queue))]

    newest = {name: index for index, (name, _) in enumerate(messages) if name is not None}
    assert left == [
        message
        for index, message in enumerate(messages)
        if message[0] is None or newest[message[0]] == index
    ]


class Bell(Executor):
    """Counts how often somebody was woken."""

    def __init__(self) -> None:
        self.rung = 0

    @override
    def start(self, incarnation: Incarnation) -> NoReturn:
        raise AssertionError("nobody starts here")

    @override
    def wake(self, incarnation: Incarnation) -> None:
        self.rung += 1


class Mailbox(RuleBasedStateMachine):
    """One cell, FIFO; its subclass coalesces. ``waiting`` is what a plain list would hold."""

    coalesce: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.cell: Cell[Any] = Cell(Key[Any]("web", coalesce=self.coalesce), Telemetry())
        self.bell = Bell()
        self.life: Incarnation | None = None
        self.rests = False
        self.lives = 0
        self.waiting: list[tuple[Any, int | None]] = []
        """Messages, and the life for which alone they are, if any."""
        self.lost = 0
        self.is_open = True

    def _append(self, message: Any, life: int | None) -> None:
        if self.coalesce is not None and message[0] is not None:
            self.waiting = [
                (other, whose)
                for other, whose in self.waiting
                if (other[0], whose) != (message[0], life)
            ]
        self.waiting.append((message, life))

    def _woken(self, before: int) -> None:
        # Somebody who rests is woken, once; everybody else finds the message anyway.
        assert self.bell.rung - before == (1 if self.rests else 0)
        self.rests = False

    @rule(message=WORDS)
    def tell(self, message: Any) -> None:
        before = self.bell.rung
        self.cell.tell(message)
        if not self.is_open:
            self.lost += 1
            return
        self._append(message, None)
        self._woken(before)

    @precondition(lambda self: self.life is not None)
    @rule(message=WORDS)
    def tell_the_life(self, message: Any) -> None:
        assert self.life is not None
        before = self.bell.rung
        self.life.tell(message)
        self._append(message, self.life.number)
        self._woken(before)

    @precondition(lambda self: self.lives > 0 and self.life is None)
    @rule(message=WORDS)
    def tell_a_life_that_is_over(self, message: Any) -> None:
        Incarnation.tell(self._made(self.lives), message)
        self.lost += 1

    def _made(self, number: int) -> Incarnation:
        nobody: Any = None
        return Incarnation(nobody, self.cell, number, self.bell, nobody, nobody)

    @precondition(lambda self: self.life is None)
    @rule()
    def begin_a_life(self) -> None:
        self.lives += 1
        self.life = self._made(self.lives)
        self.cell.attach(self.life)
        self.is_open = True
        self.rests = False

    @precondition(lambda self: self.life is not None)
    @rule()
    def take(self) -> None:
        assert self.life is not None
        item = self.cell.take(self.life)
        if self.life.stop_requested:
            assert item is STOP
        elif self.waiting:
            message, _ = self.waiting.pop(0)
            assert item is message
        else:
            assert item is EMPTY
            self.rests = True

    @precondition(lambda self: self.life is not None)
    @rule()
    def ask_to_stop(self) -> None:
        assert self.life is not None
        before = self.bell.rung
        self.cell.request_stop(self.life)
        self._woken(before)

    @precondition(lambda self: self.life is not None)
    @rule()
    def end_the_life(self) -> None:
        assert self.life is not None
        before = self.bell.rung
        assert self.life.cut_off()
        self._woken(before)
        assert not self.life.cut_off()
        assert self.cell.take(self.life) is EMPTY
        kept = [entry for entry in self.waiting if entry[1] is None]
        self.lost += len(self.waiting) - len(kept)
        self.waiting, self.life = kept, None

    @precondition(lambda self: self.life is None)
    @rule()
    def close(self) -> None:
        self.cell.close()
        self.lost += len(self.waiting)
        self.waiting, self.is_open = [], False

    @invariant()
    def as_many_wait_as_in_a_list(self) -> None:
        assert self.cell.depth == len(self.waiting)

    @invariant()
    def every_other_message_is_a_dead_letter(self) -> None:
        assert sum(self.cell.telemetry.dead_letters().values()) == self.lost

    @invariant()
    def who_rests_is_idle(self) -> None:
        assert self.cell.is_idle == (self.life is None or self.rests)


class CoalescingMailbox(Mailbox):
    """The same with a name for most messages."""

    coalesce = staticmethod(name_of)


TestFifoMailbox = Mailbox.TestCase
TestCoalescingMailbox = CoalescingMailbox.TestCase
