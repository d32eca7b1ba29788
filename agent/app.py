"""The composition root: which actors there are, who knows whom, and in which order they start.

The only module that knows all the others. Start order is the order of the specs; stopping is its
exact reverse, by the kernel.
"""

from __future__ import annotations

import gc
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, NoReturn, TypeVar

import structlog

from actors.events.feed import EVENT_FEED, EventFeed, FeedMemory, FeedPorts
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from agent.listeners import listen
from agent.logs import configure_logs
from agent.object_tree import ApiPorts, ObjectEdges, ObjectTree
from agent.process import Process, leave
from agent.root_dir import root_dir
from agent.systemd import Systemd
from kernel import (
    ActorSystem,
    AnySpec,
    ChildSpec,
    Clock,
    Key,
    Port,
    Runtime,
    SupervisorSpec,
    isolated,
)
from manifests.pod_manifest import ManifestRules
from messages.pod_manager import DescribePod, PodDescribed
from messages.pods import API, FILE, HTTP, LOCAL_FILES, SourceName
from messages.sources import DescribeSource, Rescan, SourceMessage
from messages.units import Seconds
from server.backend import EndpointBackend
from server.http_server import HTTP_SERVER, HttpServer, Listeners
from settings.cluster_settings import ClusterSettings
from settings.settings import Settings, effective_configuration
from sources.apiserver.source import API_SOURCE
from sources.file.source import FILE_SOURCE, FileMemory, FileSource, FileSourceRules
from sources.http.source import HTTP_SOURCE, HttpMemory, HttpSource, HttpSourceRules

if TYPE_CHECKING:
    from agent.joined import ClusterEdges, Joined

M = TypeVar("M")

GC_THRESHOLDS = (50_000, 20, 100)
"""Pods are trees of thousands of dictionaries and none of them is ever in a cycle. With the
interpreter's own thresholds, half of the time of a large merge goes into looking for cycles."""

_log = structlog.get_logger("actorlet")


