"""What people are answered by: the event recorder, the event feed, and the HTTP server."""

from __future__ import annotations

from actors.events.feed import EVENT_FEED, EventFeed, FeedMemory, FeedPorts
from actors.events.recorder import EVENT_RECORDER, EventRecorder, RecorderMemory
from actors.pod_manager import POD_MANAGER
from actors.pods.status_keeper import STATUS_KEEPER
from actors.probes.orders import PROBE_KEEPER
from agent.composition import CONTAINERS, Composition
from agent.console import AgentConsole
from agent.late import cluster
from agent.objects import object_managers
from agent.sources import shown_sources
from server.actor import HttpServer
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


def http_server(agent: Composition, releases: Releases) -> HttpServer:
    """Return who answers on the ports and on the control socket."""
    settings = agent.settings
    backend = EndpointBackend(
        system=agent.system(),
        answering=agent.answering(),
        sources=shown_sources(agent),
        objects=object_managers(agent),
        node_name=settings.node_name,
        configuration=effective_configuration(settings),
        chaos=settings.enable_chaos,
        releases=releases,
        runtime_kind=agent.runtime.kind,
        limits=agent.listeners.limits,
        hosts=settings.hosts,
    )
    shared = agent.edges.process
    loop = shared.server_loop if shared is not None else None
    return HttpServer(backend, agent.listeners, _console(agent), loop)


def _console(agent: Composition) -> AgentConsole:
    told = agent.runtime.containers
    logs = told.pod_logs_dir if told is not None else None
    return AgentConsole(agent.system, agent.port_if_any(CONTAINERS), logs)
