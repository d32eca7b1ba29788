"""What people are answered by: the event recorder, the event feed, and the HTTP server."""

from __future__ import annotations

from actors.events.feed import EVENT_FEED, EventFeed, FeedMemory, FeedPorts
from actors.events.recorder import EVENT_RECORDER, EventRecorder, RecorderMemory
from actors.pod_manager import POD_MANAGER
from actors.pods.keeper import POD_KEEPER
from actors.pods.rollout_keeper import ROLLOUT_KEEPER
from actors.pods.status_keeper import STATUS_KEEPER
from actors.probes.orders import PROBE_KEEPER
from actors.volumes.keeper import VOLUME_KEEPER
from actors.volumes.token_keeper import TOKEN_KEEPER
from agent.composition import CONTAINERS, RUNTIME, Composition
from agent.console import AgentConsole
from agent.late import cluster, containers
from agent.objects import object_managers
from agent.pods import probe_runner
from agent.sources import shown_sources
from server.actor import HttpServer
from server.answers import ClusterPorts
from server.backend import EndpointBackend
from settings.agent import effective_configuration
from settings.version import Releases


def event_recorder(agent: Composition, memory: RecorderMemory) -> EventRecorder:
    """Return who remembers events for people, and passes them to their poster."""
    return EventRecorder(agent.port_if_any(cluster.EVENT_POSTER), memory)


def event_feed(agent: Composition, memory: FeedMemory) -> EventFeed:
    """Return who tells readers of ``/events`` what happens."""
    ports = FeedPorts(
        pod_manager=agent.port(POD_MANAGER),
        managers=object_managers(agent),
        me=agent.port(EVENT_FEED),
        sources=shown_sources(agent),
        statuses=agent.port_if_any(STATUS_KEEPER),
        recorder=agent.port(EVENT_RECORDER),
        probes=agent.port_if_any(PROBE_KEEPER),
    )
    return EventFeed(ports, memory)


def _cluster_ports(agent: Composition) -> ClusterPorts | None:
    if not agent.has(cluster.API_CALLS):
        return None
    return ClusterPorts(
        calls=agent.port(cluster.API_CALLS),
        watches=agent.port(cluster.WATCHES),
        mirrors=agent.port(cluster.MIRROR_KEEPER),
        events=agent.port(cluster.EVENT_POSTER),
    )


def http_server(agent: Composition, releases: Releases) -> HttpServer:
    """Return who answers on the ports and on the control socket."""
    settings = agent.settings
    backend = EndpointBackend(
        system=agent.system(),
        pod_manager=agent.port(POD_MANAGER),
        sources=shown_sources(agent),
        node_name=settings.node_name,
        configuration=effective_configuration(settings),
        chaos=settings.enable_chaos,
        releases=releases,
        cluster=_cluster_ports(agent),
        objects=object_managers(agent),
        feed=agent.port(EVENT_FEED),
        recorder=agent.port(EVENT_RECORDER),
        limits=agent.listeners.limits,
        statuses=agent.port_if_any(STATUS_KEEPER),
        lives=agent.port_if_any(POD_KEEPER),
        runtime=agent.port_if_any(RUNTIME),
        runtime_kind=agent.runtime.kind,
        containers=agent.port_if_any(containers.CRI_CONTAINERS),
        images=agent.port_if_any(containers.IMAGE_KEEPER),
        logs=agent.port_if_any(containers.LOG_KEEPER),
        probes=agent.port_if_any(PROBE_KEEPER),
        answers=probe_runner(agent),
        tokens=agent.port_if_any(TOKEN_KEEPER),
        volumes=agent.port_if_any(VOLUME_KEEPER),
        rollouts=agent.port_if_any(ROLLOUT_KEEPER),
        hosts=settings.hosts,
    )
    shared = agent.edges.process
    loop = shared.server_loop if shared is not None else None
    return HttpServer(backend, agent.listeners, _console(agent), loop)


def _console(agent: Composition) -> AgentConsole:
    told = agent.runtime.containers
    logs = told.pod_logs_dir if told is not None else None
    return AgentConsole(agent.system, agent.port_if_any(CONTAINERS), logs)
