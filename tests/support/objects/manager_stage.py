"""A manager of Secrets or ConfigMaps on a stage: a real PodManager, and holders that only speak.

``serves`` plays a source of pods; the holders note what they hear and say what the test has them say.
They set a value of their own when they are to look, and let go at once unless they are told to take their
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

from typing_extensions import override

from actors.objects.api_holders import HolderFactory
from actors.objects.manager import ObjectManager
from actors.objects.manager_parts import (
    CONFIG_MAP_MANAGER,
    OBJECT_HOLDERS,
    SECRET_MANAGER,
    ObjectManagerMemory,
    ObjectManagerOwnMessage,
    ObjectManagerPorts,
)
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from kernel import (
    ChildSpec,
    DynamicSpec,
    Key,
    Level,
    Port,
    Runtime,
    Steps,
    SupervisorSpec,
    isolated,
)
from manifests.references import object_of
from messages.events import PostEvent
from messages.holders import (
    HolderFact,
    HolderIs,
)
from messages.objects import (
    DescribeObjects,
    FollowObjects,
    HeldObject,
    ObjectId,
    ObjectKind,
    ObjectsDescribed,
    Origin,
)
from messages.pods import API, FILE, Pod, SourceName
from messages.sources import Epoch, ListPods, SourceListed, SourceMessage
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage
from tests.support.objects.manager_players import (
    FakeFiles,
    FakeHolder,
    Follower,
    NodeKeeper,
    Record,
    Say,
    holder_key,
)
from tests.support.objects.reader import READER, Answer, Read, Reader, ReadMemory


class Source(Port[SourceMessage]):
    """A source of pods, which tells its listing again when PodManager asks."""

    def __init__(self, stage: ManagerStage, name: SourceName) -> None:
        self._stage = stage
        self._name = name
        self._listing: SourceListed | None = None
        self.is_silent = False
        """It does not answer."""

    def lists(self, *pods: Pod) -> None:
        """List ``pods``."""
        sequence = self._listing.epoch.sequence + 1 if self._listing else 1
        self._listing = SourceListed(source=self._name, epoch=Epoch(1, sequence), pods=pods)
        self._stage.play.port(POD_MANAGER).tell(self._listing)

    @override
    def tell(self, message: SourceMessage, /) -> None:
        if isinstance(message, ListPods) and self._listing is not None and not self.is_silent:
            self._stage.play.port(POD_MANAGER).tell(self._listing)


class ManagerStage:
    """The stage, and everything around the manager."""

    def __init__(
        self,
        kind: ObjectKind = ObjectKind.SECRET,
        runtime: Runtime | None = None,
        *,
        joined: bool = True,
        with_files: bool = True,
        tells_changes: bool = True,
        seed: int = 0,
    ) -> None:
        self.kind = kind
        self.key: Key[ObjectManagerOwnMessage] = (
            SECRET_MANAGER if kind is ObjectKind.SECRET else CONFIG_MAP_MANAGER
        )
        self.memory = ObjectManagerMemory()
        self.level: Level[ObjectId, HeldObject] = Level()
        self.files = FakeFiles(self.level)
        self._reads = ReadMemory()
        self.node = NodeKeeper()
        self.events: Probe[PostEvent] = Probe()
        self.volumes_are_made = False
        """From the next life of the manager on."""
        self.records: dict[ObjectId, Record] = {}
        """Of the latest holder of each object."""
        self.history: list[Record] = []
        """Of all holders that there ever were."""
        self.made: list[str] = []
        """The names of the objects that a holder was made for, in order."""
        self.take_their_time = False
        """Holders made from here on let go when the test says so."""
        self._joined = joined
        self._with_files = with_files
        self._tells_changes = tells_changes
        self._pod_memory = PodMemory()
        self.sources = {name: Source(self, name) for name in (FILE, API)}
        self.endanger: Callable[[ChildSpec[Any]], ChildSpec[Any]] = lambda spec: spec
        """What becomes of the spec of each holder."""
        self.runtime = runtime or Steps(seed)
        self.chance = Random(seed)
        self.play = Stage(self.tree(), self.runtime)

    # --- pods ------------------------------------------------------------------------------------------

    def serves(self, source: SourceName, *pods: Pod) -> None:
        """Have a source list ``pods``, and let everything that follows happen."""
        self.sources[source].lists(*pods)
        self.play.settle()

    def tell(self, *messages: ObjectManagerOwnMessage) -> None:
        """Tell the manager one after the other, and let everything that follows happen."""
        self.play.tell_all(self.key, *messages)

    def tells_at_random(self, *messages: ObjectManagerOwnMessage, crashing: float = 0.0) -> None:
        """Tell the manager one after the other, with a few steps of the schedule in between.

        So often the manager crashes in between, and mostly has the time to come back.
        """
        for message in messages:
            self.play.port(self.key).tell(message)
            self._take_steps(12)
            if self.chance.random() < crashing:
                self.play.system.crash(self.key.path)
                self._take_steps(6)
                self.play.advance(self.chance.choice([0.0, 0.3, 0.3]))
        self.play.settle()

    def _take_steps(self, less_than: int) -> None:
        assert isinstance(self.runtime, Steps)
        for _ in range(self.chance.randrange(less_than)):
            self.runtime.step()

    # --- reading and following -------------------------------------------------------------------------

    def begins_to_read(self, pod: Pod, name: str) -> None:
        """Have somebody follow an object as a new pod does, and ask for a fresh value."""
        self.play.tell(READER, Read(object_of(pod, self.kind, name)))

    def reads(self, pod: Pod, name: str) -> Answer:
        """Return what a new pod is told of an object. It follows it no longer."""
        self.begins_to_read(pod, name)
        (answer,) = self.answers()
        return answer

    def answers(self) -> list[Answer]:
        """Return what was told to those who read since the last look."""
        self.play.settle()
        return self._reads.take_answers()

    def follower(self, wanted: ObjectId | None = None) -> Follower:
        """Return somebody who follows one object, or all."""
        follower = Follower()
        self.tell(FollowObjects(subscriber=follower, object=wanted))
        return follower

    def described(
        self, *, in_detail: bool = True, only: frozenset[ObjectId] | None = None
    ) -> ObjectsDescribed:
        """Return how all objects are held: each of them, or ``only`` some, in detail."""

        def question(reply_to: Port[ObjectsDescribed]) -> DescribeObjects:
            return DescribeObjects(reply_to=reply_to, in_detail=in_detail, only=only)

        return self.play.ask(self.key, question)

    # --- holders ---------------------------------------------------------------------------------------

    def holders(self) -> list[str]:
        """Return the running names of the holders, in order."""
        nodes = self.play.describe()
        return sorted(name for name, node in nodes.items() if node.parent == OBJECT_HOLDERS.path)

    def heard(self, wanted: ObjectId) -> list[str]:
        """Return what the holder of an object heard since the last look."""
        return self.records[wanted].words()

    def counts(self) -> dict[str, int]:
        """Return how many references each object has, as its living holder knows it."""
        return {
            wanted.name: record.references.references
            for wanted, record in self.records.items()
            if record.references.references
        }

    def says(self, news: HolderFact) -> None:
        """Have a holder tell the manager something."""
        wanted = news.described.object if isinstance(news, HolderIs) else news.object
        if isinstance(news, HolderIs) and wanted.origin is Origin.LOCAL:
            self.tell(news)
        else:
            self.play.tell(holder_key(wanted), Say(news))

    def crashes(self, key: Key[Any] | None = None) -> None:
        """Crash the manager, or somebody else, and let time pass until the next life is up."""
        self.play.system.crash((key or self.key).path)
        self.play.advance(1.0)

    def check(self) -> None:
        """Fail if an actor crashed by itself."""
        errors = [ended.error for ended in self.play.endings]
        assert [e for e in errors if e and "InjectedCrashError" not in e] == []

    # --- the tree --------------------------------------------------------------------------------------

    def tree(self) -> SupervisorSpec:
        """Return the manager, its holders and PodManager."""
        return replace(
            PATIENT_ROOT,
            children=(
                ChildSpec(
                    key=POD_MANAGER, factory=lambda: PodManager(self.sources, self._pod_memory)
                ),
                DynamicSpec(key=OBJECT_HOLDERS),
                ChildSpec(key=self.key, factory=self._make_manager),
                ChildSpec(key=READER, factory=self._make_reader),
            ),
        )

    def _make_reader(self) -> Reader:
        return Reader({self.kind: self.level}, self.play.port(READER), self._reads)

    def _make_manager(self) -> ObjectManager:
        pod_manager, me = self.play.port(POD_MANAGER), self.play.port(self.key)
        ports = ObjectManagerPorts(
            pod_manager=pod_manager,
            holders=self.play.port(OBJECT_HOLDERS),
            local=self.files if self._with_files else None,
            node=self.node,
            events=self.events if self._joined else None,
            volumes_are_made=self.volumes_are_made,
            objects=self.level,
            me=me,
        )
        holders = HolderFactory(
            make_spec=self.make_spec,
            address=self.play.port,
            tells_changes=self._tells_changes,
        )
        return ObjectManager(
            self.kind, ports, holders if self._joined else None, self.memory, Random(1)
        )

    def make_spec(self, wanted: ObjectId) -> ChildSpec[Any]:
        """Return the spec of a holder that knows nothing."""
        record = Record(wanted, takes_its_time=self.take_their_time)
        self.records[wanted] = record
        self.made.append(wanted.name)
        self.history.append(record)
        manager = self.play.port(self.key)
        return self.endanger(
            isolated(holder_key(wanted), lambda: FakeHolder(record, manager, self.level))
        )


@contextmanager
def manager_stage(
    kind: ObjectKind = ObjectKind.SECRET,
    runtime: Runtime | None = None,
    *,
    joined: bool = True,
    with_files: bool = True,
    tells_changes: bool = True,
    seed: int = 0,
) -> Iterator[ManagerStage]:
    """Start a manager that knows nothing."""
    stage = ManagerStage(
        kind,
        runtime,
        joined=joined,
        with_files=with_files,
        tells_changes=tells_changes,
        seed=seed,
    )
    stage.play.start()
    try:
        yield stage
        stage.check()
    finally:
        stage.play.stop()
