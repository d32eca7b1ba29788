"""Operations under way: their calls and jobs are sent, and what comes back takes them further."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from messages.port import Port
from messages.units import Seconds
from runtimes.cri.operations.flow import Delay, Disk, DiskFailure, DiskJob, Lane, Operation, Step
from runtimes.cri.wire.transport import Wire

JOB_DEADLINE: Final = Seconds(90.0)
"""A job may take a minute, as long as a credential plugin has."""

OwnerT = TypeVar("OwnerT")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageStepEnded:
    """Tells the outcome of one call or job of an operation."""

    course: int
    step: int
    index: int
    """Of the call, among those of one step."""
    outcome: Any = field(repr=False)


class RecordJob(DiskJob[T_co]):
    """Work on the file of records. Such jobs are done one after the other."""


@dataclass(frozen=True, slots=True)
class ImageJob:
    """Work to be done in its turn."""

    work: Callable[[], object] = field(repr=False)
    done: Callable[[object], None] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Crew:
    """Who does what operations ask for, and who is told when it is done."""

    wire: Wire
    disk: Disk
    clerk: Port[ImageJob]
    """Does what has an order."""
    me: Port[ImageStepEnded]
    """An address that outlives crashes."""
    now: Callable[[], Seconds]


@dataclass(slots=True, eq=False)
class Course(Generic[OwnerT]):
    """One operation under way."""

    ref: int
    owner: OwnerT
    """Whom its result is for."""
    operation: Operation[Any] = field(repr=False)
    step: int = 0
    outcomes: list[Any] = field(default_factory=list, repr=False)
    missing: int = 0
    """Outcomes of this step that have not come yet."""
    is_job: bool = False
    sent_at: Seconds = Seconds(0.0)
    """When this step was begun."""
    has_ended: bool = False
    result: Any = field(default=None, repr=False)


class Courses(Generic[OwnerT]):
    """All operations under way. They outlive a crash of their actor, which drops the one that it failed over.

    A course stays until ``end``: so the next life finds it if the one before failed over its result.
    """

    def __init__(self) -> None:
        self._courses: dict[int, Course[OwnerT]] = {}
        self._last_ref = 0
        self._in_hand: int | None = None
        """Which one is being taken further. After a crash: which one it failed over."""

    def __len__(self) -> int:
        """How many operations are under way."""
        return len(self._courses)

    def __iter__(self) -> Iterator[Course[OwnerT]]:
        return iter(tuple(self._courses.values()))

    def begin(self, owner: OwnerT, operation: Operation[Any], crew: Crew) -> Course[OwnerT]:
        """Begin an operation. It may have ended when this returns."""
        self._last_ref += 1
        course = self._courses[self._last_ref] = Course(self._last_ref, owner, operation)
        self._go_on(course, None, crew)
        return course

    def take(self, ended: ImageStepEnded, crew: Crew) -> Course[OwnerT] | None:
        """Take an outcome. Return its course if that goes on, or has ended; None for a late one."""
        course = self._courses.get(ended.course)
        if course is None or course.step != ended.step or not course.missing:
            return None
        course.outcomes[ended.index] = ended.outcome
        course.missing -= 1
        if not course.missing:
            sent = course.outcomes[0] if course.is_job else course.outcomes
            self._go_on(course, sent, crew)
        return course

    def overdue(self, now: Seconds) -> list[ImageStepEnded]:
        """Return failures in the place of jobs that hang: a file system that is away takes for ever."""
        failure = DiskFailure(f"nothing came of it within {JOB_DEADLINE:g} s")
        return [
            ImageStepEnded(course=course.ref, step=course.step, index=0, outcome=failure)
            for course in self._courses.values()
            if course.is_job and course.missing and now >= course.sent_at + JOB_DEADLINE
        ]

    def take_failed(self) -> Course[OwnerT] | None:
        """Return the course that the life before failed over as it took it further, and forget it."""
        ref, self._in_hand = self._in_hand, None
        return None if ref is None else self.end(ref)

    def end(self, ref: int) -> Course[OwnerT] | None:
        """Forget a course, and return it."""
        return self._courses.pop(ref, None)

    def _go_on(self, course: Course[OwnerT], outcome: Any, crew: Crew) -> None:
        self._in_hand = course.ref
        try:
            step = course.operation.send(outcome)
        except StopIteration as stop:
            course.has_ended, course.result = True, stop.value
        else:
            course.step += 1
            self._send(course, step, crew)
        self._in_hand = None

    @staticmethod
    def _send(course: Course[OwnerT], step: Step, crew: Crew) -> None:
        def done(index: int) -> Callable[[object], None]:
            ref, number = course.ref, course.step
            return lambda outcome: crew.me.tell(
                ImageStepEnded(course=ref, step=number, index=index, outcome=outcome)
            )

        course.is_job, course.sent_at = isinstance(step, DiskJob), crew.now()
        match step:
            case Delay():
                raise TypeError("operations on images do not pause")
            case RecordJob(work=work):
                course.missing, course.outcomes = 1, [None]
                crew.clerk.tell(ImageJob(work, done(0)))
            case DiskJob(work=work):
                course.missing, course.outcomes = 1, [None]
                crew.disk.start(DiskJob(work, Lane.IMAGES), done(0))
            case rpcs:
                course.missing, course.outcomes = len(rpcs), [None] * len(rpcs)
                for index, rpc in enumerate(rpcs):
                    crew.wire.call(rpc, done(index))
