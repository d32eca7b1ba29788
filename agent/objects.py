"""The managers of Secrets and ConfigMaps, and the holders of objects."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

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
)
from actors.objects.watcher import watcher_rules as rules_of
from actors.pod_manager import POD_MANAGER
from agent.composition import Composition
from agent.late import cluster
from kernel import ChildSpec, Key, Port, isolated
from messages.holders import LocalHolderFact
from messages.objects import ChangeMissed, ObjectId, ObjectKind, ObjectManagerMessage
from settings.cluster import ChangeDetection

MANAGERS: Final[Mapping[ObjectKind, Key[ObjectManagerOwnMessage]]] = {
    ObjectKind.SECRET: SECRET_MANAGER,
    ObjectKind.CONFIG_MAP: CONFIG_MAP_MANAGER,
}


def object_managers(agent: Composition) -> dict[ObjectKind, Port[ObjectManagerMessage]]:
    """Return the addresses of the managers."""
    return {kind: agent.port(key) for kind, key in MANAGERS.items()}


def secret_manager(agent: Composition, memory: ObjectManagerMemory) -> ObjectManager:
    """Return the manager of Secrets."""
    return _manager(agent, ObjectKind.SECRET, memory)


def config_map_manager(agent: Composition, memory: ObjectManagerMemory) -> ObjectManager:
    """Return the manager of ConfigMaps."""
    return _manager(agent, ObjectKind.CONFIG_MAP, memory)


def _manager(agent: Composition, kind: ObjectKind, memory: ObjectManagerMemory) -> ObjectManager:
    detection, is_joined = _detection(agent), agent.settings.cluster is not None
    node = agent.port_if_any(cluster.NODE_REGISTRAR)
    ports = ObjectManagerPorts(
        pod_manager=agent.port(POD_MANAGER),
        holders=agent.port(OBJECT_HOLDERS),
        local=agent.port_if_any(LOCAL_OBJECTS),
        node=node if detection is ChangeDetection.CACHE else None,
        events=agent.port(EVENT_RECORDER) if is_joined else None,
        recorder=agent.port(EVENT_RECORDER),
        volumes_are_made=agent.runtime.makes_volumes,
        objects=agent.objects[kind],
        me=agent.port(MANAGERS[kind]),
    )
    holders = HolderFactory(
        make_spec=partial(holder_spec, agent),
        address=agent.address,
        tells_changes=detection is not ChangeDetection.GET,
    )
    return ObjectManager(kind, ports, holders if is_joined else None, memory, agent.chance)


def _detection(agent: Composition) -> ChangeDetection:
    told = agent.settings.cluster
    return told.change_detection if told is not None else ChangeDetection.WATCH


def holder_spec(agent: Composition, wanted: ObjectId) -> ChildSpec[Any]:
    """Return the spec of a holder of ``wanted`` that knows nothing, of the configured strategy."""
    detection = _detection(agent)
    if detection is ChangeDetection.WATCH:
        watching = WatcherMemory(wanted)
        return isolated(watcher_key(wanted), partial(_watcher, agent, wanted, watching))
    mode = FetchMode.CACHE if detection is ChangeDetection.CACHE else FetchMode.GET
    fetching = FetcherMemory(phase=agent.chance.random())
    return isolated(fetcher_key(wanted), partial(_fetcher, agent, wanted, mode, fetching))


def watcher_rules(agent: Composition) -> WatcherRules:
    """Return how long watchers wait, and for what."""
    return rules_of(agent.settings.sync_frequency)


def _watcher(agent: Composition, wanted: ObjectId, memory: WatcherMemory) -> ObjectWatcher:
    ports = WatcherPorts(
        watches=agent.port(cluster.WATCHES),
        manager=agent.port(MANAGERS[wanted.kind]),
        objects=agent.objects[wanted.kind],
        # Looked up for each life: while there is none, nobody keeps its mailbox.
        me=agent.port(watcher_key(wanted)),
    )
    return ObjectWatcher(ports, agent.shared(watcher_rules), memory)


def _fetcher(
    agent: Composition, wanted: ObjectId, mode: FetchMode, memory: FetcherMemory
) -> ObjectFetcher:
    ports = FetcherPorts(
        calls=agent.port(cluster.API_CALLS),
        manager=agent.port(MANAGERS[wanted.kind]),
        objects=agent.objects[wanted.kind],
    )
    return ObjectFetcher(wanted, mode, ports, memory)


def local_objects(agent: Composition, memory: LocalMemory) -> LocalObjects:
    """Return the holder of all objects in local files."""
    settings = agent.settings
    assert settings.local_objects_dir is not None  # noqa: S101  # else there is no such actor
    rules = LocalObjectsRules(
        path=settings.local_objects_dir,
        check_frequency=settings.file_check_frequency,
        strict=settings.strict_manifests,
    )
    managers: dict[ObjectKind, Port[LocalHolderFact | ChangeMissed]] = {
        kind: agent.port(key) for kind, key in MANAGERS.items()
    }
    memory.report.people = agent.port(EVENT_FEED)
    return LocalObjects(rules, managers, agent.objects, memory, agent.edges.keep_watch)
