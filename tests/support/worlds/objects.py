"""What is alike in the worlds of the crash matrix in which pods reference Secrets and ConfigMaps.

The agent composes them, or the part of it that keeps objects. Outside of the tree are a follower of all
objects; a reader in it, which is no victim.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, NamedTuple

from typing_extensions import override

from actors.objects.manager import OBJECT_HOLDERS, ObjectManagerMemory
from agent.object_tree import MANAGERS
from kernel import ChildSpec, Level, Port, SupervisorSpec
from messages.api import CallApi
from messages.holders import HolderIs, LocalObjectsListed, LocalReferencesAre
from messages.node import FollowNode
from messages.objects import (
    Change,
    ChangeAction,
    ChangeDecided,
    DescribeObjects,
    FollowObjects,
    HeldObject,
    ObjectChanged,
    ObjectDescribed,
    ObjectFact,
    ObjectId,
    ObjectKind,
    ObjectManagerMessage,
    ObjectsDescribed,
    Origin,
    RegisterPod,
    UnfollowObjects,
    UnregisterPod,
)
from messages.pod_manager import Subscribe
from messages.pods import PodUid
from messages.watches import Unwatch, Watch
from settings.agent import Settings
from stores.objects.reference_index import ReferenceIndex
from tests.support.crash_matrix import Observations, Outcome, StoryRun, World
from tests.support.kernel.probe import Probe
from tests.support.objects.reader import READER, Answer, Read, Reader, ReadMemory

NODE = "node1"
GONE = "gone"


class Wanted(NamedTuple):
    """A reference, in the words of a story: UIDs are others in each run."""

    pod: str
    kind: ObjectKind
    name: str


class Decided(NamedTuple):
    """A decision about a change, without what chance and a crash may alter."""

    pod: str
    action: ChangeAction
    signal: str
    object: ObjectId
    state: str


class ObjectsWorld(World):
    """What the worlds have in common: the managers, who follows them, and who reads."""

    origin: ClassVar[Origin]
    players = (READER,)
    pause: ClassVar[float] = 1.0  # longer than a restart, and what it takes to begin anew
    taken_at_once: ClassVar[tuple[type, ...]] = (
        # All of them are on record before anything else is done with them.
        *(Subscribe, FollowNode, Watch, Unwatch, CallApi),
        *(RegisterPod, UnregisterPod, FollowObjects, UnfollowObjects),
        *(HolderIs, LocalObjectsListed, LocalReferencesAre),
    )

    def __init__(self, run: StoryRun, settings: Settings) -> None:
        self.pods: dict[str, PodUid] = {}
        """By the name that the story has for them."""
        self.follower: Probe[ObjectFact] = Probe()
        self.broken: list[str] = []
        """Promises that were not kept."""
        self._read: Counter[object] = Counter()
        """The version that each pod read last of each object."""
        self._reads = ReadMemory()
        tree = self._tree(run, settings)
        reader = ChildSpec(key=READER, factory=self._make_reader)
        super().__init__(run, replace(tree, children=(*tree.children, reader)))

    def _make_reader(self) -> Reader:
        return Reader(self._levels(), self.play.port(READER), self._reads)

    # What others do.

    def follow(self) -> None:
        """Have somebody follow all objects."""
        self._tell_managers(FollowObjects(subscriber=self.follower))

    def unfollow(self) -> None:
        """Have nobody follow them."""
        self._tell_managers(UnfollowObjects(subscriber=self.follower))

    def _tell_managers(self, message: ObjectManagerMessage) -> None:
        for key in MANAGERS.values():
            self.play.tell(key, message)

    def read(self, wanted: Wanted) -> Answer:
        """Read for a pod. What nobody could prove in time is an answer too."""
        read = Read(self.object(wanted))
        is_known = self._is_known(wanted)
        self.play.tell(READER, read)
        self.play.advance(2.0)
        (answer,) = self._reads.take_answers()
        if is_known:
            self._check_answer(wanted, answer)
        return answer

    def object(self, wanted: Wanted) -> ObjectId:
        """Return which object that is."""
        return ObjectId(kind=wanted.kind, namespace="default", name=wanted.name, origin=self.origin)

    def _is_known(self, wanted: Wanted) -> bool:
        """Return whether a manager knows that the pod references the object."""
        pod, object_id = self.pods[wanted.pod], self.object(wanted)
        indexes = [
            ReferenceIndex(wanted.kind, memory.references) for memory in self._managers_memories()
        ]
        return any(index.mark(pod, object_id) is not None for index in indexes)

    def _check_answer(self, wanted: Wanted, answer: Answer) -> None:
        """Note what of the answer should not be: here, that it was newer before."""
        if answer.value is None:
            return
        version = int(answer.value.resource_version)
        if version < self._read[wanted]:
            self.broken.append(f"{wanted} is answered {version} after {self._read[wanted]}")
        self._read[wanted] = version

    # What it is made of.

    @abstractmethod
    def _tree(self, run: StoryRun, settings: Settings) -> SupervisorSpec:
        """Return the tree."""

    @abstractmethod
    def _levels(self) -> Mapping[ObjectKind, Level[ObjectId, HeldObject]]:
        """Return what is known of the objects of each kind."""

    @abstractmethod
    def _managers_memories(self) -> Iterable[ObjectManagerMemory]:
        """Return what outlives crashes of the managers."""

    # What is compared.

    @abstractmethod
    def _references(self) -> Iterator[Wanted]:
        """Give every reference of a pod that there is."""

    @override
    def _outcome(self) -> Outcome:
        described = [self._described(kind) for kind in ObjectKind]
        holders = [n.name for n in self.play.describe().values() if n.parent == OBJECT_HOLDERS.path]
        # The first wakes what is idle.
        answers = {
            wanted: (self.read(wanted), self.read(wanted))[1] for wanted in self._references()
        }
        facts = self.follower.drain()
        changes = [fact for fact in facts if isinstance(fact, ObjectChanged)]
        assert not self.broken, self.broken
        assert not _reversals(changes), _reversals(changes)
        decisions = Counter(_decided(fact) for fact in facts if isinstance(fact, ChangeDecided))
        observed: Observations = {
            "other_errors": self.other_errors,
            "what followers know": {each.object: _state(each) for each in changes},
            "decisions": {each for each in decisions if not self._may_be_skipped(each.state)},
            "decisions told more than twice": [
                each for each, times in decisions.items() if times > 2
            ],
            "pods": [each.pods for each in described],
            "objects": [set(map(_meaning, each.objects)) for each in described],
            "reads": {wanted: _answered(answer) for wanted, answer in answers.items()},
            "holders": sorted(holders),
            "left in the managers": [
                (memory.outbox, memory.api.stopped, memory.api.stopped_before)
                for memory in self._managers_memories()
            ],
        }
        return Outcome(observed | self._observed(), _deletions(changes))

    def _may_be_skipped(self, _state: str) -> bool:
        """Return whether a version was there for so short a time that a crash may hide it."""
        return False

    def _observed(self) -> Observations:
        """Return what there is to see in this world alone."""
        return {}

    def _described(self, kind: ObjectKind) -> ObjectsDescribed:
        return self.play.ask(MANAGERS[kind], _describe)


def _describe(reply_to: Port[ObjectsDescribed]) -> DescribeObjects:
    return DescribeObjects(reply_to=reply_to)


def _meaning(described: ObjectDescribed) -> tuple[object, ...]:
    """Return how an object is held, without times, and what it is called by those who see times."""
    return (
        described.object,
        described.state,
        described.references,
        described.resource_version,
        described.is_known,
        described.current_until is None,
        described.error,
    )


def _answered(answer: Answer) -> tuple[object, ...]:
    value = answer.value
    seen = (value.resource_version, value.data) if value else None
    return answer.verdict, seen, answer.age is None, answer.reason, answer.is_fresh


def _state(changed: ObjectChanged) -> str:
    return GONE if changed.change is Change.DELETED else changed.resource_version


def _reversals(changes: list[ObjectChanged]) -> list[str]:
    newest: Counter[object] = Counter()
    reversals = []
    for each in changes:
        version = int(each.resource_version)
        if version < newest[each.object]:
            reversals.append(f"{each.object.display_name}: {version} after {newest[each.object]}")
        newest[each.object] = version
    return reversals


def _decided(fact: ChangeDecided) -> Decided:
    return Decided(
        fact.pod_name, fact.action, fact.signal, fact.changed.object, _state(fact.changed)
    )


def _deletions(changes: list[ObjectChanged]) -> Counter[str]:
    """Return how often followers were told that an object went, repeats left out."""
    known: dict[object, str] = {}
    deletions: Counter[str] = Counter()
    for each in changes:
        if _state(each) == GONE and known.get(each.object) != GONE:
            deletions[f"{each.object.display_name} was told as deleted"] += 1
        known[each.object] = _state(each)
    return deletions
