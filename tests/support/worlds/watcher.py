"""The world of the crash matrix around one watcher: an API server, a manager that listens, readers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from typing_extensions import override

from actors.objects.watcher import (
    ObjectWatcher,
    ObjectWatcherMessage,
    WatcherMemory,
    WatcherPorts,
)
from kernel import Backoff, Level, Port, SupervisorSpec, isolated
from messages.holders import HolderDone, HolderFact, HolderIs, ReferencesAre
from messages.objects import ChangeMissed, HeldObject, ObjectChanged, ObjectId, ObjectKind
from messages.units import Seconds
from tests.support.apiserver.fake_api import FakeApi
from tests.support.crash_matrix import Outcome, StoryRun, World
from tests.support.kernel.probe import Probe
from tests.support.objects.reader import LEVEL_OWNER, READER, LevelOwner, Read, Reader, ReadMemory
from tests.support.objects.watcher_stage import KEY, RULES, WANTED, references


class WatcherWorld(World):
    """One watcher, which is the victim."""

    pause = 0.5  # longer than the first backoffs
    in_the_end = 40.0  # longer than a watch has to open, and no idle limit
    taken_at_once = (ReferencesAre,)
    players = (READER, LEVEL_OWNER)

    def __init__(self, run: StoryRun) -> None:
        self.api = FakeApi(as_node="")
        self.manager: Probe[HolderFact | ChangeMissed] = Probe()
        self.level: Level[ObjectId, HeldObject] = Level()
        self._answers = ReadMemory()
        self._needs = references(0, mark=0)
        self.memory = WatcherMemory(WANTED)
        self._mark = 0
        self._reads = 0
        backoff = Backoff(initial=Seconds(0.1), cap=Seconds(1.0))
        super().__init__(
            run,
            SupervisorSpec(
                name="root",
                backoff=backoff,
                children=(
                    isolated(KEY, self._make),
                    isolated(LEVEL_OWNER, self._make_owner),
                    isolated(READER, self._make_reader),
                ),
            ),
        )

    def refers(self, count: int) -> None:
        """Have so many pods reference the object, the latest of them a new one."""
        self._mark += 1
        look = self._needs.wanted if count else 0
        self._needs = replace(references(count, mark=self._mark), wanted=look)
        self.play.port(KEY).tell(self._needs)

    def reads(self) -> None:
        """Have the latest pod read."""
        self._reads += 1
        self.play.port(READER).tell(Read(WANTED))

    def _make(self) -> ObjectWatcher:
        me: Port[ObjectWatcherMessage] = self.play.port(KEY)
        ports = WatcherPorts(
            watches=self.api.watches, manager=self.manager, objects=self.level, me=me
        )
        return ObjectWatcher(ports, RULES, self.memory)

    def _make_owner(self) -> LevelOwner:
        return LevelOwner(self.level, self.play.port(LEVEL_OWNER), self._wants)

    def _make_reader(self) -> Reader:
        levels = {ObjectKind.SECRET: self.level}
        return Reader(levels, self.play.port(READER), self._answers)

    def _wants(self, _wanted: ObjectId, look: int) -> None:
        if self._needs.references:
            self._needs = replace(self._needs, wanted=look)
            self.play.port(KEY).tell(self._needs)

    @override
    def _outcome(self) -> Outcome:
        answered = len(self._answers.take_answers())
        observed: dict[str, object] = {"how many reads were not answered": self._reads - answered}
        self.reads()
        self.play.advance(2.0)
        facts = self.manager.drain()
        (answer,) = self._answers.take_answers()
        observed["what is read in the end"] = answer.in_words()
        observed["what is watched"] = tuple(self.api.watches.targets)
        observed["what the manager takes it for"] = _taken_for(facts)
        last = [fact.described for fact in facts if isinstance(fact, HolderIs)][-1]
        observed["how it is held"] = replace(last, uid="")  # it differs from run to run
        observed["how often it was let go"] = Counter(map(type, facts))[HolderDone]
        observed["other_errors"] = self.other_errors
        return Outcome(observed)


def _taken_for(facts: list[HolderFact | ChangeMissed]) -> tuple[object, ...]:
    """Return what the changes come to."""
    changes = [fact.changed for fact in facts if isinstance(fact, HolderIs) and fact.changed]
    last: ObjectChanged | None = changes[-1] if changes else None
    return (last and last.change, last and last.resource_version)
