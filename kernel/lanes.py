"""Lanes: so much at a time, in the order in which it came.

``Lane`` has threads, for work that may block, and belongs to the process. ``CallLane`` has none: it holds
back calls of one actor, and outlives its lives.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Final, Protocol

Done = Callable[[Any], None]
"""Hears an outcome, on any thread."""

HANG_AT_MOST: Final = 64
"""Threads that a lane has more, at the most, while as many others hang."""


class InFlight(Protocol):
    """A step of an operation that was begun, as those see it who wait for its outcome."""

    @property
    def has_begun(self) -> bool:
        """Whether somebody is at it. Until then it waits in a line, and no deadline counts."""
        ...

    def abandon(self) -> None:
        """Nobody waits for it any more. What has begun may have its effect."""
        ...


class Piece:
    """Work that somebody wants done in a lane: an ``InFlight``."""

    __slots__ = ("_lane", "done", "has_begun", "is_abandoned", "turn", "work")

    def __init__(
        self, lane: Lane, work: Callable[[], object], done: Done, turn: Hashable | None
    ) -> None:
        self._lane = lane
        self.work = work
        self.done = done
        self.turn = turn
        self.has_begun = False
        """Whether a thread is at it, or has been."""
        self.is_abandoned = False

    def abandon(self) -> None:
        """Never begin it; or, if a thread hangs in it, have another one do what waits."""
        self._lane.abandon(self)


class Lane:
    """Does work that may block on ``most`` threads at the most, which begin as they are needed.

    They are daemons: work that hangs for good keeps no process from ending. Work that was begun and abandoned
    counts as hanging: it keeps its thread, and the lane has one more until it returns. Of one ``turn``, one
    piece is done at a time, in order, also after one that hangs: two threads never change the same thing.
    """

    def __init__(self, name: str, most: int) -> None:
        """``name`` is the threads'."""
        self._name = name
        self._most = most
        self._changed = threading.Condition()
        self._waiting: deque[Piece] = deque()
        self._turns: dict[Hashable, deque[Piece]] = {}
        """The turns of pieces that wait for a thread or have one, with who waits for theirs."""
        self._threads = 0
        self._idle = 0
        self._hanging = 0
        self._is_closed = False

    def start(self, work: Callable[[], object], done: Done, turn: Hashable | None = None) -> Piece:
        """Do ``work`` on a thread, and then tell ``done`` on it what it returned. Neither raises.

        What is begun by whoever ``done`` tells may have the same thread. After ``close`` nothing comes of it.
        """
        piece = Piece(self, work, done, turn)
        with self._changed:
            if turn is not None and turn in self._turns:
                self._turns[turn].append(piece)
                return piece
            if turn is not None:
                self._turns[turn] = deque()
            self._line_up(piece)
        return piece

    def abandon(self, piece: Piece) -> None:
        """Take that nobody waits for ``piece`` any more. May repeat."""
        with self._changed:
            if piece.is_abandoned:
                return
            piece.is_abandoned = True
            if piece.has_begun:
                self._hanging += 1
                self._have_threads()
                return
            line = self._turns.get(piece.turn)
            if piece in self._waiting:
                self._waiting.remove(piece)
                self._next_of(piece.turn)
            elif line is not None and piece in line:
                line.remove(piece)

    def close(self) -> None:
        """Begin nothing more, and end the threads. What is being done is not waited for."""
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
            self._turns.clear()
            self._changed.notify_all()

    # --- under the lock --------------------------------------------------------------------------------

    def _line_up(self, piece: Piece) -> None:
        self._waiting.append(piece)
        self._have_threads()

    def _have_threads(self) -> None:
        if self._idle >= len(self._waiting):
            self._changed.notify()
        elif self._threads < self._limit and not self._is_closed:
            self._threads += 1
            threading.Thread(target=self._run, name=self._name, daemon=True).start()

    @property
    def _limit(self) -> int:
        return self._most + min(self._hanging, HANG_AT_MOST)

    def _next_of(self, turn: Hashable | None) -> None:
        line = self._turns.get(turn) if turn is not None else None
        if line:
            self._line_up(line.popleft())
        else:
            self._turns.pop(turn, None)

    # --- on the threads --------------------------------------------------------------------------------

    def _run(self) -> None:
        while (piece := self._take()) is not None:
            outcome = piece.work()
            self._is_back(piece)
            piece.done(outcome)
            # A thread that waits keeps nothing in memory.
            del piece, outcome

    def _take(self) -> Piece | None:
        """Return the next piece, as soon as there is one; None if this thread is to end."""
        with self._changed:
            while not self._is_closed and self._threads <= self._limit:
                if self._waiting:
                    piece = self._waiting.popleft()
                    piece.has_begun = True
                    return piece
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            self._threads -= 1
            return None

    def _is_back(self, piece: Piece) -> None:
        with self._changed:
            self._hanging -= piece.is_abandoned
            piece.is_abandoned = True  # there is nothing left to abandon
            self._next_of(piece.turn)


class CallLane:
    """Holds back steps of one actor's operations: at most ``most`` are in flight, the others wait in order.

    The engine frees a place when it has taken the outcome or waits for it no longer. If the answer itself
    freed it, a double answer would free it twice, a lost one never, and on somebody else's thread.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._in_flight: set[Hashable] = set()
        self._waiting: dict[Hashable, Callable[[], None]] = {}

    def __len__(self) -> int:
        """How many are in flight."""
        return len(self._in_flight)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def __contains__(self, ticket: Hashable) -> bool:
        """Whether the step of ``ticket`` is in flight."""
        return ticket in self._in_flight

    def enter(self, ticket: Hashable, begin: Callable[[], None]) -> None:
        """Begin now, or when there is room."""
        self._waiting[ticket] = begin
        self._begin_waiting()

    def leave(self, ticket: Hashable) -> None:
        """Free the place of ``ticket``, or take it out of the line. May repeat."""
        self._waiting.pop(ticket, None)
        self._in_flight.discard(ticket)
        self._begin_waiting()

    def _begin_waiting(self) -> None:
        while self._waiting and len(self._in_flight) < self._most:
            ticket = next(iter(self._waiting))
            begin = self._waiting.pop(ticket)
            self._in_flight.add(ticket)
            begin()
