"""Stories that run again and again, each time with one actor crashed at another moment.

A story is a list of actions on a ``World``: an agent, or a part of one, and what is outside of it. It first
runs without a crash. Then it runs with a crash of each victim after each step of the schedule, and with a
crash in place of each message that a victim handles, and after it. Every run must have the same outcome,
and lose nothing that the run without a crash keeps. Every actor of the tree but the test's own is a victim,
and so is every dynamic child from the moment that it is started.
"""

from __future__ import annotations

import random
import shutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from typing_extensions import override

from kernel import (
    AnySpec,
    BaseActor,
    ChildSpec,
    DynamicMessage,
    DynamicSpec,
    Ended,
    Key,
    Port,
    StartChild,
    SupervisorSpec,
)
from kernel.mailbox import Crash
from tests.support.kernel.schedule import Schedule
from tests.support.kernel.stage import Stage

M = TypeVar("M")
W = TypeVar("W", bound="World")

Action: TypeAlias = Callable[[W], object]
Observations: TypeAlias = dict[str, object]


class How(StrEnum):
    """Where the crash is."""

    BETWEEN = "between two messages"
    INSTEAD = "instead of a message"
    AFTER = "after a message, with all that it did"


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """Where one run has its crash."""

    victim: Key[Any]
    how: How
    at: int
    """The number of the step of the schedule, or of the victim's message."""


@dataclass(frozen=True, slots=True)
class StoryRun:
    """One run of a story."""

    folder: Path
    """The folder for its files. Does not exist before the run, and is removed after it."""
    seed: int
    """The seed of the schedule."""
    point: CrashPoint | None = None


class CrashPointError(Exception):
    """The actor was crashed on purpose."""


class VictimsPort(Port[DynamicMessage]):
    """The address of a dynamic supervisor, all of whose children are made victims."""

    def __init__(
        self,
        supervisor: Port[DynamicMessage],
        with_victim: Callable[[ChildSpec[Any]], ChildSpec[Any]],
    ) -> None:
        self._supervisor = supervisor
        self._with_victim = with_victim

    @override
    def tell(self, message: DynamicMessage, /) -> None:
        if isinstance(message, StartChild):
            message = StartChild(spec=self._with_victim(message.spec))
        self._supervisor.tell(message)


@dataclass(frozen=True)
class Outcome:
    """What runs are compared by: without times, epochs, and whatever else a crash may change."""

    observed: Observations
    """Everything that can be seen from outside."""
    losses: Counter[str] = field(default_factory=Counter)
    """What was taken away, and how often. A run with a crash may have less of it, never more."""

    def differences(self, other: Outcome) -> list[str]:
        """Return in which respects ``other``, the outcome of a run with a crash, differs."""
        names = sorted({*self.observed, *other.observed})
        different = [name for name in names if self.observed.get(name) != other.observed.get(name)]
        return different + sorted(f"{loss}, which was not" for loss in other.losses - self.losses)


