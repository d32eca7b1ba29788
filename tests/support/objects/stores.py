"""The four stores of Secrets and ConfigMaps, composed as the agent composes them, for one contract suite.

Pods come from where the store's pods come from; an administrator changes the objects, at an API server in
memory or in a directory of files. Both are always there, so that a story can look for what a store must
not touch. Whatever a store may take its time for has happened when ``waits`` returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any, Final

from typing_extensions import override

from actors.events.recorder import EVENT_RECORDER
from actors.node.registrar import NODE_REGISTRAR
from actors.objects.local_files import LOCAL_OBJECTS
from actors.objects.manager_parts import OBJECT_HOLDERS, ObjectManagerMemory
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from agent.objects import MANAGERS
from kernel import AnySpec, ChildSpec, Key, Port, Steps, SupervisorSpec
from kube.calls.actor import API_CALLS
from kube.streams.actor import WATCHES
from manifests.references import object_of
from messages.events import PostEvent
from messages.objects import (
    BEGUN_WITH,
    DescribeObjects,
    FollowObjects,
    HeldObject,
    ObjectDescribed,
    ObjectFact,
    ObjectKind,
    ObjectsDescribed,
    UnprovenTaken,
)
from messages.pods import API, FILE, Pod, SourceName
from messages.sources import Epoch, SourceListed
from settings.cluster import ChangeDetection
from tests.support.agent.composed import composed, specs_named
from tests.support.apiserver.fake_api import FakeApi
from tests.support.builders import PodFields, make_pod
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.files.files_stage import SCAN
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage
from tests.support.objects.administrators import (
    NAMESPACE,
    PLURALS,
    Administrator,
    ApiAdministrator,
    FileAdministrator,
)
from tests.support.objects.manager_players import NodeKeeper
from tests.support.objects.reader import READER, Answer, Read, Reader, ReadMemory
from tests.support.objects.settings import cluster_settings
from tests.support.pods.pod_manager_stage import SilentSource

A_WHILE = 61.0
"""Seconds: longer than a fetched value counts as current, shorter than a watch may be idle."""


class Store(Enum):
    """Who answers."""

    WATCH = "watch"
    CACHE = "cache"
    GET = "get"
    LOCAL = "local"


_STRATEGIES: Final = {
    Store.WATCH: ChangeDetection.WATCH,
    Store.CACHE: ChangeDetection.CACHE,
    Store.GET: ChangeDetection.GET,
    Store.LOCAL: ChangeDetection.WATCH,
}


class Recorder(Port[object]):
    """Passes on the events that are posted."""

    def __init__(self, events: Port[PostEvent]) -> None:
        self._events = events

    @override
    def tell(self, message: object, /) -> None:
        if isinstance(message, PostEvent):
            self._events.tell(message)


class ObjectWorld:
    """One store, and the other things that are on a node with it."""

    def __init__(self, store: Store, kind: ObjectKind, path: Path) -> None:
        self.store = store
        self.kind = kind
        self.api = FakeApi(as_node="")
        self.source = FILE if store is Store.LOCAL else API
        self._watches = FakeDirectoryWatches()
        flags = (f"--local-objects-dir={path}", f"--file-check-frequency={SCAN}s")
        settings = cluster_settings(_STRATEGIES[store], *flags)
        self._node = NodeKeeper()
        self.events: Probe[PostEvent] = Probe()
        others: dict[Key[Any], Port[Any]] = {
            API_CALLS: self.api.calls,
            WATCHES: self.api.watches,
            NODE_REGISTRAR: self._node,
            EVENT_RECORDER: Recorder(self.events),
        }
        self._agent = composed(settings, self._address, others, self._watches)
        self._agent.chance = Random(1)
        self._specs = specs_named(self._agent, "objects", "object-managers", LOCAL_OBJECTS.path)
        self._reads = ReadMemory()
        self._pod_memory = PodMemory()
        self._epochs = dict.fromkeys((FILE, API), 0)
        self.play = Stage(self._tree(), Steps())
        self.cluster = ApiAdministrator(kind, self.api)
        self.files = FileAdministrator(kind, path, self.play, self._watches)

    @property
    def admin(self) -> Administrator:
        """Who has a hand on the objects of this store."""
        return self.files if self.store is Store.LOCAL else self.cluster

    @property
    def keeps(self) -> bool:
        """Whether the store remembers what it saw, and tells of changes."""
        return self.store is not Store.GET

    # --- pods ------------------------------------------------------------------------------------------

    def pod(self, name: str, *objects: str, source: str = "", **fields: Any) -> Pod:
        """Return a pod of the store's source that references ``objects`` as volumes."""
        volumes = [self._volume(each) for each in objects]
        source = source or self.source
        described = PodFields(namespace=NAMESPACE, source=source, spec={"volumes": volumes})
        return make_pod(name, **{**described, **fields})

    def serves(self, *pods: Pod, source: SourceName | None = None) -> None:
        """Have a source list ``pods``, and let everything that follows happen."""
        source = source or self.source
        self._epochs[source] += 1
        epoch = Epoch(1, self._epochs[source])
        self.play.tell(POD_MANAGER, SourceListed(source=source, epoch=epoch, pods=pods))

    def waits(self) -> None:
        """Let so much time pass that every store has to know what has happened."""
        self.play.advance(A_WHILE)

    # --- reading and following -------------------------------------------------------------------------

    def read(self, pod: Pod, name: str = "db") -> Answer:
        """Read an object for a pod; return the answer, for which time may have to pass."""
        self.begins_to_read(pod, name)
        self.play.advance(1.0)
        (answer,) = self.answers()
        if not answer.is_fresh and answer.verdict in BEGUN_WITH:
            version = answer.value.resource_version if answer.value is not None else ""
            taken = UnprovenTaken(
                pod=pod.uid,
                object=answer.object,
                verdict=answer.verdict,
                resource_version=version,
            )
            self.play.tell(self.manager, taken)
        return answer

    def begins_to_read(self, pod: Pod, name: str = "db", *, stays: bool = False) -> None:
        """The same, whether or not time passes until there is an answer."""
        self.play.tell(READER, Read(object_of(pod, self.kind, name), stays=stays))

    def asks(self, pod: Pod, name: str = "db") -> Answer:
        """Have a pod begin to follow an object; return what it goes on with."""
        self.begins_to_read(pod, name, stays=True)
        self.play.advance(1.0)
        (answer,) = self.answers()
        return answer

    def answers(self) -> list[Answer]:
        """Return what was answered since the last look."""
        return self._reads.take_answers()

    def known(self, pod: Pod, name: str = "db") -> HeldObject:
        """Return what who asked for an object knows of it by now."""
        self.play.settle()
        return self._reads.known[object_of(pod, self.kind, name)]

    def follows(self) -> Probe[ObjectFact]:
        """Return somebody who follows all objects of the kind."""
        follower: Probe[ObjectFact] = Probe()
        self.play.tell(MANAGERS[self.kind], FollowObjects(subscriber=follower))
        return follower

    def described(self) -> tuple[ObjectDescribed, ...]:
        """Return how the referenced objects are held."""
        return self.play.ask(MANAGERS[self.kind], _describe_objects).objects

    def looks(self) -> int:
        """Return how often fresh values were asked for, as people are told."""
        return self.play.ask(MANAGERS[self.kind], _describe_objects).looks

    def holders(self) -> list[str]:
        """Return the running names of those that hold objects of the API server."""
        nodes = self.play.describe()
        return sorted(name for name, node in nodes.items() if node.parent == OBJECT_HOLDERS.path)

    def asked(self) -> list[str]:
        """Return what was asked of the API server since the last look."""
        return [*self.api.calls.asked(), *self.api.watches.asked()]

    # --- crashes ---------------------------------------------------------------------------------------

    @property
    def manager(self) -> Key[Any]:
        """The address of the manager."""
        return MANAGERS[self.kind]

    @property
    def holder(self) -> Key[Any]:
        """The address of who holds the Secret or ConfigMap ``db``."""
        if self.store is Store.LOCAL:
            return LOCAL_OBJECTS
        return Key(f"objects/{PLURALS[self.kind]}/{NAMESPACE}/db")

    def crashes(self, key: Key[Any]) -> None:
        """Crash somebody, and let time pass until the next life is up."""
        self.goes_down(key)
        self.play.advance(1.0)

    def goes_down(self, key: Key[Any]) -> None:
        """Crash somebody; the next life begins when time passes."""
        self.play.system.crash(key.path)
        self.play.settle()

    @property
    def memories(self) -> list[object]:
        """What outlives crashes of anybody."""
        actors = [vars(spec.factory())["_memory"] for spec in _children(self._specs)]
        managers = [each for each in actors if isinstance(each, ObjectManagerMemory)]
        holders = (holder for each in managers for holder in each.api.holders.values())
        # All lives that a spec starts share one memory.
        return [*actors, *(vars(holder.spec.factory())["_memory"] for holder in holders)]

    def check(self) -> None:
        """Fail if an actor crashed by itself."""
        errors = [ended.error for ended in self.play.endings]
        assert [error for error in errors if error and "InjectedCrashError" not in error] == []

    # --- the tree --------------------------------------------------------------------------------------

    def _volume(self, name: str) -> dict[str, Any]:
        if self.kind is ObjectKind.SECRET:
            return {"name": name, "secret": {"secretName": name}}
        return {"name": name, "configMap": {"name": name}}

    def _tree(self) -> SupervisorSpec:
        sources = {name: SilentSource() for name in (FILE, API)}
        return replace(
            PATIENT_ROOT,
            children=(
                ChildSpec(key=POD_MANAGER, factory=lambda: PodManager(sources, self._pod_memory)),
                *self._specs,
                ChildSpec(key=READER, factory=self._make_reader),
            ),
        )

    def _make_reader(self) -> Reader:
        return Reader(self._agent.objects, self.play.port(READER), self._reads)

    def _address(self, key: Key[Any], /) -> Port[Any]:
        return self.play.port(key)


def _children(specs: Iterable[AnySpec]) -> Iterator[ChildSpec[Any]]:
    for each in specs:
        if isinstance(each, SupervisorSpec):
            yield from _children(each.children)
        elif isinstance(each, ChildSpec):
            yield each


def _describe_objects(reply_to: Port[ObjectsDescribed]) -> DescribeObjects:
    return DescribeObjects(reply_to=reply_to)


@contextmanager
def object_world(store: Store, kind: ObjectKind, path: Path) -> Iterator[ObjectWorld]:
    """Start a store, with a directory at ``path`` that is empty, and no pods."""
    path.mkdir()
    world = ObjectWorld(store, kind, path)
    world.play.start()
    world.play.advance(1.0)
    try:
        yield world
        world.check()
    finally:
        world.play.stop()
