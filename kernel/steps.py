"""What operations are written with.

An operation reads as if it waited::

    def stopped(edges: Edges, container: str) -> Operation[Exit]:
        yield from call(edges.runtime, lambda reply: Stop(container, reply), Stopped, Seconds(5.0))
        words = yield from job(partial(read_words, container), edges.files)
        return Exit(words)

It is a function of what outlives its actor, never a method: its generator lives in a memory, where ``self``
would be a dead actor whose words nobody hears. It never yields by itself: what ``call``, ``job``, ``delay``
and ``gather`` return has a type, and raises what a step failed with.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from typing_extensions import override

from kernel.endings import Failure
from kernel.lanes import Done, InFlight, Lane
from kernel.ports import Port
from messages.units import Seconds

A = TypeVar("A")
M = TypeVar("M")
T = TypeVar("T")

WINDOW: Final = 32
"""Steps that ``gather`` has in flight. 500 calls of gRPC at once cost 11 MB."""

Operation: TypeAlias = Generator[Any, Any, T]
"""Work in flight. What it yields are steps, or descriptions of which its actor's engine makes steps."""


class OperationStep(Protocol):
    """What an operation waits for."""

    def begin(self, done: Done, /) -> InFlight | None:
        """Begin, and tell ``done`` the outcome once, on any thread. Does not block.

        Return what may be abandoned, if anything may. An outcome without a result is a ``Failure``.
        """
        ...


@dataclass(frozen=True, slots=True)
class AskStep(OperationStep, Generic[M, A]):
    """Asks an actor. The port of the reply is for this step alone: so messages need no marks of their own."""

    port: Port[M] = field(repr=False)
    question: Callable[[Port[A]], M] = field(repr=False)

    @override
    def begin(self, done: Done, /) -> None:
        self.port.tell(self.question(_Reply(done)))


@dataclass(frozen=True, slots=True)
class JobStep(OperationStep):
    """Work that may block, done on a thread of a lane. Jobs of one ``turn`` are done one at a time."""

    work: Callable[[], object] = field(repr=False)
    lane: Lane = field(repr=False)
    turn: Hashable | None = None
    waits: bool = True
    """Whether it waits for its turn. Else it fails at once while another job of the turn has not ended."""
    is_due_anyway: bool = False
    """Whether it is done also if nobody waits for it any more before a thread is at it."""

    @override
    def begin(self, done: Done, /) -> InFlight:
        return self.lane.start(
            self.work, done, self.turn, waits=self.waits, is_due_anyway=self.is_due_anyway
        )


@dataclass(frozen=True, slots=True)
class Delay:
    """Waits. The engine has the timer, also over a crash."""

    seconds: Seconds


@dataclass(frozen=True, slots=True)
class Within:
    """A step that is waited for only so long after it was begun. Then its outcome is a ``LateError``."""

    step: object
    seconds: Seconds


@dataclass(frozen=True, slots=True)
class Through:
    """A step that is begun when there is room in a lane."""

    lane: CallLane = field(repr=False)
    step: object


@dataclass(frozen=True, slots=True)
class All:
    """Steps at once, with none of its own kind among them. The outcome is the list of theirs, in order."""

    steps: Sequence[object]


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


class _Reply(Port[Any]):
    __slots__ = ("_done",)

    def __init__(self, done: Done) -> None:
        self._done = done

    @override
    def tell(self, message: Any, /) -> None:
        self._done(message)


def wait_for(step: object, within: Seconds | None = None) -> Operation[Any]:
    """Return what comes of ``step``. Raises what it failed with: ``LateError`` after ``within`` seconds."""
    outcome = yield step if within is None else Within(step, within)
    if isinstance(outcome, Failure):
        raise outcome.error
    return outcome


def call(
    port: Port[M],
    question: Callable[[Port[A]], M],
    answer: type[A],
    within: Seconds,
    lane: CallLane | None = None,
) -> Operation[A]:
    """Ask an actor, when there is room in ``lane``, and return its answer.

    Raises ``LateError`` if none comes ``within`` seconds after the question was told.
    """
    step: object = AskStep(port, question)
    told = yield from wait_for(step if lane is None else Through(lane, step), within)
    if not isinstance(told, answer):
        raise TypeError(f"{type(told).__name__} is no answer")
    return told


def job(
    work: Callable[[], T], lane: Lane, within: Seconds | None = None, turn: Hashable | None = None
) -> Operation[T]:
    """Do ``work`` where it may block, and return what it returns.

    Raises the OSError or StepError that it raised, a StepError for a bug in it, and LateError ``within``
    seconds after a thread was seen at it: the work may go on then, and no other of its ``turn`` begins
    before it ends.
    """
    result: T = yield from wait_for(JobStep(work, lane, turn), within)
    return result


def delay(seconds: Seconds) -> Operation[None]:
    """Go on after so many seconds."""
    yield Delay(seconds)


def gather(steps: Sequence[object], window: int = WINDOW) -> Operation[list[Any]]:
    """Return the outcomes of all steps in order, failures as ``Failure``; ``window`` at a time."""
    outcomes: list[Any] = []
    for first in range(0, len(steps), window):
        outcomes += yield All(steps[first : first + window])
    return outcomes


def carried_out(operation: Operation[T], outcome_of: Callable[[Any], object]) -> T:
    """Carry out an operation on the calling thread, one step after the other, and return its result.

    For a program without actors. ``outcome_of`` returns what comes of a step; it may block.
    """
    sent: object = None
    while True:
        try:
            step = operation.send(sent)
        except StopIteration as end:
            result: T = end.value
            return result
        sent = (
            [outcome_of(each) for each in step.steps] if isinstance(step, All) else outcome_of(step)
        )
