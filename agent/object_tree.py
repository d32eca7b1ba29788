"""Composes the actors for Secrets and ConfigMaps. A part of ``tree``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from actors.events.feed_parts import EVENT_FEED
from actors.events.recorder import EVENT_RECORDER
from actors.objects.api_holders import HolderFactory
from actors.objects.fetcher import (
    FetcherMemory,
    FetcherPorts,
    FetchMode,
    ObjectFetcher,
    fetcher_key,
)
from actors.objects.local_files import (
    LOCAL_OBJECTS,
    LocalMemory,
    LocalObjects,
    LocalObjectsMessage,
    LocalObjectsRules,
)
from actors.objects.manager import ObjectManager
from actors.objects.manager_parts import (
    CONFIG_MAP_MANAGER,
    OBJECT_HOLDERS,
    SECRET_MANAGER,
    ObjectManagerMemory,
    ObjectManagerOwnMessage,
    ObjectManagerPorts,
)
from actors.objects.watcher import (
    ObjectWatcher,
    WatcherMemory,
    WatcherPorts,
    WatcherRules,
    watcher_key,
    watcher_rules,
)
from actors.pod_manager import POD_MANAGER
from files.watching.inotify import InotifyWatch, KeepWatch
from kernel import (
    Address,
    AnySpec,
    ChildSpec,
    DynamicSpec,
    Key,
    Level,
    Port,
    SupervisorSpec,
    isolated,
)
from messages.api import CallApi
from messages.events import PostEvent
from messages.holders import LocalHolderFact
from messages.node import FollowNode
from messages.objects import (
    ChangeMissed,
    HeldObject,
    ObjectId,
    ObjectKind,
    ObjectManagerMessage,
)
from messages.sources import DescribeSource, Rescan
from messages.watches import ListTarget, Unwatch, Watch
from settings.agent import Settings
from settings.cluster import ChangeDetection

MANAGERS: Mapping[ObjectKind, Key[ObjectManagerOwnMessage]] = {
    ObjectKind.SECRET: SECRET_MANAGER,
    ObjectKind.CONFIG_MAP: CONFIG_MAP_MANAGER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPorts:
    """Whom managers and holders talk to about the API server."""

    calls: Port[CallApi]
    watches: Port[Watch | Unwatch | ListTarget]
    node: Port[FollowNode]
    events: Port[PostEvent]


@dataclass(slots=True)
class ObjectTreeMemory:
    """What outlives crashes of the managers, and of the holder of local objects."""

    managers: Mapping[ObjectKind, ObjectManagerMemory] = field(
        default_factory=lambda: {kind: ObjectManagerMemory() for kind in ObjectKind}
    )
    local: LocalMemory = field(default_factory=LocalMemory)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectEdges:
    """Where the agent ends: the API server, file notifications, and chance."""

    api: Callable[[], ApiPorts | None]
    """Returns whom to talk to about the API server; None if the agent belongs to no cluster."""
    keep_watch: KeepWatch = InotifyWatch
    chance: Random = field(default_factory=Random)
    """Spreads restarts and requests over time. Guards nothing."""


class ObjectTree:
    """The managers of Secrets and ConfigMaps, the holders of objects, and who of them knows whom.

    ``rules`` are those of watchers, if they are not to follow from ``settings``.
    """

    def __init__(
        self,
        settings: Settings,
        address: Address,
        edges: ObjectEdges,
        rules: WatcherRules | None = None,
    ) -> None:
        self._settings = settings
        self._address = address
        self._edges = edges
        self._rules = rules or watcher_rules(settings.sync_frequency)
        self.memory = ObjectTreeMemory()
        self.levels: Mapping[ObjectKind, Level[ObjectId, HeldObject]] = {
            kind: Level() for kind in ObjectKind
        }
        """What is known of objects. Whoever needs one follows it."""

    def specs(self) -> tuple[AnySpec, ...]:
        """Return the specs of the managers and of the holders' supervisor. They start before the sources."""
        managers = tuple(isolated(key, self._manager_of(kind)) for kind, key in MANAGERS.items())
        return (
            DynamicSpec(key=OBJECT_HOLDERS),
            SupervisorSpec(name="object-managers", children=managers),
        )

    def local_source(self) -> AnySpec | None:
        """Return the spec of who reads the local files; None if no directory is configured."""
        if self._settings.local_objects_dir is None:
            return None
        return isolated(LOCAL_OBJECTS, self._make_local_objects)

    def local_port(self) -> Port[Rescan | DescribeSource] | None:
        """Return the address of who reads the local files, which people see as a source; None as above."""
        if self._settings.local_objects_dir is None:
            return None
        return self._local

    @property
    def _local(self) -> Port[LocalObjectsMessage]:
        return self._address(LOCAL_OBJECTS)

    def ports(self) -> dict[ObjectKind, Port[ObjectManagerMessage]]:
        """Return the addresses of the managers."""
        return {kind: self._manager_port(kind) for kind in MANAGERS}

    def _manager_of(self, kind: ObjectKind) -> Callable[[], ObjectManager]:
        return lambda: self._make_manager(kind)

    def _make_manager(self, kind: ObjectKind) -> ObjectManager:
        api = self._edges.api()
        pod_manager, recorder = self._address(POD_MANAGER), self._address(EVENT_RECORDER)
        ports = ObjectManagerPorts(
            pod_manager=pod_manager,
            holders=self._address(OBJECT_HOLDERS),
            local=self._local if self._settings.local_objects_dir else None,
            node=api.node if api and self._detection is ChangeDetection.CACHE else None,
            events=api.events if api else None,
            recorder=recorder,
            volumes_are_made=self._settings.runtime is not None
            and self._settings.runtime.makes_volumes,
            objects=self.levels[kind],
            me=self._manager_port(kind),
        )
        holders = self._holders(api) if api else None
        return ObjectManager(kind, ports, holders, self.memory.managers[kind], self._edges.chance)

    def _holders(self, api: ApiPorts) -> HolderFactory:
        return HolderFactory(
            make_spec=lambda wanted: self.holder_spec(wanted, api),
            address=self._address,
            tells_changes=self._detection is not ChangeDetection.GET,
        )

    @property
    def _detection(self) -> ChangeDetection:
        cluster = self._settings.cluster
        return cluster.change_detection if cluster is not None else ChangeDetection.WATCH

    def holder_spec(self, wanted: ObjectId, api: ApiPorts) -> ChildSpec[Any]:
        """Return the spec of a holder of ``wanted`` that knows nothing, of the configured strategy."""
        match self._detection:
            case ChangeDetection.WATCH:
                return self._watcher_spec(wanted, api)
            case ChangeDetection.CACHE:
                return self._fetcher_spec(wanted, api, FetchMode.CACHE)
            case ChangeDetection.GET:
                return self._fetcher_spec(wanted, api, FetchMode.GET)

    def _watcher_spec(self, wanted: ObjectId, api: ApiPorts) -> ChildSpec[Any]:
        memory = WatcherMemory(wanted)
        return isolated(watcher_key(wanted), lambda: self._make_watcher(wanted, api, memory))

    def _make_watcher(
        self, wanted: ObjectId, api: ApiPorts, memory: WatcherMemory
    ) -> ObjectWatcher:
        # Its address is looked up for each life: while there is none, nobody keeps its mailbox.
        me = self._address(watcher_key(wanted))
        manager, objects = self._manager_port(wanted.kind), self.levels[wanted.kind]
        ports = WatcherPorts(watches=api.watches, manager=manager, objects=objects, me=me)
        return ObjectWatcher(ports, self._rules, memory)

    def _fetcher_spec(self, wanted: ObjectId, api: ApiPorts, mode: FetchMode) -> ChildSpec[Any]:
        memory = FetcherMemory(phase=self._edges.chance.random())
        manager, objects = self._manager_port(wanted.kind), self.levels[wanted.kind]
        ports = FetcherPorts(calls=api.calls, manager=manager, objects=objects)
        return isolated(fetcher_key(wanted), lambda: ObjectFetcher(wanted, mode, ports, memory))

    def _manager_port(self, kind: ObjectKind) -> Port[ObjectManagerOwnMessage]:
        return self._address(MANAGERS[kind])

    def _make_local_objects(self) -> LocalObjects:
        settings = self._settings
        assert settings.local_objects_dir is not None  # noqa: S101  # else there is no such child
        rules = LocalObjectsRules(
            path=settings.local_objects_dir,
            check_frequency=settings.file_check_frequency,
            strict=settings.strict_manifests,
        )
        managers: dict[ObjectKind, Port[LocalHolderFact | ChangeMissed]] = {
            kind: self._manager_port(kind) for kind in MANAGERS
        }
        self.memory.local.report.people = self._address(EVENT_FEED)
        return LocalObjects(rules, managers, self.levels, self.memory.local, self._edges.keep_watch)
