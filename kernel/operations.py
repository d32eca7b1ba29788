"""The engine of operations: work in flight, written as generators.

What they are written with is in ``steps``. What happens to an operation:

====================================  =================================================================
its step has an outcome               it goes on; an outcome that is late, or comes again, changes nothing
its step is past its deadline         it goes on with a ``LateError``; what was begun is abandoned
its own deadline, or ``give_up``      ``GivenUpError`` is raised in it; it has ``grace`` to clean up. A
                                      delay that ends with the deadline ends before it
it has not cleaned up in ``grace``    it is closed, and ends with a ``Failure``
it raises an exception                it ends with a ``Failure``; the others and the actor go on
the actor crashes beside it           it goes on in the next life, its delays and deadlines where they were
the actor crashes in it, or over      ``recover`` names it; its places in lanes are free
its end
it is dropped                         it is closed; it makes no step and has no end
====================================  =================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

import structlog
from typing_extensions import override

from kernel.clock import Timer
from kernel.endings import Failure, GivenUpError, LateError, failure_of
from kernel.lanes import InFlight
from kernel.later import Later
from kernel.mailbox import KernelMessage, LifeOfActor
from kernel.ports import Port
from kernel.steps import (
    All,
    CallLane,
    Delay,
    Operation,
    OperationStep,
    Through,
    Within,
)
from messages.units import Seconds

P = TypeVar("P")

GRACE: Final = Seconds(5.0)
"""How long an operation that is given up may clean up, unless it was begun with another."""

_MISSING: Final = object()
_log = structlog.get_logger("kernel")


class LifeOfOperations(Protocol):
    """The part of a life that the engine uses."""

    @property
    def cell(self) -> Port[Any]:
        """The address, which outlives the life."""
        ...

    def set_timer_at(self, due: Seconds, message: object, /) -> Timer:
        """Tell this life ``message`` at ``due``. Return the timer, which can be cancelled."""
        ...

    def now(self) -> Seconds:
        """Return the monotonic time."""
        ...


@dataclass(slots=True, eq=False)
class _Place:
    """One of the steps that an operation waits for at the same time."""

    step: Any
    lane: CallLane | None = None
    within: Seconds | None = None
    due: Seconds | None = None
    """When nobody waits for it any more, or its delay is over."""
    is_begun: bool = False
    in_flight: InFlight | None = None
    outcome: object = field(default=_MISSING, repr=False)


@dataclass(slots=True, eq=False)
class Running(Generic[P]):
    """An operation that has not ended."""

    ref: int
    purpose: P
    began: Seconds
    grace: Seconds
    until: Seconds | None
    """Its deadline."""
    flow: Operation[Any] = field(repr=False)
    steps: int = 0
    """How many it has begun."""
    places: list[_Place] = field(default_factory=list, repr=False)
    is_many: bool = False
    """Whether it waits for the outcomes of all places, as a list."""
    is_given_up: bool = False
    timer: Timer | None = field(default=None, repr=False)


@dataclass(slots=True, eq=False)
class OperationsMemory(Generic[P]):
    """What outlives the lives of the actor; or one life has it, which makes it. For one actor alone."""

    running: dict[int, Running[P]] = field(default_factory=dict)
    in_hand: list[Running[P]] = field(default_factory=list)
    """What is being driven, and what its end has begun. After a crash: over what it came."""
    last_ref: int = 0
    engine: Operations[P] | None = field(default=None, repr=False)
    """That of the present life."""


class StepEnded(KernelMessage):
    """The outcome of a step, for the address. It may come late, or again."""

    __slots__ = ("_memory", "_outcome", "_place", "_ref", "_step")

    def __init__(
        self, memory: OperationsMemory[Any], ref: int, step: int, place: int, outcome: object
    ) -> None:
        self._memory = memory
        self._ref = ref
        self._step = step
        self._place = place
        self._outcome = outcome

    @override
    def perform(self, life: LifeOfActor, /) -> None:
        engine = self._memory.engine
        if engine is not None and engine.is_of(life):
            engine.take(self._ref, self._step, self._place, self._outcome)


class Operations(Generic[P]):
    """The operations of one actor, for one life. Each has one end, or is named by ``recover``.

    Purposes are compared by identity: two that look alike are not the same.
    """

    def __init__(
        self,
        life: LifeOfOperations,
        memory: OperationsMemory[P],
        ended: Callable[[P, Any], None],
        hands: Callable[[Any], OperationStep],
    ) -> None:
        """Take over from the life before. Call ``recover`` next.

        ``ended`` is told the result of each operation, or a ``Failure``. ``hands`` makes a step of what an
        operation yields.
        """
        self._life = life
        self._memory = memory
        self._ended: Callable[[P, Any], None] | None = ended
        self._hands = hands
        memory.engine = self

    def recover(self) -> list[P]:
        """Go on after a crash. Return what it happened in: these are lost, and their places are free.

        Others may end in here, whose last outcome was taken just before.
        """
        memory = self._memory
        lost, memory.in_hand = memory.in_hand, []
        for each in lost:
            memory.running.pop(each.ref, None)
        for each in lost:
            self._leave(each)
        for running in self.running():
            for number, place in enumerate(running.places):
                if place.lane is not None and not place.is_begun:
                    self._begin_if_admitted(running, number)
            self._go_on_if_complete(running)
        return [each.purpose for each in lost]

    def begin(
        self,
        purpose: P,
        flow: Operation[Any],
        within: Seconds | None = None,
        grace: Seconds = GRACE,
    ) -> None:
        """Begin an operation, which may have ended when this returns. It has ``within`` seconds."""
        self._refuse_if_over()
        memory, now = self._memory, self._life.now()
        memory.last_ref += 1
        until = None if within is None else Seconds(now + within)
        running = Running(memory.last_ref, purpose, now, grace, until, flow)
        memory.running[running.ref] = running
        self._drive(running, partial(flow.send, None))

    def give_up(self, purpose: P) -> bool:
        """Raise GivenUpError in an operation. Return whether it is in progress and was not given up before.

        It ends like any other, when it has cleaned up. What it has begun may have its effect.
        """
        for running in self.running():
            if running.purpose is purpose and not running.is_given_up:
                self._throw(running)
                return True
        return False

    def shorten(self, purpose: P, within: Seconds) -> bool:
        """Leave an operation ``within`` seconds from now. Return whether it had more: it never gets more."""
        until = Seconds(self._life.now() + within)
        for running in self.running():
            if running.purpose is purpose and not running.is_given_up:
                if running.until is not None and running.until <= until:
                    return False
                running.until = until
                self._set_timer(running)
                return True
        return False

    def drop(self, purpose: P) -> bool:
        """Forget an operation: nobody hears of its end. Return whether it was in progress."""
        for running in self.running():
            if running.purpose is purpose and running not in self._memory.in_hand:
                del self._memory.running[running.ref]
                self._leave(running)
                _close(running)
                return True
        return False

    def running(self) -> tuple[Running[P], ...]:
        """Return what is in progress."""
        return tuple(self._memory.running.values())

    def __len__(self) -> int:
        """How many are in progress."""
        return len(self._memory.running)

    def purposes(self) -> Iterator[P]:
        """Yield what each operation in progress is for."""
        return (running.purpose for running in self.running())

    def is_of(self, life: object) -> bool:
        """Return whether it is the engine of ``life``.

        The life after one that hangs hears the answers to its operations, which may be in a memory of the
        actor's own.
        """
        return self._life is life

    def let_go(self) -> None:
        """Forget the actor: its life has ended."""
        self._ended = None
        if self._memory.engine is self:
            self._memory.engine = None

    # --- what comes ------------------------------------------------------------------------------------

    def take(self, ref: int, step: int, place: int, outcome: object) -> None:
        """Take an outcome. One that is late, or comes again, changes nothing."""
        running = self._memory.running.get(ref)
        if running is None or running.steps != step:
            return
        if running.places[place].outcome is _MISSING:
            running.places[place].outcome = outcome
            self._leave_lane(running, place)
            self._go_on_if_complete(running)

    def _due(self, ref: int) -> None:
        """Look which deadlines of an operation have come: its timer has fired."""
        running, now = self._memory.running.get(ref), self._life.now()
        if running is None:
            return
        running.timer = None
        is_over = running.until is not None and running.until <= now
        if is_over and not self._has_delayed(running, now):
            if running.is_given_up:
                self._end_for_good(running)
            else:
                self._throw(running)
            return
        for number, place in enumerate(running.places):
            if place.outcome is _MISSING and place.due is not None and place.due <= now:
                self._place_is_due(running, number, now)
        self._go_on_if_complete(running)

    @staticmethod
    def _has_delayed(running: Running[P], now: Seconds) -> bool:
        """Return whether it waits for a delay that is over."""
        return any(
            isinstance(place.step, Delay) and place.due is not None and place.due <= now
            for place in running.places
        )

    def _place_is_due(self, running: Running[P], number: int, now: Seconds) -> None:
        place = running.places[number]
        in_flight = place.in_flight
        if isinstance(place.step, Delay):
            place.outcome = None
        elif in_flight is not None and not in_flight.has_begun:
            place.due = Seconds(now + (place.within or 0.0))  # it stands in a line
        else:
            place.outcome = Failure(LateError(f"nothing came of it within {place.within:g} s"))
            if in_flight is not None:
                in_flight.abandon()
            self._leave_lane(running, number)

    # --- driving ---------------------------------------------------------------------------------------

    def _go_on_if_complete(self, running: Running[P]) -> None:
        outcomes = [place.outcome for place in running.places]
        if any(outcome is _MISSING for outcome in outcomes):
            self._set_timer(running)
        else:
            sent = outcomes if running.is_many else outcomes[0]
            self._drive(running, partial(running.flow.send, sent))

    def _throw(self, running: Running[P]) -> None:
        running.is_given_up = True
        running.until = Seconds(self._life.now() + running.grace)
        self._drive(running, partial(running.flow.throw, GivenUpError("given up")))

    def _drive(self, running: Running[P], go: Callable[[], object]) -> None:
        """Have an operation decide its next step. A crash leaves it in hand."""
        in_hand = self._memory.in_hand
        if running in in_hand:
            raise RuntimeError("an operation drives itself")
        in_hand.append(running)
        self._leave(running)
        is_over, outcome = True, None
        try:
            outcome = go()
            is_over = False
        except StopIteration as end:
            outcome = end.value
        except Exception as error:  # noqa: BLE001  # one operation; the others go on
            outcome = failure_of(error)
        # Outside of ``except``: the log of a crash shows what is being handled, which has the result.
        if is_over:
            self._end(running, outcome)
        else:
            self._refuse_if_over()
            self._begin_step(running, outcome)
        in_hand.remove(running)

    def _begin_step(self, running: Running[P], yielded: object) -> None:
        running.steps += 1
        running.is_many = isinstance(yielded, All)
        steps = yielded.steps if isinstance(yielded, All) else (yielded,)
        running.places = [_place_of(each) for each in steps]
        for number, place in enumerate(running.places):
            if place.lane is None:
                self._begin_place(running, number)
            else:
                # The lane calls it in a later life, perhaps.
                begin = partial(_begin_in_lane, self._memory, running, running.steps, number)
                place.lane.enter((running.ref, running.steps, number), begin)
        self._set_timer(running)

    def _begin_place(self, running: Running[P], number: int) -> None:
        place, now = running.places[number], self._life.now()
        if isinstance(place.step, Delay):
            # The first step begins with the operation: a delay as long as the deadline ends with it.
            since = running.began if running.steps == 1 else now
            place.due = Seconds(since + place.step.seconds)
            return
        if place.within is not None:
            place.due = Seconds(now + place.within)
        done = partial(_tell_end, self._life.cell, self._memory, running.ref, running.steps, number)
        try:
            place.in_flight = self._hands(place.step).begin(done)
        except Exception as error:  # noqa: BLE001  # one operation; the others go on
            done(failure_of(error))
        place.is_begun = True

    def _begin_if_admitted(self, running: Running[P], number: int) -> None:
        """Begin a step to which its lane gave room when the life before crashed."""
        lane = running.places[number].lane
        if lane is not None and (running.ref, running.steps, number) in lane:
            self._begin_place(running, number)

    def begin_in_lane(self, running: Running[P], step: int, number: int) -> None:
        """Begin a step for which there is room in its lane now."""
        if running.steps == step:
            self._begin_place(running, number)
            self._set_timer(running)

    # --- ending ----------------------------------------------------------------------------------------

    def _end_for_good(self, running: Running[P]) -> None:
        in_hand = self._memory.in_hand
        in_hand.append(running)
        self._leave(running)
        _close(running)
        self._end(running, Failure(GivenUpError("given up, and it did not clean up in time")))
        in_hand.remove(running)

    def _end(self, running: Running[P], result: object) -> None:
        """Hand over the end. A crash over that is a crash over this operation: it is in hand."""
        self._refuse_if_over()
        del self._memory.running[running.ref]
        if self._ended is not None:
            self._ended(running.purpose, result)

    def _leave(self, running: Running[P]) -> None:
        """Wait for nothing any more: timer, what is in flight, and places in lanes."""
        if running.timer is not None:
            running.timer.cancel()
            running.timer = None
        for number, place in enumerate(running.places):
            if place.outcome is _MISSING and place.in_flight is not None:
                place.in_flight.abandon()
            self._leave_lane(running, number)
        running.places = []

    @staticmethod
    def _leave_lane(running: Running[P], number: int) -> None:
        lane = running.places[number].lane
        if lane is not None:
            lane.leave((running.ref, running.steps, number))

    def _set_timer(self, running: Running[P]) -> None:
        dues = (place.due for place in running.places if place.outcome is _MISSING)
        moments = [each for each in (running.until, *dues) if each is not None]
        timer = running.timer
        if timer is not None:
            if moments and timer.due == min(moments) and timer.action is not None:
                return
            timer.cancel()
            running.timer = None
        if moments:
            running.timer = self._life.set_timer_at(min(moments), Later(self._due, running.ref))

    def _refuse_if_over(self) -> None:
        if self._memory.engine is not self:
            raise RuntimeError("a life that has ended drives operations")


def _place_of(yielded: object) -> _Place:
    lane, within, step = None, None, yielded
    while isinstance(step, Within | Through):
        if isinstance(step, Within):
            within = step.seconds
        else:
            lane = step.lane
        step = step.step
    return _Place(step, lane, within)


def _begin_in_lane(
    memory: OperationsMemory[Any], running: Running[Any], step: int, number: int
) -> None:
    if memory.engine is not None:
        memory.engine.begin_in_lane(running, step, number)


def _tell_end(
    address: Port[Any],
    memory: OperationsMemory[Any],
    ref: int,
    step: int,
    place: int,
    outcome: object,
) -> None:
    address.tell(StepEnded(memory, ref, step, place, outcome))


def _close(running: Running[Any]) -> None:
    """Close the generator. A ``yield`` in its ``finally`` would raise RuntimeError at who closes it."""
    try:
        running.flow.close()
    except Exception as error:  # noqa: BLE001  # it is over anyway
        kind, operation = type(error).__name__, type(running.purpose).__name__
        _log.error("an operation did not close", operation=operation, error=kind)
