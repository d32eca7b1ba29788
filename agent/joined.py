"""Composes the actors that an agent has in addition if it belongs to a cluster. A part of ``tree``.

Only an agent that joins a cluster imports it: the HTTP client and these actors take 10 MB, which a standalone
agent saves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from actors.events.feed_parts import EVENT_FEED, FeedMessage
from actors.events.poster import EVENT_POSTER, EventMemory, EventPoster
from actors.events.recorder import EVENT_RECORDER
from actors.mirrors.keeper import (
    MIRROR_KEEPER,
    MirrorKeeper,
    MirrorKeeperMessage,
    MirrorMemory,
    MirrorPorts,
)
from actors.node.lease_keeper import LEASE_KEEPER, LeaseKeeper, LeaseKeeperMessage, LeasePorts
from actors.node.machine import LinuxMachine, Machine
from actors.node.registrar import (
    NODE_REGISTRAR,
    NodeMemory,
    NodePorts,
    NodeRegistrar,
    NodeRegistrarMessage,
)
from actors.node.rules import NodeRules
from actors.pod_manager import POD_MANAGER
from agent.descriptors import descriptor_limit
from agent.edges import ClusterEdges
from agent.node_view import node_resources, own_label
from agent.object_tree import ApiPorts
from agent.pod_edges import PodApiPorts
from kernel import Address, AnySpec, Port, SupervisorSpec, isolated
from kube.api_connections import ApiConnections
from kube.calls.actor import API_CALLS, ApiCalls, CallMemory, CallRules, CallsActorMessage
from kube.streams.actor import WATCHES, Watches, WatchesOwnMessage
from kube.streams.memory import WatchMemory
from kube.streams.room import ConnectionRoom
from messages.events import EventRecorderMessage, EventsMessage, PostEvent
from messages.node import LoopsAre
from messages.pod_manager import PodManagerMessage
from messages.pods import SourceName
from messages.sources import SourceMessage
from server.answers import ClusterPorts
from server.limits import connections_for_watches, descriptors_for_watches
from settings.agent import Settings
from settings.cluster import ClusterSettings
from settings.version import version
from sources.apiserver.source import (
    API_SOURCE,
    ApiMemory,
    ApiSource,
    ApiSourceMessage,
    ApiSourcePorts,
)


@dataclass(slots=True)
class ClusterMemory:
    """What outlives crashes of the actors that deal with the API server."""

    calls: CallMemory = field(default_factory=CallMemory)
    watches: WatchMemory = field(default_factory=WatchMemory)
    node: NodeMemory = field(default_factory=NodeMemory)
    pods: ApiMemory = field(default_factory=ApiMemory)
    mirrors: MirrorMemory = field(default_factory=MirrorMemory)
    events: EventMemory = field(default_factory=EventMemory)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ports:
    """The addresses of all actors that know each other."""

    pod_manager: Port[PodManagerMessage]
    calls: Port[CallsActorMessage]
    watches: Port[WatchesOwnMessage]
    registrar: Port[NodeRegistrarMessage]
    lease_keeper: Port[LeaseKeeperMessage]
    poster: Port[EventsMessage]
    events: Port[EventRecorderMessage]
    """Who has events posted."""
    people: Port[FeedMessage]
    api_source: Port[ApiSourceMessage]
    mirror_keeper: Port[MirrorKeeperMessage]

    @classmethod
    def found_by(cls, address: Address) -> _Ports:
        return cls(
            pod_manager=address(POD_MANAGER),
            calls=address(API_CALLS),
            watches=address(WATCHES),
            registrar=address(NODE_REGISTRAR),
            lease_keeper=address(LEASE_KEEPER),
            poster=address(EVENT_POSTER),
            events=address(EVENT_RECORDER),
            people=address(EVENT_FEED),
            api_source=address(API_SOURCE),
            mirror_keeper=address(MIRROR_KEEPER),
        )


class Joined:
    """The actors of a cluster member, and which of them know each other.

    Each of them is isolated: if they fail, static pods still start, change and go.
    """

    def __init__(
        self,
        settings: Settings,
        cluster: ClusterSettings,
        address: Address,
        edges: ClusterEdges,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._address = address
        self._edges = edges
        self._memory = ClusterMemory()

    @cached_property
    def _ports(self) -> _Ports:
        # Not in the constructor: the system that has the addresses is made from the specs.
        return _Ports.found_by(self._address)

    def specs(self) -> tuple[SupervisorSpec, ...]:
        """Return the specs of the actors that start before the sources, and need none of them."""
        api_server = SupervisorSpec(
            name="api-server",
            children=(
                isolated(API_CALLS, lambda: self._edges.calls(self._memory.calls)),
                isolated(WATCHES, lambda: self._edges.watches(self._memory.watches)),
            ),
        )
        node = SupervisorSpec(
            name="node",
            children=(
                isolated(NODE_REGISTRAR, self._make_registrar),
                isolated(LEASE_KEEPER, self._make_lease_keeper),
                isolated(EVENT_POSTER, self._make_event_poster),
            ),
        )
        return (api_server, node)

    def source(self) -> AnySpec:
        """Return the spec of the source of the pods that the API server bound to this node."""
        return isolated(API_SOURCE, self._make_api_source)

    def mirror_keeper(
        self, static_sources: Callable[[], Mapping[SourceName, Port[SourceMessage]]]
    ) -> AnySpec:
        """Return the spec of the actor that shows the pods of ``static_sources`` in the cluster."""
        return isolated(MIRROR_KEEPER, lambda: self._make_mirror_keeper(static_sources()))

    def ports(self) -> ClusterPorts:
        """Return the ports that the HTTP endpoints ask."""
        to = self._ports
        return ClusterPorts(
            calls=to.calls, watches=to.watches, mirrors=to.mirror_keeper, events=to.poster
        )

    @property
    def poster(self) -> Port[PostEvent]:
        """Who posts events at the API server."""
        return self._ports.poster

    def object_ports(self) -> ApiPorts:
        """Return the ports that the managers and holders of Secrets and ConfigMaps talk to."""
        to = self._ports
        return ApiPorts(calls=to.calls, watches=to.watches, node=to.registrar, events=to.events)

    def pod_ports(self) -> PodApiPorts:
        """Return the ports that the keepers of pods and of statuses talk to."""
        to = self._ports
        return PodApiPorts(calls=to.calls, watches=to.watches, node=to.registrar, events=to.events)

    @property
    def machine(self) -> Machine:
        """The machine that the Node shows."""
        return self._edges.machine

    def show(self, machine: Machine) -> None:
        """Have the Node show another machine than that which the agent runs on."""
        self._edges = replace(self._edges, machine=machine)

    def note_failed_loops(self, names: frozenset[str]) -> None:
        """Tell the Node's registrar which loops of the agent fail."""
        self._ports.registrar.tell(LoopsAre(failed=tuple(sorted(names))))

    def _make_registrar(self) -> NodeRegistrar:
        settings, cluster = self._settings, self._cluster
        rules = NodeRules(
            name=settings.node_name,
            version=version(),
            labels=settings.node_labels,
            own_label=own_label(settings),
            taints=settings.taints,
            register=cluster.register_node,
            resources=node_resources(settings),
            has_volumes_attached=cluster.controller_attach_detach,
            status_update_frequency=cluster.status_update_frequency,
            status_report_frequency=cluster.status_report_frequency,
        )
        to = self._ports
        ports = NodePorts(
            calls=to.calls,
            watches=to.watches,
            me=to.registrar,
        )
        return NodeRegistrar(rules, ports, self._edges.machine, self._memory.node)

    def _make_lease_keeper(self) -> LeaseKeeper:
        to = self._ports
        ports = LeasePorts(
            calls=to.calls,
            registrar=to.registrar,
            watches=to.watches,
            me=to.lease_keeper,
        )
        return LeaseKeeper(
            self._settings.node_name,
            self._cluster.lease_duration,
            ports,
            waits_for_node=own_label(self._settings) is not None,
        )

    def _make_event_poster(self) -> EventPoster:
        return EventPoster(self._ports.calls, self._settings.node_name, self._memory.events)

    def _make_api_source(self) -> ApiSource:
        to = self._ports
        ports = ApiSourcePorts(
            pod_manager=to.pod_manager,
            watches=to.watches,
            node=to.registrar,
            me=to.api_source,
            people=to.people,
        )
        return ApiSource(self._settings.node_name, ports, self._memory.pods)

    def _make_mirror_keeper(
        self, static_sources: Mapping[SourceName, Port[SourceMessage]]
    ) -> MirrorKeeper:
        to = self._ports
        ports = MirrorPorts(
            calls=to.calls,
            pod_manager=to.pod_manager,
            node=to.registrar,
            events=to.events,
            sources=static_sources,
            me=to.mirror_keeper,
        )
        return MirrorKeeper(self._settings.node_name, ports, self._memory.mirrors)


def cluster_edges(
    settings: Settings, cluster: ClusterSettings, connections: ApiConnections
) -> ClusterEdges:
    """Return the API server and the machine that the settings name."""
    credentials = connections.credentials(cluster.kubeconfig)
    sender = connections.sender(credentials)
    rules = CallRules(
        qps=cluster.qps,
        burst=cluster.burst,
        event_qps=cluster.event_qps,
        event_burst=cluster.event_burst,
    )
    streams, room = connections.streams, _room_for_watches()
    return ClusterEdges(
        calls=lambda memory: ApiCalls(sender, memory, rules),
        watches=lambda memory: Watches(credentials, memory, streams, room),
        machine=LinuxMachine(root_dir=settings.root_dir, node_ips=cluster.node_ips),
    )


def _room_for_watches() -> ConnectionRoom:
    return ConnectionRoom(
        connections=connections_for_watches(descriptor_limit()),
        descriptors_for=descriptors_for_watches,
    )
