"""Who stands around a manager on its stage: holders that only speak, files, a Node, somebody who follows.

The holders note what they hear, set a value of their own when they are to look, and let go at once unless
they are told to take their time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from typing_extensions import override

from actors.objects.holders import set_unheld
from kernel import (
    Key,
    Level,
    PooledActor,
    Port,
)
from manifests.change_hooks import ON_OBJECT_CHANGE
from messages.holders import (
    EVERY_MARK,
    HolderDone,
    HolderFact,
    HolderIdle,
    HolderIs,
    HolderMessage,
    ListLocalObjects,
    LocalHolderMessage,
    LocalReferencesAre,
    Mark,
    ReferencesAre,
    StopIfIdle,
    UnprovenUsed,
)
from messages.node import FollowNode, NodeFact
from messages.objects import (
    Change,
    ChangeDecided,
    HeldObject,
    ObjectChanged,
    ObjectDescribed,
    ObjectFact,
    ObjectId,
    ObjectKind,
    ObjectState,
    ObjectValue,
    Origin,
    ReadVerdict,
)
from messages.pods import API, Pod
from tests.support import canary
from tests.support.builders import PodFields, make_pod
from tests.support.kernel.probe import Probe

CANARY = canary.CANARY.encode()
"""What every value holds: it is looked for where no value belongs."""

NO_REFERENCES = ReferencesAre(references=0, newest=Mark(0), is_followed=False)


def needing(
    name: str = "web",
    *secrets: str,
    pull: Sequence[str] = (),
    env: Sequence[str] = (),
    config_maps: Sequence[str] = (),
    hook: str = "",
    **fields: Any,
) -> Pod:
    """Return a pod of the API server that mounts these objects, and pulls and starts with others."""
    volumes: list[dict[str, Any]] = [{"name": s, "secret": {"secretName": s}} for s in secrets]
    volumes += [{"name": c, "configMap": {"name": c}} for c in config_maps]
    spec = {
        "volumes": volumes,
        "imagePullSecrets": [{"name": secret} for secret in pull],
        "containers": [{"envFrom": [{"secretRef": {"name": secret}} for secret in env]}],
    }
    described = PodFields(source=API, spec=spec, annotations={ON_OBJECT_CHANGE: hook})
    return make_pod(name, **{**described, **fields})


def secret(name: str, namespace: str = "default", origin: Origin = Origin.API) -> ObjectId:
    """Return which Secret that is."""
    return ObjectId(kind=ObjectKind.SECRET, namespace=namespace, name=name, origin=origin)


def held(wanted: ObjectId, version: str = "1", **fields: Any) -> ObjectDescribed:
    """Return how a holder says that it holds an object."""
    synced = ObjectDescribed(
        object=wanted,
        state=ObjectState.SYNCED if wanted.origin is Origin.API else ObjectState.LOCAL,
        uid=f"uid-{wanted.name}" if version else "",
        resource_version=version,
        is_known=True,
    )
    return replace(synced, **fields)


def changed(
    wanted: ObjectId,
    version: str = "2",
    change: Change = Change.MODIFIED,
    keys: tuple[str, ...] = ("password",),
) -> ObjectChanged:
    """Return what a holder says that happened to an object."""
    uid = f"uid-{wanted.name}"
    return ObjectChanged(object=wanted, change=change, uid=uid, resource_version=version, keys=keys)


def news_of(change: ObjectChanged, concerns: int = EVERY_MARK) -> HolderIs:
    """Return how a holder tells of a change, which concerns references up to this mark."""
    version = "" if change.change is Change.DELETED else change.resource_version
    described = held(change.object, version)
    return HolderIs(described=described, changed=change, concerns=Mark(concerns))


@dataclass(slots=True)
class Record:
    """What one holder heard, in all of its lives."""

    object: ObjectId
    references: ReferencesAre = NO_REFERENCES
    heard: list[ReferencesAre] = field(default_factory=list)
    looks: list[ReferencesAre] = field(default_factory=list)
    """What it heard when a follower wanted another look."""
    used: list[UnprovenUsed] = field(default_factory=list)
    lives: int = 0
    asked: list[int] = field(default_factory=list)
    """The questions whether it is idle."""
    is_idle: bool = True
    """It answers them."""
    takes_its_time: bool = False
    """It lets go when the test says so."""

    def words(self) -> list[str]:
        """Return what was heard since the last call: ``2 at 5, followed`` is how many, newest mark."""
        words = [_references(heard) for heard in self.heard]
        self.heard.clear()
        return words


def _references(heard: ReferencesAre) -> str:
    if not heard.references:
        return "none"
    followed = ", followed" if heard.is_followed else ""
    return f"{heard.references} at {heard.newest}{followed}"


@dataclass(frozen=True, slots=True)
class Say:
    """What the test has a holder tell the manager."""

    fact: HolderFact


FakeHolderMessage: TypeAlias = HolderMessage | Say


class FakeHolder(PooledActor[FakeHolderMessage]):
    """Notes what it hears."""

    def __init__(
        self, record: Record, manager: Port[HolderFact], objects: Level[ObjectId, HeldObject]
    ) -> None:
        self._record = record
        self._manager = manager
        self._objects = objects

    @override
    def started(self) -> None:
        self._record.lives += 1

    @override
    def receive(self, message: FakeHolderMessage, /) -> None:
        record = self._record
        match message:
            case ReferencesAre():
                self._hear(message)
            case UnprovenUsed():
                record.used.append(message)
            case StopIfIdle(number=number):
                record.asked.append(number)
                if record.is_idle:
                    self._manager.tell(HolderIdle(object=record.object, number=number))
            case Say(fact=fact):
                self._manager.tell(fact)

    def _hear(self, told: ReferencesAre) -> None:
        record, wanted = self._record, self._record.object
        if told.wanted > record.references.wanted:
            record.looks.append(told)
        if told.wanted and told.references:
            self._objects.set(wanted, found(wanted), proven=told.wanted)
        record.references = told
        record.heard.append(told)
        if not told.references and not record.takes_its_time:
            self._manager.tell(HolderDone(object=wanted, newest=told.newest))


def found(wanted: ObjectId) -> HeldObject:
    """Return what a holder tells followers: a value."""
    value = ObjectValue(uid=f"uid-{wanted.name}", resource_version="1", data={"password": CANARY})
    return HeldObject(verdict=ReadVerdict.FOUND, value=value)


class FakeFiles(Port[LocalHolderMessage]):
    """The holder of local objects: looks at once, and notes how often it was asked to list."""

    def __init__(self, objects: Level[ObjectId, HeldObject]) -> None:
        self._objects = objects
        self.heard: list[LocalReferencesAre] = []
        self.used: list[UnprovenUsed] = []
        self.asked = 0

    @property
    def looked(self) -> list[ObjectId]:
        """The objects at which followers had it look."""
        return list(dict.fromkeys(heard.object for heard in self.heard if heard.wanted))

    @override
    def tell(self, message: LocalHolderMessage, /) -> None:
        match message:
            case LocalReferencesAre(object=wanted, references=references, wanted=look):
                self.heard.append(message)
                if references and look:
                    self._objects.set(wanted, found(wanted), proven=look)
                elif not references:
                    set_unheld(self._objects, wanted, look)
            case UnprovenUsed():
                self.used.append(message)
            case ListLocalObjects():
                self.asked += 1


class NodeKeeper(Port[FollowNode]):
    """Tells whoever follows the Node how it is."""

    def __init__(self) -> None:
        self.followers: dict[Port[NodeFact], None] = {}

    @override
    def tell(self, message: FollowNode, /) -> None:
        self.followers[message.subscriber] = None

    def says(self, fact: NodeFact) -> None:
        """Let everybody know."""
        for follower in self.followers:
            follower.tell(fact)


def holder_key(wanted: ObjectId) -> Key[FakeHolderMessage]:
    """Return the address of an object's holder."""
    kinds = "secrets" if wanted.kind is ObjectKind.SECRET else "configmaps"
    return Key(f"objects/{kinds}/{wanted.namespace}/{wanted.name}")


class Follower(Probe[ObjectFact]):
    """A subscriber, and what it heard in words."""

    def heard(self) -> list[str]:
        """Return what was told since the last look: ``modified db at 2``, ``web: restart``."""
        return [_words(fact) for fact in self.drain()]


def _words(fact: ObjectFact) -> str:
    if isinstance(fact, ChangeDecided):
        return f"{fact.pod_name.partition('/')[2]}: {fact.signal or fact.action}"
    return f"{fact.change} {fact.object.name} at {fact.resource_version}"
