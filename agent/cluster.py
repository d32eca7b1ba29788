"""The actors that an agent has in addition if it belongs to a cluster.

Only an agent that joins a cluster imports this: the HTTP client and these actors take 10 MB, which a
standalone agent saves.
"""

from __future__ import annotations

from actors.cluster.runtime_class_keeper import (
    RUNTIME_CLASS_KEEPER,
    RuntimeClassKeeper,
    RuntimeClassMemory,
    RuntimeClassPorts,
)
from actors.cluster.service_keeper import SERVICE_KEEPER, ServiceKeeper, ServiceMemory, ServicePorts
from actors.events.feed_parts import EVENT_FEED
from actors.events.poster import EVENT_POSTER, EventMemory, EventPoster  # noqa: F401  # for the table
from actors.events.recorder import EVENT_RECORDER
from actors.mirrors.keeper import MIRROR_KEEPER, MirrorKeeper, MirrorMemory, MirrorPorts
from actors.node.lease_keeper import LEASE_KEEPER, LeaseKeeper, LeasePorts
from actors.node.registrar import NODE_REGISTRAR, NodeMemory, NodePorts, NodeRegistrar
from actors.node.rules import NodeRules
from actors.pod_manager import POD_MANAGER
from agent.composition import Composition
from agent.edges import ClusterEdges
from agent.listeners import descriptor_limit
from agent.node_view import node_resources, own_label
from agent.sources import static_sources
from kernel import BaseActor
from kube.calls.actor import API_CALLS, ApiCalls, CallMemory, CallRules, CallsActorMessage
from kube.streams.actor import WATCHES, Watches, WatchesOwnMessage
from kube.streams.rules import ConnectionRoom
from kube.streams.shared import WatchMemory
from server.limits import connections_for_watches, descriptors_for_watches
from settings.cluster import ClusterSettings
from settings.version import version
from sources.apiserver import API_SOURCE, ApiMemory, ApiSource, ApiSourcePorts


def _told(agent: Composition) -> ClusterSettings:
    told = agent.settings.cluster
    assert told is not None  # noqa: S101  # else there is no such actor
    return told


def api_server(agent: Composition) -> ClusterEdges:
    """Return the API server that the settings name, unless there is another one in its place."""
    if agent.edges.cluster is not None:
        return agent.edges.cluster
    told, connections = _told(agent), agent.process.api
    credentials = connections.credentials(told.kubeconfig)
    sender = connections.sender(credentials)
    rules = CallRules(
        qps=told.qps,
        burst=told.burst,
        event_qps=told.event_qps,
        event_burst=told.event_burst,
    )
    streams = connections.streams
    room = ConnectionRoom(
        connections=connections_for_watches(descriptor_limit()),
        descriptors_for=descriptors_for_watches,
    )
    return ClusterEdges(
        calls=lambda memory: ApiCalls(sender, memory, rules),
        watches=lambda memory: Watches(credentials, memory, streams, room),
    )


def api_calls(agent: Composition, memory: CallMemory) -> BaseActor[CallsActorMessage]:
    """Return the actor that sends requests to the API server."""
    return agent.shared(api_server).calls(memory)


def watches(agent: Composition, memory: WatchMemory) -> BaseActor[WatchesOwnMessage]:
    """Return the actor that watches objects at the API server."""
    return agent.shared(api_server).watches(memory)


def node_registrar(agent: Composition, memory: NodeMemory) -> NodeRegistrar:
    """Return the actor that keeps the Node."""
    settings, told = agent.settings, _told(agent)
    rules = NodeRules(
        name=settings.node_name,
        version=version(),
        labels=settings.node_labels,
        own_label=own_label(settings),
        taints=settings.taints,
        register=told.register_node,
        resources=node_resources(settings),
        has_volumes_attached=told.controller_attach_detach,
        status_update_frequency=told.status_update_frequency,
        status_report_frequency=told.status_report_frequency,
        endpoint_port=settings.server.port,
    )
    ports = NodePorts(
        calls=agent.port(API_CALLS),
        watches=agent.port(WATCHES),
        me=agent.port(NODE_REGISTRAR),
    )
    return NodeRegistrar(rules, ports, agent.machine, memory)


def lease_keeper(agent: Composition) -> LeaseKeeper:
    """Return the actor that renews the Lease of the Node."""
    ports = LeasePorts(
        calls=agent.port(API_CALLS),
        registrar=agent.port(NODE_REGISTRAR),
        watches=agent.port(WATCHES),
        me=agent.port(LEASE_KEEPER),
    )
    return LeaseKeeper(
        agent.settings.node_name,
        _told(agent).lease_duration,
        ports,
        waits_for_node=own_label(agent.settings) is not None,
    )


def event_poster(agent: Composition, memory: EventMemory) -> EventPoster:
    """Return the actor that posts events."""
    return EventPoster(agent.port(API_CALLS), agent.settings.node_name, memory)


def service_keeper(agent: Composition, memory: ServiceMemory) -> ServiceKeeper:
    """Return the actor that knows the Services."""
    ports = ServicePorts(
        watches=agent.port(WATCHES),
        events=agent.port(EVENT_RECORDER),
        me=agent.port(SERVICE_KEEPER),
        services=agent.services,
    )
    return ServiceKeeper(agent.settings.node_name, ports, memory)


def runtime_class_keeper(agent: Composition, memory: RuntimeClassMemory) -> RuntimeClassKeeper:
    """Return the actor that knows the RuntimeClasses."""
    ports = RuntimeClassPorts(
        watches=agent.port(WATCHES),
        me=agent.port(RUNTIME_CLASS_KEEPER),
        classes=agent.runtime_classes,
    )
    return RuntimeClassKeeper(ports, memory)


def api_source(agent: Composition, memory: ApiMemory) -> ApiSource:
    """Return the source of the pods that the API server bound to this node."""
    ports = ApiSourcePorts(
        pod_manager=agent.port(POD_MANAGER),
        watches=agent.port(WATCHES),
        node=agent.port(NODE_REGISTRAR),
        me=agent.port(API_SOURCE),
        people=agent.port(EVENT_FEED),
    )
    return ApiSource(agent.settings.node_name, ports, memory)


def mirror_keeper(agent: Composition, memory: MirrorMemory) -> MirrorKeeper:
    """Return the actor that shows static pods in the cluster."""
    ports = MirrorPorts(
        calls=agent.port(API_CALLS),
        pod_manager=agent.port(POD_MANAGER),
        node=agent.port(NODE_REGISTRAR),
        events=agent.port(EVENT_RECORDER),
        sources=static_sources(agent),
        me=agent.port(MIRROR_KEEPER),
    )
    return MirrorKeeper(agent.settings.node_name, ports, memory)
