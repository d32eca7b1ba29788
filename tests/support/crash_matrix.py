"""Stories that are told again and again, each time with one actor crashed at another moment.

A story is a list of actions on the world outside of the agent: files, another source, subscribers.
It is told once undisturbed; then once for every step of the schedule and every victim with a crash
right there, and once for every message that a victim handles, with a crash in its place and a crash
after it. However it is told, it must end the same, and nobody may be told of a removal that the
undisturbed telling does not have.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from typing_extensions import override

from actors.kernel import (
    Backoff,
    BaseActor,
    ChildSpec,
    Key,
    OnExhausted,
    PooledActor,
    Port,
    Steps,
    SupervisorSpec,
)
from actors.kernel.envelope import Crash
from actors.messages.pod_manager import (
    DescribePods,
    PodFact,
    PodManagerMessage,
    PodsDescribed,
    Subscribe,
)
from actors.messages.pods import CONFIG_SEEN, FILE, HTTP, Pod, PodUid
from actors.messages.sources import DescribeSource, Rescan, SourceDescribed
from actors.messages.units import Seconds
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from sources.file import FILE_SOURCE, FileMemory, FileSource, FileSourceRules
from sources.manifest import ManifestRules
from tests.support.file_source_stage import FileSourceStage
from tests.support.pod_picture import PodPicture
from tests.support.probe import Probe
from tests.support.sources import FAKE_SOURCE, FakeMemory, FakeSource
from tests.support.stage import Stage
from tests.support.watchtower import Watchtower

M = TypeVar("M")

SUBSCRIBER = Key[PodFact]("subscriber")
VICTIMS: tuple[Key[Any], ...] = (POD_MANAGER, FILE_SOURCE, FAKE_SOURCE, SUBSCRIBER)

PAUSE = 0.5
"""Seconds between two actions: longer than a file has to be quiet, and than the first backoff."""
IN_THE_END = 3.0
"""Seconds until everything is at rest: longer than a backoff and the time between two scans."""

Action: TypeAlias = Callable[["World"], None]


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


class StruckError(Exception):
    """The actor was crashed on purpose."""


class Subscriber(PooledActor[PodFact]):
    """Keeps a picture of the pods, which dies with it. What it saw go outlives it."""

    def __init__(self, pod_manager: Port[PodManagerMessage], world: World) -> None:
        self._pod_manager = pod_manager
        self._world = world
        self._me = world.play.port(SUBSCRIBER)

    @override
    def started(self) -> None:
        self._world.picture = PodPicture()
        self._pod_manager.tell(Subscribe(subscriber=self._me))

    @override
    def receive(self, message: PodFact, /) -> None:
        picture = self._world.picture
        picture.apply(message)
        self._world.removed |= {pod.uid for pod in picture.removed}


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


@dataclass(frozen=True)
class End:
    """What is compared: everything that anybody can see, without times and epochs."""

    known: dict[PodUid, object]
    """What the subscriber knows."""
    known_late: list[dict[PodUid, object]]
    """What those know who subscribed in the course of the story."""
    sources: list[object]
    index: object
    removed: frozenset[PodUid]
    """What was told as removed; in a disturbed telling it may be less."""
    nonsense: list[str]
    """What the subscriber could make no sense of."""

    def differences(self, other: End) -> list[str]:
        """Return in which respects ``other``, a disturbed telling, ended otherwise."""
        names = ("known", "known_late", "sources", "index", "nonsense")
        different = [name for name in names if getattr(self, name) != getattr(other, name)]
        return different + [f"{uid} was removed" for uid in sorted(other.removed - self.removed)]


class World:
    """One telling: the tree, and what the actions of a story work on."""

    def __init__(self, folder: Path, seed: int, blow: Blow | None) -> None:
        folder.mkdir()
        # Of the backoff's jitter, which must not differ between two tellings.
        random.seed(seed)
        self.picture = PodPicture()
        self.removed: set[PodUid] = set()
        self.late: list[Probe[PodFact]] = []
        self.fake = FakeMemory(wanted=())
        self.seen = dict.fromkeys(VICTIMS, 0)
        self.steps, self.handled = 0, dict(self.seen)
        """How many steps the story took, and how many messages each victim handled in it."""
        self.schedule = Schedule(seed)
        self._blow = blow
        tower = Watchtower()
        self.play = Stage(self._tree(folder, tower), self.schedule)
        self.files = FileSourceStage(self.play, folder, Probe(), tower)
        if blow is not None and blow.how is How.BETWEEN:
            self.schedule.falls_at = blow.at
            self.schedule.blow = lambda: _crash(self.play, blow.victim)

    @property
    def was_struck(self) -> bool:
        """Whether the blow hit somebody."""
        errors = [ended.error for ended in self.play.endings]
        return any("StruckError" in error or "InjectedCrashError" in error for error in errors)

    def tell(self, story: tuple[Action, ...]) -> End:
        """Tell the story to its end."""
        self.play.start()
        self.play.advance(PAUSE)
        for action in story:
            action(self)
            self.play.advance(PAUSE)
        self.steps, self.handled = self.schedule.taken, dict(self.seen)
        self.play.advance(IN_THE_END)
        end = self._end()
        assert self.play.stop() == 0
        return end

    def notice(self) -> None:
        """Tell the file source that something changed."""
        self.files.tower.notice()

    def other_source_wants(self, *pods: Pod) -> None:
        """Have the second source list ``pods``."""
        self.fake.wanted = pods
        self.play.port(FAKE_SOURCE).tell(Rescan())

    def somebody_subscribes(self) -> None:
        """Have somebody subscribe who was not there before."""
        self.late.append(Probe())
        self.play.port(POD_MANAGER).tell(Subscribe(subscriber=self.late[-1]))

    def _tree(self, folder: Path, tower: Watchtower) -> SupervisorSpec:
        pod_memory, file_memory = PodMemory(), FileMemory()
        rules = FileSourceRules(
            path=folder,
            check_frequency=Seconds(2.0),
            clear_on_missing=False,
            manifests=ManifestRules(node_name="node1", source=FILE),
        )

        def pod_manager() -> PodManager:
            file, fake = self.play.port(FILE_SOURCE), self.play.port(FAKE_SOURCE)
            return PodManager({FILE: file, HTTP: fake}, pod_memory)

        def file_source() -> FileSource:
            pod_manager = self.play.port(POD_MANAGER)
            return FileSource(rules, pod_manager, file_memory, tower)

        def fake_source() -> FakeSource:
            pod_manager = self.play.port(POD_MANAGER)
            return FakeSource(pod_manager, self.fake)

        return SupervisorSpec(
            name="root",
            backoff=Backoff(initial=Seconds(0.1), cap=Seconds(1.0)),
            children=(
                self._child(POD_MANAGER, pod_manager),
                self._child(FILE_SOURCE, file_source),
                self._child(FAKE_SOURCE, fake_source),
                self._child(SUBSCRIBER, lambda: Subscriber(self.play.port(POD_MANAGER), self)),
            ),
        )

    def _child(self, key: Key[M], make: Callable[[], BaseActor[M]]) -> ChildSpec[M]:
        def factory() -> BaseActor[M]:
            actor = make()
            # In front of the method of its class: what is told to it comes by here.
            vars(actor)["receive"] = partial(self._hit, key, actor.receive)
            return actor

        return ChildSpec(key=key, factory=factory, on_exhausted=OnExhausted.ISOLATE)

    def _hit(self, key: Key[M], receive: Callable[[M], None], message: M) -> None:
        """Have the victim handle a message, unless it is struck."""
        self.seen[key] += 1
        blow = self._blow
        here = blow is not None and blow.victim == key and blow.at == self.seen[key]
        how = blow.how if blow is not None and here else None
        # A subscription is on record with the first thing that its handler does.
        if how is How.INSTEAD and not isinstance(message, Subscribe):
            raise StruckError
        receive(message)
        if how is How.AFTER:
            raise StruckError

    def _end(self) -> End:
        described = self.play.ask(POD_MANAGER, _describe_pods)
        return End(
            known=_meaning(self.picture.pods.values()),
            known_late=[_meaning(_picture_of(probe).pods.values()) for probe in self.late],
            sources=[
                _source(self.play.ask(FILE_SOURCE, _describe_source)),
                _source(self.play.ask(FAKE_SOURCE, _describe_source)),
            ],
            index=(
                _meaning(described.pods),
                _meaning(described.mirrors),
                described.shadowed,
                described.listed,
                described.mirror_to_static,
            ),
            removed=frozenset(self.removed),
            nonsense=[e.error for e in self.play.endings if "AssertionError" in e.error],
        )


@dataclass
class Matrix:
    """All tellings of one story, and what came of them."""

    folder: Path
    story: tuple[Action, ...]
    reached: int = 0
    """How many blows hit somebody."""
    differences: list[str] = field(default_factory=list)
    """Which blows made the story end otherwise, and how."""

    def run(self, seeds: range, every: int = 1) -> None:
        """Tell the story with ``every`` so many-th blow, others with each seed, which is a schedule."""
        for seed in seeds:
            world, undisturbed = self._tell(seed, None)
            assert not world.was_struck
            for blow in islice(_blows(world), seed % every, None, every):
                struck, end = self._tell(seed, blow)
                self.reached += struck.was_struck
                self.differences += [
                    f"seed {seed}, {blow.victim.path} {blow.how} {blow.at}: {difference}"
                    for difference in undisturbed.differences(end)
                ]

    def _tell(self, seed: int, blow: Blow | None) -> tuple[World, End]:
        folder = self.folder / "manifests"
        world = World(folder, seed, blow)
        end = world.tell(self.story)
        shutil.rmtree(folder, ignore_errors=True)
        return world, end


def _blows(undisturbed: World) -> Iterator[Blow]:
    for victim in VICTIMS:
        for how, count in (
            (How.BETWEEN, undisturbed.steps),
            (How.INSTEAD, undisturbed.handled[victim]),
            (How.AFTER, undisturbed.handled[victim]),
        ):
            yield from (Blow(victim, how, at) for at in range(1, count + 1))


def _crash(play: Stage, victim: Key[Any]) -> None:
    play.system.addresses.cell(victim).put(Crash())


def _picture_of(probe: Probe[PodFact]) -> PodPicture:
    picture = PodPicture()
    for fact in probe.drain():
        picture.apply(fact)
    return picture


def _meaning(pods: Any) -> dict[PodUid, object]:
    """Return the pods without when they were first seen: a crash takes time."""
    meaning: dict[PodUid, object] = {}
    for pod in pods:
        annotations = {k: v for k, v in pod.annotations.items() if k != CONFIG_SEEN}
        metadata = {**pod.document["metadata"], "annotations": annotations}
        meaning[pod.uid] = {**pod.document, "metadata": metadata}
    return meaning


def _source(described: SourceDescribed) -> object:
    return described.ready, described.error, described.manifests


def _describe_pods(reply_to: Port[PodsDescribed]) -> DescribePods:
    return DescribePods(reply_to=reply_to)


def _describe_source(reply_to: Port[SourceDescribed]) -> DescribeSource:
    return DescribeSource(reply_to=reply_to)
