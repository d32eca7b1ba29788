"""Stories that are told again and again, each time with one actor crashed at another moment.

A story is a list of actions on a ``World``: an agent, or a part of one, and what is outside of it. It is
told once undisturbed; then once for every step of the schedule and every victim with a crash right
there, and once for every message that a victim handles, with a crash in its place and a crash after
it. However it is told, it must end the same, and nothing may be lost that the undisturbed telling
keeps. Every actor of the tree is a victim, since the tree is what the crashes are hidden in; and so is
whoever a dynamic supervisor starts in the course of the story, from then on.
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
    Key,
    Port,
    StartChild,
    Steps,
    SupervisorSpec,
)
from kernel.envelope import Crash
from tests.support.kernel.stage import Stage

M = TypeVar("M")
W = TypeVar("W", bound="World")

Action: TypeAlias = Callable[[W], object]
Sights: TypeAlias = dict[str, object]


class How(StrEnum):
    """Where the crash is."""

    BETWEEN = "between two messages"
    INSTEAD = "instead of a message"
    AFTER = "after a message, with all that it did"


@dataclass(frozen=True, slots=True)
class Blow:
    """One crash: of whom, where, and at which step of the schedule or message of the victim."""

    victim: Key[Any]
    how: How
    at: int


@dataclass(frozen=True, slots=True)
class Telling:
    """One way to tell a story."""

    folder: Path
    """For files. Does not exist, and is gone afterwards."""
    seed: int
    """Of the schedule."""
    blow: Blow | None = None


class StruckError(Exception):
    """The actor was crashed on purpose."""


class Schedule(Steps):
    """Steps that are counted, and a blow that falls after one of them."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.taken = 0
        self.falls_at = 0
        self.blow: Callable[[], None] = lambda: None

    @override
    def step(self) -> bool:
        if not super().step():
            return False
        self.taken += 1
        if self.taken == self.falls_at:
            self.blow()
        return True


class Cradle(Port[DynamicMessage]):
    """The address of a dynamic supervisor, whose children are made victims before it hears of them."""

    def __init__(
        self,
        supervisor: Port[DynamicMessage],
        endangered: Callable[[ChildSpec[Any]], ChildSpec[Any]],
    ) -> None:
        self._supervisor = supervisor
        self._endangered = endangered

    @override
    def tell(self, message: DynamicMessage, /) -> None:
        if isinstance(message, StartChild):
            message = StartChild(spec=self._endangered(message.spec))
        self._supervisor.tell(message)


@dataclass(frozen=True)
class End:
    """What is compared, without times, epochs and whatever else a crash may change."""

    sights: Sights
    """Everything that anybody can see."""
    losses: Counter[str] = field(default_factory=Counter)
    """What was taken away, and how often: in a disturbed telling it may be less, and never more."""

    def differences(self, other: End) -> list[str]:
        """Return in which respects ``other``, a disturbed telling, ended otherwise."""
        names = sorted({*self.sights, *other.sights})
        different = [name for name in names if self.sights.get(name) != other.sights.get(name)]
        return different + sorted(f"{loss}, which was not" for loss in other.losses - self.losses)