class Agent:
    """One agent: its tree, and what in it outlives a crash. Nothing runs before ``system.start``."""

    def __init__(
        self,
        settings: Settings,
        listeners: Listeners,
        *,
        clock: Clock | None = None,
        runtime: Runtime | None = None,
        edges: ClusterEdges | None = None,
    ) -> None:
        self._settings = settings
        self._listeners = listeners
        self._pod_memory = PodMemory()
        self._file_memory = FileMemory()
        self._http_memory = HttpMemory()
        self._feed_memory = FeedMemory()
        self._joined = self._join(settings.cluster, edges) if settings.cluster else None
        self._objects = ObjectTree(settings, self._address, ObjectEdges(api=self._api_ports))
        self.system = ActorSystem(self._root(), clock=clock, runtime=runtime)
        self._pod_manager = self.system.address(POD_MANAGER)
        self._sources = self._all_sources()
        if self._joined is not None:
            self.system.observe_failed_loops(self._joined.note_failed_loops)

    def rescan(self) -> None:
        """Have every source look again."""
        for source in self._shown_sources().values():
            source.tell(Rescan())

    def is_responsive(self, within: Seconds) -> bool:
        """Whether the thread of the supervisors and PodManager answer, each within so long."""
        try:
            self.system.ping(within)
            self.system.ask(self._pod_manager, _sign_of_life, within)
        except Exception:  # noqa: BLE001  # who asks is told whatever a handler raises
            return False
        return True

    def _join(self, cluster: ClusterSettings, edges: ClusterEdges | None) -> Joined:
        from agent.joined import Joined  # noqa: PLC0415  # see there what it costs

        return Joined(self._settings, cluster, self._address, edges)

    def _address(self, key: Key[M], /) -> Port[M]:
        return self.system.address(key)

    def _static_sources(self) -> dict[SourceName, Port[SourceMessage]]:
        file_source, http_source = self._address(FILE_SOURCE), self._address(HTTP_SOURCE)
        return {
            **({FILE: file_source} if self._settings.static_pod_path else {}),
            **({HTTP: http_source} if self._settings.static_pod_url else {}),
        }

    def _all_sources(self) -> dict[SourceName, Port[SourceMessage]]:
        api_source = self._address(API_SOURCE)
        return {**self._static_sources(), **({API: api_source} if self._joined else {})}

    def _shown_sources(self) -> dict[SourceName, Port[Rescan | DescribeSource]]:
        """Return who lists something: pods, or the objects that static pods reference."""
        local = self._objects.local_port()
        return {**self._sources, **({LOCAL_FILES: local} if local is not None else {})}

    def _api_ports(self) -> ApiPorts | None:
        return self._joined.object_ports() if self._joined else None

    def _root(self) -> SupervisorSpec:
        # One for one: who restarts asks the others for what it needs to know.
        joined = self._joined
        return SupervisorSpec(
            name="actorlet",
            children=(
                ChildSpec(key=POD_MANAGER, factory=self._make_pod_manager),
                *(joined.specs() if joined else ()),
                *self._objects.specs(),
                SupervisorSpec(name="sources", children=self._source_specs()),
                *((joined.mirror_keeper(self._static_sources),) if joined else ()),
                isolated(EVENT_FEED, self._make_event_feed),
                ChildSpec(key=HTTP_SERVER, factory=self._make_http_server),
            ),
        )

    def _source_specs(self) -> tuple[AnySpec, ...]:
        # Isolated: a source in trouble is no reason to stop what the others want to run.
        local = self._objects.local_source()
        specs: list[AnySpec] = [local] if local is not None else []
        if self._settings.static_pod_path:
            specs.append(isolated(FILE_SOURCE, self._make_file_source))
        if self._settings.static_pod_url:
            specs.append(isolated(HTTP_SOURCE, self._make_http_source))
        if self._joined:
            specs.append(self._joined.source())
        return tuple(specs)

    def _make_pod_manager(self) -> PodManager:
        return PodManager(self._sources, self._pod_memory)

    def _make_file_source(self) -> FileSource:
        settings = self._settings
        assert settings.static_pod_path is not None  # noqa: S101  # else there is no such child
        rules = FileSourceRules(
            path=settings.static_pod_path,
            check_frequency=settings.file_check_frequency,
            clear_on_missing=settings.clear_on_missing_path,
            manifests=self._manifest_rules(FILE),
        )
        return FileSource(rules, self._pod_manager, self._file_memory)

    def _make_http_source(self) -> HttpSource:
        from sources.http.fetch import HttpFetcher  # noqa: PLC0415  # 8 MB that few agents need

        settings = self._settings
        rules = HttpSourceRules(
            url=settings.static_pod_url,
            headers=settings.static_pod_url_header,
            check_frequency=settings.http_check_frequency,
            ca_file=settings.static_pod_url_ca_file,
            manifests=self._manifest_rules(HTTP),
        )
        return HttpSource(rules, self._pod_manager, self._http_memory, HttpFetcher)

    def _manifest_rules(self, source: SourceName) -> ManifestRules:
        settings = self._settings
        return ManifestRules(
            node_name=settings.node_name,
            source=source,
            strict=settings.strict_manifests,
            allow_references=settings.local_objects_dir is not None,
        )

    def _make_event_feed(self) -> EventFeed:
        feed = self._address(EVENT_FEED)
        managers = tuple(self._objects.ports().values())
        ports = FeedPorts(pod_manager=self._pod_manager, managers=managers, me=feed)
        return EventFeed(ports, self._feed_memory)

    def _make_http_server(self) -> HttpServer:
        backend = EndpointBackend(
            system=self.system,
            pod_manager=self._pod_manager,
            sources=self._shown_sources(),
            node_name=self._settings.node_name,
            configuration=effective_configuration(self._settings),
            chaos=self._settings.enable_chaos,
            cluster=self._joined.ports() if self._joined else None,
            objects=self._objects.ports(),
            feed=self._address(EVENT_FEED),
        )
        return HttpServer(backend, self._listeners)


def _sign_of_life(reply_to: Port[PodDescribed]) -> DescribePod:
    return DescribePod(reply_to=reply_to)


def run(settings: Settings) -> NoReturn:
    """Run the agent until it is told to stop, and end the process with the exit code.

    Raises StartError when the machine does not let it start.
    """
    log = configure_logs(settings.logging_format, settings.verbosity, sys.stderr)
    try:
        code = _run(settings)
    finally:
        log.close()
    leave(code)


def _run(settings: Settings) -> int:
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    with ExitStack() as held:
        # Before the ports: of two agents the second is told of the first, not of a port in use.
        held.enter_context(root_dir(settings.root_dir))
        listeners = Listeners(
            read_only=listen(settings.address, settings.read_only_port, "the read-only port"),
            healthz=listen(
                settings.healthz_bind_address, settings.healthz_port, "the healthz port"
            ),
        )
        for listener in (*listeners.read_only, *listeners.healthz):
            held.enter_context(listener)
        _log_start(settings)
        agent = Agent(settings, listeners)
        return Process(agent, Systemd(), settings.shutdown_deadline).run()


def _log_start(settings: Settings) -> None:
    for warning in settings.warnings:
        _log.warning("configuration", warning=warning)
    _log.info(
        "starting",
        node=settings.node_name,
        static_pod_path=str(settings.static_pod_path or ""),
        read_only_port=settings.read_only_port,
        healthz_port=settings.healthz_port,
    )
