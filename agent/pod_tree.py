"""Composes the actors that run pods: the runtime, workers, and who keeps them. A part of ``tree``."""

from __future__ import annotations

from actors.cluster.runtime_class_keeper import (
    RUNTIME_CLASS_KEEPER,
    RuntimeClassKeeper,
    RuntimeClassMemory,
    RuntimeClassPorts,
)
from actors.cluster.service_keeper import SERVICE_KEEPER, ServiceKeeper, ServiceMemory, ServicePorts
from actors.events.feed_parts import EVENT_FEED
from actors.events.recorder import EVENT_RECORDER
from actors.node.machine import DescribedMachine
from actors.pod_manager import POD_MANAGER
from actors.pods.keeper import PodKeeper
from actors.pods.keeper_parts import POD_KEEPER, PODS, PodKeeperPorts, keeper_memory
from actors.pods.records import POD_RECORD, POD_RECORDS, KeptPod, PodRecordsMessage
from actors.pods.rollout_keeper import ROLLOUT_KEEPER, RolloutKeeper, RolloutMemory
from actors.pods.status_keeper import STATUS_KEEPER, StatusKeeper, StatusPorts
from actors.pods.status_records import StatusMemory
from actors.pods.worker.parts import WorkerPorts
from actors.probes.keeper import ProbeKeeper, ProbeKeeperMemory, ProbeKeeperPorts
from actors.probes.orders import PROBE_KEEPER, PROBERS
from agent.current_addresses import CurrentAddresses
from agent.edges import ProviderEdges
from agent.hollow_runtime import HollowRuntime
from agent.node_view import configured_node
from agent.pod_edges import ComposedRuntime, PodEdges, PodPorts
from agent.provider_runtime import ProviderRuntime
from agent.runtime_record import POD_RECORDS_DIRECTORY
from agent.volume_tree import VolumeEdges, VolumeTree
from files.record_keeper import RecordKeeper, RecordMemory
from files.records import RecordDirectory
from kernel import Address, AnySpec, DynamicSpec, Level, Port, SupervisorSpec, isolated
from messages.api import CallApi
from messages.events import PostEvent
from messages.node import RuntimeHasNews
from messages.pods import PodUid, SourceName
from messages.runtime_classes import RuntimeClasses, RuntimeHandlers
from messages.services import ClusterServices, ServicesIn
from runtimes.hollow.core import HollowCore
from runtimes.provider.loading import load_provider
from settings.agent import Settings
from settings.runtime import RuntimeSettings
from settings.situation import RuntimeKind


