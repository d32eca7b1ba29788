"""The composition root: which actors there are, who knows whom, and in which order they start.

The only module that knows all the others. Start order is the order of the specs; the kernel stops in
exactly the reverse order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from actors.events.feed import EventFeed
from actors.events.feed_parts import EVENT_FEED, FeedMemory, FeedPorts
from actors.events.recorder import EVENT_RECORDER, EventRecorder, RecorderMemory
from actors.node.machine import LinuxMachine, Machine
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from agent.console import AgentConsole
from agent.edges import Edges, UrlEdges
from agent.last_calls import LastCalls
from agent.manifest_rules import manifest_rules
from agent.object_tree import ApiPorts, ObjectEdges, ObjectTree
from agent.pod_edges import PodApiPorts, PodEdges
from agent.pod_tree import PodTree
from agent.process_edges import ProcessEdges
from files.kept_contents import KeptContents
from kernel import (
    ActorStanding,
    ActorSystem,
    AnySpec,
    ChildSpec,
    Key,
    Port,
    SupervisorSpec,
    isolated,
)
from messages.event_feed import ActorIs
from messages.pod_manager import PodManagerMessage
from messages.pods import API, FILE, HTTP, LOCAL_FILES, SourceName
from messages.sources import DescribeSource, Rescan, SourceMessage
from server.actor import HTTP_SERVER, HttpServer, Listeners
from server.backend import EndpointBackend
from settings.agent import Settings, effective_configuration
from settings.cluster import ClusterSettings
from settings.runtime import RuntimeSettings
from settings.version import Releases
from sources.apiserver.source import API_SOURCE
from sources.file.source import FILE_SOURCE, FileMemory, FileSource, FileSourceRules
from sources.http.asking import one_thread
from sources.http.source import HTTP_SOURCE, HttpMemory, HttpSource, HttpSourceRules
from sources.kept_uids import StaticUids

if TYPE_CHECKING:
    from agent.joined import Joined

M = TypeVar("M")

LAST_GOOD_MANIFESTS: Final = "last-good-manifests"
"""The directory below ``--root-dir`` with the last good content of each manifest."""


class AgentTree:
    """The actors of one agent, and the memories that outlive their crashes.

    ``system`` gives the system that the tree runs in, once there is one: it is made from ``root``.
    """

    def __init__(
        self,
        settings: Settings,
        listeners: Listeners,
        system: Callable[[], ActorSystem],
        edges: Edges | None = None,
    ) -> None:
        self._settings = settings
        self._listeners = listeners
        self._system = system
        self._edges = edges or Edges()
        self._process = self._edges.process or ProcessEdges()
        self._pod_memory = PodMemory()
        self._file_memory = _file_memory(settings)
        self._http_memory = HttpMemory()
        self._uids = _static_uids(settings)
        self._feed_memory = FeedMemory()
        self._recorder_memory = RecorderMemory()
        self._releases = Releases()
        self.joined = self._join(settings.cluster) if settings.cluster else None
        self._objects = ObjectTree(
            settings,
            self._address,
            ObjectEdges(api=self._api_ports, keep_watch=self._edges.keep_watch),
        )
        self.last_calls = LastCalls()
        self._pods = self._pod_tree(settings.runtime) if settings.runtime else None
        if self.joined is not None and self._pods is not None:
            self.joined.show(self._pods.machine)

    def root(self) -> SupervisorSpec:
        """Return the whole tree."""
        # One for one: an actor that restarts asks the others for what it needs to know.
        joined = self.joined
        return SupervisorSpec(
            name="actorlet",
            children=(
                ChildSpec(key=POD_MANAGER, factory=self._make_pod_manager),
                isolated(EVENT_RECORDER, self._make_event_recorder),
                *(joined.specs() if joined else ()),
                *self._objects.specs(),
                *(self._pods.specs() if self._pods else ()),
                SupervisorSpec(name="sources", children=self._source_specs()),
                *((joined.mirror_keeper(self._static_sources),) if joined else ()),
                isolated(EVENT_FEED, self._make_event_feed),
                ChildSpec(key=HTTP_SERVER, factory=self._make_http_server),
            ),
        )

    @property
    def pod_manager(self) -> Port[PodManagerMessage]:
        """The address of PodManager."""
        return self._address(POD_MANAGER)

    def shown_sources(self) -> dict[SourceName, Port[Rescan | DescribeSource]]:
        """Return everything that lists: the sources of pods, and the source of local objects."""
        local = self._objects.local_port()
        return {**self._all_sources(), **({LOCAL_FILES: local} if local is not None else {})}

    def note_standing(self, standing: ActorStanding) -> None:
        """Have people told that an actor failed, or runs again. On the thread of the supervisors."""
        told = ActorIs(
            name=standing.name,
            state=standing.state,
            restarts=standing.restarts,
            error=standing.error,
        )
        self._address(EVENT_FEED).tell(told)

    def _join(self, cluster: ClusterSettings) -> Joined:
        from agent.joined import Joined, cluster_edges  # noqa: PLC0415  # see there what it costs

        edges = self._edges.cluster or cluster_edges(self._settings, cluster, self._process.api)
        return Joined(self._settings, cluster, self._address, edges)

    def _pod_tree(self, runtime: RuntimeSettings) -> PodTree:
        edges = PodEdges(
            api=self._pod_api_ports,
            managers=self._objects.ports,
            objects=self._objects.levels,
            machine=self._machine(),
            last_calls=self.last_calls,
            outside=self._edges,
            process=self._process,
        )
        sources = frozenset(self._source_names())
        return PodTree(self._settings, runtime, sources, self._address, edges)

    def _machine(self) -> Machine:
        if self.joined is not None:
            return self.joined.machine
        return self._edges.machine or LinuxMachine(root_dir=self._settings.root_dir)

    def _address(self, key: Key[M], /) -> Port[M]:
        return self._system().address(key)

    def _source_names(self) -> Iterator[SourceName]:
        if self._settings.static_pod_path:
            yield FILE
        if self._settings.static_pod_url:
            yield HTTP
        if self.joined:
            yield API

    def _static_sources(self) -> dict[SourceName, Port[SourceMessage]]:
        file_source, http_source = self._address(FILE_SOURCE), self._address(HTTP_SOURCE)
        return {
            **({FILE: file_source} if self._settings.static_pod_path else {}),
            **({HTTP: http_source} if self._settings.static_pod_url else {}),
        }

    def _all_sources(self) -> dict[SourceName, Port[SourceMessage]]:
        api_source = self._address(API_SOURCE)
        return {**self._static_sources(), **({API: api_source} if self.joined else {})}

    def _pod_api_ports(self) -> PodApiPorts | None:
        return self.joined.pod_ports() if self.joined else None

    def _api_ports(self) -> ApiPorts | None:
        return self.joined.object_ports() if self.joined else None

    def _source_specs(self) -> tuple[AnySpec, ...]:
        # Isolated: a source in trouble must not stop the pods of the others.
        local = self._objects.local_source()
        specs: list[AnySpec] = [local] if local is not None else []
        if self._settings.static_pod_path:
            specs.append(isolated(FILE_SOURCE, self._make_file_source))
        if self._settings.static_pod_url:
            specs.append(isolated(HTTP_SOURCE, self._make_http_source))
        if self.joined:
            specs.append(self.joined.source())
        return tuple(specs)

    def _make_pod_manager(self) -> PodManager:
        return PodManager(self._all_sources(), self._pod_memory)

    def _make_file_source(self) -> FileSource:
        settings = self._settings
        assert settings.static_pod_path is not None  # noqa: S101  # else there is no such child
        rules = FileSourceRules(
            path=settings.static_pod_path,
            check_frequency=settings.file_check_frequency,
            clear_on_missing=settings.clear_on_missing_path,
            manifests=manifest_rules(settings, FILE, self._uids.get(FILE)),
            uids=self._uids.get(FILE),
        )
        self._file_memory.report.people = self._address(EVENT_FEED)
        runtime = self._pods.ports().runtime if self._pods is not None else None
        return FileSource(
            rules,
            self.pod_manager,
            self._file_memory,
            self._edges.keep_watch,
            runtime,
        )

    def _make_http_source(self) -> HttpSource:
        settings = self._settings
        rules = HttpSourceRules(
            url=settings.static_pod_url,
            headers=settings.static_pod_url_header,
            check_frequency=settings.http_check_frequency,
            ca_file=settings.static_pod_url_ca_file,
            manifests=manifest_rules(settings, HTTP, self._uids.get(HTTP)),
            uids=self._uids.get(HTTP),
        )
        self._http_memory.report.people = self._address(EVENT_FEED)
        runtime = self._pods.ports().runtime if self._pods is not None else None
        url = self._edges.url or _real_url()
        return HttpSource(
            rules,
            self.pod_manager,
            self._http_memory,
            url.fetcher,
            url.executor,
            runtime,
        )

    def _make_event_feed(self) -> EventFeed:
        feed, recorder = self._address(EVENT_FEED), self._address(EVENT_RECORDER)
        pods = self._pods.ports() if self._pods else None
        ports = FeedPorts(
            pod_manager=self.pod_manager,
            managers=self._objects.ports(),
            me=feed,
            sources=self.shown_sources(),
            statuses=pods.statuses if pods else None,
            recorder=recorder,
            probes=pods.probes if pods else None,
        )
        return EventFeed(ports, self._feed_memory)

    def _make_event_recorder(self) -> EventRecorder:
        return EventRecorder(self.joined.poster if self.joined else None, self._recorder_memory)

    def _make_http_server(self) -> HttpServer:
        feed, recorder = self._address(EVENT_FEED), self._address(EVENT_RECORDER)
        pods = self._pods.ports() if self._pods else None
        backend = EndpointBackend(
            system=self._system(),
            pod_manager=self.pod_manager,
            sources=self.shown_sources(),
            node_name=self._settings.node_name,
            configuration=effective_configuration(self._settings),
            chaos=self._settings.enable_chaos,
            releases=self._releases,
            cluster=self.joined.ports() if self.joined else None,
            objects=self._objects.ports(),
            feed=feed,
            recorder=recorder,
            limits=self._listeners.limits,
            statuses=pods.statuses if pods else None,
            lives=pods.lives if pods else None,
            runtime=pods.runtime if pods else None,
            runtime_kind=self._settings.runtime.kind if self._settings.runtime else "",
            containers=pods.containers if pods else None,
            images=pods.images if pods else None,
            logs=pods.logs if pods else None,
            probes=pods.probes if pods else None,
            answers=pods.answers if pods else None,
            tokens=pods.tokens if pods else None,
            volumes=pods.volumes if pods else None,
            rollouts=pods.rollouts if pods else None,
            hosts=self._settings.hosts,
        )
        shared = self._edges.process
        loop = shared.server_loop if shared is not None else None
        return HttpServer(backend, self._listeners, self._console(), loop)

    def _console(self) -> AgentConsole:
        runtime = self._settings.runtime
        containers = runtime.containers if runtime is not None else None
        return AgentConsole(
            self._system,
            self._pods.ports().asked if self._pods else None,
            containers.pod_logs_dir if containers is not None else None,
        )


def _real_url() -> UrlEdges:
    from sources.http.fetch import HttpFetcher  # noqa: PLC0415  # 8 MB that few agents need

    return UrlEdges(fetcher=HttpFetcher, executor=one_thread)


def _static_uids(settings: Settings) -> dict[SourceName, StaticUids]:
    """Return what static pods keep of a kubelet, where pods run that a kubelet may have started."""
    runtime = settings.runtime
    if runtime is None or runtime.containers is None:
        return {}
    adopts = runtime.containers.adopts_static_pods
    return {each: StaticUids(settings.root_dir, each, adopts=adopts) for each in (FILE, HTTP)}


def _file_memory(settings: Settings) -> FileMemory:
    path = settings.static_pod_path
    kept = settings.root_dir / LAST_GOOD_MANIFESTS
    return FileMemory(kept=KeptContents(kept, path) if path else None)