class World(ABC):
    """What a run works on: the tree of actors, and what is outside of it."""

    pause: ClassVar[float]
    """Seconds between two actions."""
    in_the_end: ClassVar[float]
    """Seconds until everything is at rest."""
    taken_at_once: ClassVar[tuple[type, ...]]
    """Messages that are never replaced by a crash: subscriptions and the like. They are told once, and
    recorded by the first thing that their handler does."""

    players: ClassVar[tuple[Key[Any], ...]] = ()
    """Actors of the test, which are in the tree and no victims."""

    def __init__(self, run: StoryRun, tree: SupervisorSpec) -> None:
        # For the backoff's jitter, which must not differ between two runs.
        random.seed(run.seed)
        run.folder.mkdir()
        self.seen: Counter[Key[Any]] = Counter()
        self.victims: list[Key[Any]] = []
        self.asked_for_at: dict[Key[Any], int] = {}
        """The step of the schedule at which a dynamic child was started first."""
        self.steps, self.handled = 0, self.seen
        """How many steps the story took, and how many messages each victim handled in it."""
        self._run, self._crash_point = run, run.point
        self._endings_before: list[Ended] = []
        """How actors of earlier processes ended."""
        self._schedule, self.play = self._begin(tree)

    @property
    def has_crashed(self) -> bool:
        """Whether an actor was crashed on purpose."""
        errors = [ended.error for ended in (*self._endings_before, *self.play.endings)]
        return any("CrashPointError" in error or "InjectedCrashError" in error for error in errors)

    @property
    def other_errors(self) -> list[str]:
        """The errors of actors that were not crashed on purpose."""
        endings = (*self._endings_before, *self.play.endings)
        errors = [ended.error for ended in endings if ended.error]
        return [e for e in errors if "CrashPointError" not in e and "InjectedCrashError" not in e]

    def tell(self, story: tuple[Action[Self], ...]) -> Outcome:
        """Run ``story`` to its end, and return its outcome."""
        self.play.start()
        self.play.advance(self.pause)
        for action in story:
            action(self)
            self.play.advance(self.pause)
        self.steps, self.handled = self._schedule.taken, Counter(self.seen)
        self.play.advance(self.in_the_end)
        outcome = self._outcome()
        assert self.play.stop() == 0
        return outcome

    @abstractmethod
    def _outcome(self) -> Outcome:
        """Return the outcome of the run."""

    def _begin(self, tree: SupervisorSpec) -> tuple[Schedule, Stage]:
        schedule, point = Schedule(self._run.seed), self._crash_point
        if point is not None and point.how is How.BETWEEN:
            schedule.crash_at = point.at
            schedule.crash = lambda: self._crash(point.victim)
        return schedule, Stage(self._with_victims(tree), schedule)

    def _begin_anew(self, tree: SupervisorSpec) -> None:
        """Go on with another process. That which ran is killed: it does nothing any more.

        Call ``play.start`` once what is outside of the tree knows the new one.
        """
        self._endings_before += self.play.endings
        now, taken = self.play.clock.monotonic(), self._schedule.taken
        self._schedule, self.play = self._begin(tree)
        self._schedule.taken = taken
        self.play.clock.move(now)

    def _with_victims(self, spec: AnySpec) -> Any:
        """Return ``spec`` with every actor in it made a victim."""
        if isinstance(spec, SupervisorSpec):
            return replace(spec, children=tuple(map(self._with_victims, spec.children)))
        if isinstance(spec, DynamicSpec):
            return spec  # its children are made victims by its ``_port_of_victims``
        if spec.key in self.players:
            return spec
        if spec.key not in self.victims:
            self.victims.append(spec.key)
        return replace(spec, factory=partial(self._make_victim, spec))

    def _port_of_victims(self, key: Key[DynamicMessage]) -> Port[DynamicMessage]:
        """Return the address of a dynamic supervisor all of whose children are victims."""
        return VictimsPort(self.play.port(key), self._with_victim)

    def _with_victim(self, spec: ChildSpec[M]) -> ChildSpec[M]:
        if spec.key not in self.victims:
            self.victims.append(spec.key)
            self.asked_for_at[spec.key] = self._schedule.taken
        return replace(spec, factory=partial(self._make_victim, spec))

    def _make_victim(self, spec: ChildSpec[M]) -> BaseActor[M]:
        actor = spec.factory()
        # In front of the method of its class: every message passes here.
        vars(actor)["receive"] = partial(self._handle, spec.key, actor.receive)
        return actor

    def _handle(self, key: Key[M], receive: Callable[[M], None], message: M) -> None:
        """Make the victim handle a message, and crash it if this is the crash point."""
        self.seen[key] += 1
        point = self._crash_point
        here = point is not None and point.victim == key and point.at == self.seen[key]
        how = point.how if point is not None and here else None
        if how is How.INSTEAD and not isinstance(message, self.taken_at_once):
            raise CrashPointError
        receive(message)
        if how is How.AFTER:
            raise CrashPointError

    def _crash(self, victim: Key[Any]) -> None:
        self.play.system.addresses.cell(victim).put(Crash())


@dataclass
class Matrix(Generic[W]):
    """All runs of one story, and how they differed."""

    make_world: Callable[[StoryRun], W]
    folder: Path
    story: tuple[Action[W], ...]
    reached: int = 0
    """How many crash points were reached."""
    differences: list[str] = field(default_factory=list)
    """Which crash points changed the outcome, and how."""

    def run(self, seeds: range, every: int = 1, every_message: int | None = None) -> None:
        """Run the story with every ``every``-th crash point, and with other ones for each seed.

        Of the crash points at a message every ``every_message``-th is taken, if that is given. They are
        fewer than those between messages, and change the outcome more often.
        """
        for seed in seeds:
            world, undisturbed = self._tell(seed, None)
            assert not world.has_crashed
            part = (seed - seeds.start) / len(seeds)
            for point in _sample(_crash_points(world), every, every_message or every, part):
                self.differences += [
                    f"seed {seed}, {point.victim.path} {point.how} {point.at}: {difference}"
                    for difference in self._differences(undisturbed, seed, point)
                ]

    def _differences(self, undisturbed: Outcome, seed: int, point: CrashPoint) -> list[str]:
        try:
            world, outcome = self._tell(seed, point)
        except Exception as error:  # noqa: BLE001  # which point it was matters more than the stack
            return [f"does not come to its end: {error!r}"]
        self.reached += world.has_crashed
        return undisturbed.differences(outcome)

    def _tell(self, seed: int, point: CrashPoint | None) -> tuple[W, Outcome]:
        folder = self.folder / "manifests"
        world = self.make_world(StoryRun(folder, seed, point))
        try:
            return world, world.tell(self.story)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _sample(
    points: Iterable[CrashPoint], every: int, every_message: int, part: float
) -> Iterator[CrashPoint]:
    """Return a sample of ``points``. ``part``, from 0 to 1, says with which one it begins."""
    all_points = list(points)
    steps = [point for point in all_points if point.how is How.BETWEEN]
    messages = [point for point in all_points if point.how is not How.BETWEEN]
    for some, stride in ((steps, every), (messages, every_message)):
        yield from islice(some, int(part * stride), None, stride)


def _crash_points(undisturbed: World) -> Iterator[CrashPoint]:
    for victim in undisturbed.victims:
        for how, first, last in (
            (How.BETWEEN, undisturbed.asked_for_at.get(victim, 0), undisturbed.steps),
            (How.INSTEAD, 0, undisturbed.handled[victim]),
            (How.AFTER, 0, undisturbed.handled[victim]),
        ):
            yield from (CrashPoint(victim, how, at) for at in range(first + 1, last + 1))