class World(ABC):
    """One telling: the tree of actors, and what the actions of a story work on."""

    pause: ClassVar[float]
    """Seconds between two actions."""
    in_the_end: ClassVar[float]
    """Seconds until everything is at rest."""
    taken_at_once: ClassVar[tuple[type, ...]]
    """Messages that are on record with the first thing that their handler does, so that no crash can
    be in their place: subscriptions and the like, which are told once."""

    def __init__(self, telling: Telling, tree: SupervisorSpec) -> None:
        # Of the backoff's jitter, which must not differ between two tellings.
        random.seed(telling.seed)
        telling.folder.mkdir()
        self.seen: Counter[Key[Any]] = Counter()
        self.victims: list[Key[Any]] = []
        self.born: dict[Key[Any], int] = {}
        """The step of the schedule at which a victim was asked for, if that was not the first."""
        self.steps, self.handled = 0, self.seen
        """How many steps the story took, and how many messages each victim handled in it."""
        self._blow = blow = telling.blow
        self._schedule = Schedule(telling.seed)
        self.play = Stage(self._endangered(tree), self._schedule)
        if blow is not None and blow.how is How.BETWEEN:
            self._schedule.falls_at = blow.at
            self._schedule.blow = lambda: self._crash(blow.victim)

    @property
    def was_struck(self) -> bool:
        """Whether the blow hit somebody."""
        errors = [ended.error for ended in self.play.endings]
        return any("StruckError" in error or "InjectedCrashError" in error for error in errors)

    @property
    def accidents(self) -> list[str]:
        """How actors ended that were not struck."""
        errors = [ended.error for ended in self.play.endings if ended.error]
        return [e for e in errors if "StruckError" not in e and "InjectedCrashError" not in e]

    def tell(self, story: tuple[Action[Self], ...]) -> End:
        """Tell the story to its end."""
        self.play.start()
        self.play.advance(self.pause)
        for action in story:
            action(self)
            self.play.advance(self.pause)
        self.steps, self.handled = self._schedule.taken, Counter(self.seen)
        self.play.advance(self.in_the_end)
        end = self._end()
        assert self.play.stop() == 0
        return end

    @abstractmethod
    def _end(self) -> End:
        """Return how it ended."""

    def _endangered(self, spec: AnySpec) -> Any:
        """Return ``spec`` with every actor in it made a victim."""
        if isinstance(spec, SupervisorSpec):
            return replace(spec, children=tuple(map(self._endangered, spec.children)))
        if isinstance(spec, DynamicSpec):
            return spec  # it has no children before somebody asks its ``_cradle`` for them
        self.victims.append(spec.key)
        return replace(spec, factory=partial(self._make_victim, spec))

    def _cradle(self, key: Key[DynamicMessage]) -> Port[DynamicMessage]:
        """Return the address of a dynamic supervisor all of whose children are victims."""
        return Cradle(self.play.port(key), self._endangered_newcomer)

    def _endangered_newcomer(self, spec: ChildSpec[M]) -> ChildSpec[M]:
        if spec.key not in self.victims:
            self.victims.append(spec.key)
            self.born[spec.key] = self._schedule.taken
        return replace(spec, factory=partial(self._make_victim, spec))

    def _make_victim(self, spec: ChildSpec[M]) -> BaseActor[M]:
        actor = spec.factory()
        # In front of the method of its class: what is told to it comes by here.
        vars(actor)["receive"] = partial(self._hit, spec.key, actor.receive)
        return actor

    def _hit(self, key: Key[M], receive: Callable[[M], None], message: M) -> None:
        """Have the victim handle a message, unless it is struck."""
        self.seen[key] += 1
        blow = self._blow
        here = blow is not None and blow.victim == key and blow.at == self.seen[key]
        how = blow.how if blow is not None and here else None
        if how is How.INSTEAD and not isinstance(message, self.taken_at_once):
            raise StruckError
        receive(message)
        if how is How.AFTER:
            raise StruckError

    def _crash(self, victim: Key[Any]) -> None:
        self.play.system.addresses.cell(victim).put(Crash())


@dataclass
class Matrix(Generic[W]):
    """All tellings of one story, and what came of them."""

    make_world: Callable[[Telling], W]
    folder: Path
    story: tuple[Action[W], ...]
    reached: int = 0
    """How many blows hit somebody."""
    differences: list[str] = field(default_factory=list)
    """Which blows made the story end otherwise, and how."""

    def run(self, seeds: range, every: int = 1, every_message: int | None = None) -> None:
        """Tell the story with ``every`` so many-th blow, others with each seed, which is a schedule.

        With ``every_message`` that is how many of those that are at a message are taken. They are few,
        and hit more often than those between two of them.
        """
        for seed in seeds:
            world, undisturbed = self._tell(seed, None)
            assert not world.was_struck
            part = (seed - seeds.start) / len(seeds)
            for blow in _sample(_blows(world), every, every_message or every, part):
                self.differences += [
                    f"seed {seed}, {blow.victim.path} {blow.how} {blow.at}: {difference}"
                    for difference in self._differences(undisturbed, seed, blow)
                ]

    def _differences(self, undisturbed: End, seed: int, blow: Blow) -> list[str]:
        try:
            struck, end = self._tell(seed, blow)
        except Exception as error:  # noqa: BLE001  # which blow it was matters more than the stack
            return [f"cannot be told to its end: {error!r}"]
        self.reached += struck.was_struck
        return undisturbed.differences(end)

    def _tell(self, seed: int, blow: Blow | None) -> tuple[W, End]:
        folder = self.folder / "manifests"
        world = self.make_world(Telling(folder, seed, blow))
        try:
            return world, world.tell(self.story)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _sample(blows: Iterable[Blow], every: int, every_message: int, part: float) -> Iterator[Blow]:
    """Return some of ``blows``, beginning with another one for each ``part`` of 1."""
    all_blows = list(blows)
    steps = [blow for blow in all_blows if blow.how is How.BETWEEN]
    messages = [blow for blow in all_blows if blow.how is not How.BETWEEN]
    for some, stride in ((steps, every), (messages, every_message)):
        yield from islice(some, int(part * stride), None, stride)


def _blows(undisturbed: World) -> Iterator[Blow]:
    for victim in undisturbed.victims:
        for how, first, last in (
            (How.BETWEEN, undisturbed.born.get(victim, 0), undisturbed.steps),
            (How.INSTEAD, 0, undisturbed.handled[victim]),
            (How.AFTER, 0, undisturbed.handled[victim]),
        ):
            yield from (Blow(victim, how, at) for at in range(first + 1, last + 1))
