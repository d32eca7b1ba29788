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
from messages.holders import HolderDone, HolderFact, HolderIs, ReadObject, ReferencesAre
from messages.objects import ChangeMissed, ObjectChanged, ObjectRead
from messages.units import Seconds
from tests.support.apiserver.fake_api import FakeApi
from tests.support.crash_matrix import Outcome, StoryRun, World
from tests.support.kernel.probe import Probe
from tests.support.objects.watcher_stage import KEY, RULES, WANTED, in_words, read_of, references


class WatcherWorld(World):
    """One watcher, which is the victim."""

    pause = 0.5  # longer than the first backoffs
    in_the_end = 40.0  # longer than a watch has to open, and no idle limit
    taken_at_once = (ReferencesAre, ReadObject)

    def __init__(self, run: StoryRun) -> None:
        self.api = FakeApi(as_node="")
        self.manager: Probe[HolderFact | ChangeMissed] = Probe()
        self.reader: Probe[ObjectRead] = Probe()
        self.memory = WatcherMemory(WANTED)
        self._mark = 0
        self._reads = 0
        backoff = Backoff(initial=Seconds(0.1), cap=Seconds(1.0))
        super().__init__(
            run,
            SupervisorSpec(name="root", backoff=backoff, children=(isolated(KEY, self._make),)),
        )

    def refers(self, count: int) -> None:
        """Have so many pods reference the object, the latest of them a new one."""
        self._mark += 1
        self.play.port(KEY).tell(references(count, mark=self._mark))

    def reads(self) -> None:
        """Have the latest pod read."""
        self._reads += 1
        self.play.port(KEY).tell(read_of(self.reader, self._mark))

    def _make(self) -> ObjectWatcher:
        me: Port[ObjectWatcherMessage] = self.play.port(KEY)
        ports = WatcherPorts(watches=self.api.watches, manager=self.manager, objects=Level(), me=me)
        return ObjectWatcher(ports, RULES, self.memory)

    @override
    def _outcome(self) -> Outcome:
        answered = len(self.reader.drain())
        observed: dict[str, object] = {"how many reads were not answered": self._reads - answered}
        self.reads()
        self.play.advance(2.0)
        facts = self.manager.drain()
        (answer,) = self.reader.drain()
        observed["what is read in the end"] = in_words(answer)
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