class PodTree:
    """The runtime of pods, the workers, who keeps them and their statuses, and what outlives a crash.

    The machine is read once, when this is made: what is on it does not change while pods run on it. Its
    addresses may.
    """

    def __init__(
        self,
        settings: Settings,
        runtime: RuntimeSettings,
        sources: frozenset[SourceName],
        address: Address,
        edges: PodEdges,
    ) -> None:
        self._node_name = settings.node_name
        self._address = address
        self._edges = edges
        self._is_provider = runtime.kind is RuntimeKind.PROVIDER
        self._logs_steps = runtime.kind is not RuntimeKind.HOLLOW
        self._runtime_classes: Level[RuntimeClasses, RuntimeHandlers] = Level()
        self._runtime = self._composed(settings, runtime, sources)
        self.machine = DescribedMachine(machine=edges.machine, told=self._runtime.node)
        """The machine, as the runtime describes it."""
        facts = self.machine.read()
        self._host_ips = CurrentAddresses(self.machine.addresses)
        self._keeper_memory = keeper_memory(configured_node(settings, facts), sources)
        self._keeper_memory.pods_at_once = edges.outside.bounds.pods
        self._keeper_memory.workers_at_once = edges.outside.bounds.workers
        self._status_memory = StatusMemory()
        self._service_memory = ServiceMemory()
        self._services: Level[ServicesIn, ClusterServices | None] = Level()
        self._runtime_class_memory = RuntimeClassMemory()
        self._follows_services = settings.cluster is not None and self._runtime.uses_services()
        self._volumes = self._volume_tree(settings, runtime)
        self._rollout_memory = RolloutMemory()
        self._probe_memory = ProbeKeeperMemory()
        directory = settings.root_dir / POD_RECORDS_DIRECTORY
        self._record_memory = RecordMemory(RecordDirectory(directory, POD_RECORD))
        # A record of each would take longer than all else that is done for a hollow pod.
        is_hollow = runtime.kind is RuntimeKind.HOLLOW
        self._keeps_records = not is_hollow or runtime.hollow.keeps_records

    def specs(self) -> tuple[AnySpec, ...]:
        """Return the specs. They start before the sources, and stop after them."""
        # Each is isolated: while one of them is in trouble, what runs goes on.
        return (
            SupervisorSpec(name="runtimes", children=self._runtime.specs()),
            *(self._keepers_of_cluster() if self._follows_services else ()),
            isolated(STATUS_KEEPER, self._make_status_keeper),
            *(self._volumes.specs() if self._volumes is not None else ()),
            *((isolated(POD_RECORDS, self._make_records),) if self._keeps_records else ()),
            isolated(PROBE_KEEPER, self._make_probe_keeper),
            DynamicSpec(key=PROBERS),
            isolated(ROLLOUT_KEEPER, self._make_rollouts),
            DynamicSpec(key=PODS),
            isolated(POD_KEEPER, self._make_keeper),
        )

    def ports(self) -> PodPorts:
        """Return the addresses that the endpoints ask."""
        lives, statuses = self._address(POD_KEEPER), self._address(STATUS_KEEPER)
        probes, rollouts = self._address(PROBE_KEEPER), self._address(ROLLOUT_KEEPER)
        return PodPorts(
            lives=lives,
            statuses=statuses,
            runtime=self._runtime.port(),
            containers=self._runtime.containers(),
            images=self._runtime.images(),
            logs=self._runtime.logs(),
            asked=self._runtime.asked(),
            volumes=self._volumes.state() if self._volumes is not None else None,
            tokens=self._volumes.tokens() if self._volumes is not None else None,
            probes=probes,
            answers=self._runtime.probes(),
            rollouts=rollouts,
        )

    def _composed(
        self, settings: Settings, runtime: RuntimeSettings, sources: frozenset[SourceName]
    ) -> ComposedRuntime:
        outside = self._edges.outside
        if runtime.kind is RuntimeKind.PROVIDER:
            process = self._edges.process
            loop = outside.probe_loop or process.probe_loops
            provider = outside.provider or ProviderEdges(
                load=load_provider, calls=lambda: process.provider_calls
            )
            return ProviderRuntime(runtime.provider, self._address, self._events, loop, provider)
        if runtime.containers is not None:
            from agent.cri_runtime import CriComposition, CriEdges  # noqa: PLC0415  # see there what it costs

            machine, is_joined = self._edges.machine, settings.cluster is not None
            return CriComposition(
                settings,
                runtime.containers,
                self._address,
                CriEdges(
                    events=self._events,
                    node=self._reporter,
                    runtime_classes=self._runtime_classes if is_joined else None,
                    addresses=CurrentAddresses(machine.addresses),
                    sandbox_begins=self._edges.last_calls.begin,
                    outside=outside,
                    process=self._edges.process,
                ),
                machine.read(),
                sources,
            )
        make_core = outside.hollow or HollowCore
        return HollowRuntime(settings, runtime.hollow, self._address, self._events, make_core)

    def _volume_tree(self, settings: Settings, runtime: RuntimeSettings) -> VolumeTree | None:
        """Return who makes volumes; None where that is the runtime's own business, or nobody's."""
        if not runtime.makes_volumes:
            return None
        edges = VolumeEdges(
            managers=self._edges.managers,
            objects=self._edges.objects,
            events=self._events,
            calls=self._calls,
            lanes=self._edges.outside.volume_lanes or self._edges.process.volume_lanes,
            mounts=self._edges.outside.mounts,
        )
        return VolumeTree(settings, self.machine.read(), self._address, edges)

    def _events(self) -> Port[PostEvent]:
        return self._address(EVENT_RECORDER)

    def _calls(self) -> Port[CallApi] | None:
        api = self._edges.api()
        return api.calls if api is not None else None

    def _reporter(self) -> Port[RuntimeHasNews] | None:
        api = self._edges.api()
        return api.node if api is not None else None

    def _make_status_keeper(self) -> StatusKeeper:
        api = self._edges.api()
        me = self._address(STATUS_KEEPER)
        pods, pod_manager = self._address(POD_KEEPER), self._address(POD_MANAGER)
        if api is None:
            return StatusKeeper(StatusPorts(me=me, pod_keeper=pods), self._status_memory)
        ports = StatusPorts(
            me=me,
            pod_keeper=pods,
            pod_manager=pod_manager,
            calls=api.calls,
            events=self._events(),
        )
        return StatusKeeper(ports, self._status_memory)

    def _keepers_of_cluster(self) -> tuple[AnySpec, ...]:
        return (
            isolated(SERVICE_KEEPER, self._make_services),
            isolated(RUNTIME_CLASS_KEEPER, self._make_runtime_classes),
        )

    def _make_runtime_classes(self) -> RuntimeClassKeeper:
        api = self._edges.api()
        assert api is not None  # noqa: S101  # else there is no such child
        me = self._address(RUNTIME_CLASS_KEEPER)
        ports = RuntimeClassPorts(watches=api.watches, me=me, classes=self._runtime_classes)
        return RuntimeClassKeeper(ports, self._runtime_class_memory)

    def _make_services(self) -> ServiceKeeper:
        api = self._edges.api()
        assert api is not None  # noqa: S101  # else there is no such child
        me = self._address(SERVICE_KEEPER)
        ports = ServicePorts(watches=api.watches, events=api.events, me=me, services=self._services)
        return ServiceKeeper(self._node_name, ports, self._service_memory)

    def _make_rollouts(self) -> RolloutKeeper:
        return RolloutKeeper(self._rollout_memory, self._events())

    def _make_records(self) -> RecordKeeper[PodUid, KeptPod]:
        return RecordKeeper(self._record_memory)

    def _make_probe_keeper(self) -> ProbeKeeper:
        me, probers = self._address(PROBE_KEEPER), self._address(PROBERS)
        people = self._address(EVENT_FEED)
        ports = ProbeKeeperPorts(
            runner=self._runtime.probes(),
            probers=probers,
            events=self._events,
            address=self._address,
            me=me,
            people=people,
            logs_changes=self._logs_steps,
        )
        return ProbeKeeper(ports, self._probe_memory)

    def _make_keeper(self) -> PodKeeper:
        api = self._edges.api()
        me, statuses = self._address(POD_KEEPER), self._address(STATUS_KEEPER)
        pod_manager, records = self._address(POD_MANAGER), self._records()
        ports = PodKeeperPorts(
            pod_manager=pod_manager,
            node=api.node if api is not None else None,
            workers=self._address(PODS),
            runtime=self._runtime.port(),
            statuses=statuses,
            worker=self._worker_ports(),
            records=records,
            address=self._address,
            me=me,
        )
        return PodKeeper(ports, self._keeper_memory)

    def _worker_ports(self) -> WorkerPorts:
        keeper, statuses = self._address(POD_KEEPER), self._address(STATUS_KEEPER)
        probes, rollouts = self._address(PROBE_KEEPER), self._address(ROLLOUT_KEEPER)
        return WorkerPorts(
            keeper=keeper,
            runtime=self._runtime.port(),
            statuses=statuses,
            managers=self._edges.managers(),
            objects=self._edges.objects,
            services=self._services if self._follows_services else None,
            volumes=self._volumes.port() if self._volumes is not None else None,
            rollouts=rollouts,
            restarts_containers=not self._is_provider,
            probes=probes,
            events=self._events(),
            records=self._records(),
            keeps_starts=self._is_provider,
            host_ips=self._host_ips,
            logs_steps=self._logs_steps,
        )

    def _records(self) -> Port[PodRecordsMessage] | None:
        return self._address(POD_RECORDS) if self._keeps_records else None
