"""The actors that keep pods, their statuses, their probes and their volumes, whatever runs them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial

from actors.events.feed_parts import EVENT_FEED
from actors.events.recorder import EVENT_RECORDER
from actors.node.machine import MachineFacts
from actors.node.rules import allocatable, written
from actors.pod_manager import POD_MANAGER
from actors.pods.keeper import PodKeeper
from actors.pods.keeper_parts import (
    POD_KEEPER,
    PODS,
    PodKeeperMemory,
    PodKeeperPorts,
    keeper_memory,
)
from actors.pods.records import POD_RECORD, POD_RECORDS, KeptPod
from actors.pods.rollout_keeper import ROLLOUT_KEEPER, RolloutKeeper, RolloutMemory
from actors.pods.status_keeper import STATUS_KEEPER, StatusKeeper, StatusPorts
from actors.pods.status_records import StatusMemory
from actors.pods.worker.parts import WorkerPorts
from actors.probes.keeper import ProbeKeeper, ProbeKeeperMemory, ProbeKeeperPorts
from actors.probes.loop_messages import PROBE_LOOP
from actors.probes.watching import PROBE_KEEPER, PROBERS, ProbesToRun
from actors.volumes.keeper import VolumeKeeper
from actors.volumes.keeper_parts import VOLUME_KEEPER, VolumeKeeperMemory, VolumeKeeperPorts
from actors.volumes.making.jobs import VolumeLanes
from actors.volumes.making.maker import VolumeMaker
from actors.volumes.making.teardown import Teardowns
from actors.volumes.mounts.system_calls import KernelMounts, MountCalls
from actors.volumes.token_keeper import TOKEN_KEEPER, TokenKeeper, TokenMemory, TokenPorts
from agent.composition import RUNTIME, Composition
from agent.late import cluster
from agent.node_view import CurrentAddresses, configured_node, machine_memory, node_resources
from agent.objects import object_managers
from agent.runtime_record import POD_RECORDS_DIRECTORY
from agent.sources import source_names
from files.record_keeper import RecordKeeper, RecordMemory
from files.records import RecordDirectory
from kernel import Port
from manifests.requests import MEMORY
from messages.pods import PodUid
from messages.units import Timestamp
from runtimes.hollow.actor import HOLLOW_CONTAINERS
from settings.cluster import ChangeDetection
from settings.situation import RuntimeKind


def _facts(agent: Composition) -> MachineFacts:
    """Read the machine. What is on it does not change while pods run on it; its addresses may."""
    return agent.machine.read()


def _host_addresses(agent: Composition) -> CurrentAddresses:
    return CurrentAddresses(agent.machine.addresses)


def status_keeper(agent: Composition, memory: StatusMemory) -> StatusKeeper:
    """Return the actor that knows the statuses of pods, and shows them in a cluster."""
    is_joined = agent.has(cluster.API_CALLS)
    ports = StatusPorts(
        me=agent.port(STATUS_KEEPER),
        pod_keeper=agent.port(POD_KEEPER),
        pod_manager=agent.port(POD_MANAGER) if is_joined else None,
        calls=agent.port_if_any(cluster.API_CALLS),
        events=agent.port(EVENT_RECORDER) if is_joined else None,
    )
    return StatusKeeper(ports, memory)


def record_memory(agent: Composition) -> RecordMemory[PodUid, KeptPod]:
    """Return what is not on disk yet of the records of pods."""
    directory = agent.settings.root_dir / POD_RECORDS_DIRECTORY
    return RecordMemory(RecordDirectory(directory, POD_RECORD))


def pod_records(
    _agent: Composition, memory: RecordMemory[PodUid, KeptPod]
) -> RecordKeeper[PodUid, KeptPod]:
    """Return the actor that keeps the records of pods."""
    return RecordKeeper(memory)


def rollout_keeper(agent: Composition, memory: RolloutMemory) -> RolloutKeeper:
    """Return the actor that lets one container of a group restart at a time."""
    return RolloutKeeper(memory, agent.port(EVENT_RECORDER))


def pod_keeper_memory(agent: Composition) -> PodKeeperMemory:
    """Return the memory of a keeper of pods that knows none yet."""
    node = configured_node(agent.settings, agent.shared(_facts))
    memory = keeper_memory(node, frozenset(source_names(agent)))
    memory.pods_at_once = agent.edges.bounds.pods
    memory.workers_at_once = agent.edges.bounds.workers
    return memory


def pod_keeper(agent: Composition, memory: PodKeeperMemory) -> PodKeeper:
    """Return the actor that admits pods, and keeps their workers."""
    ports = PodKeeperPorts(
        pod_manager=agent.port(POD_MANAGER),
        node=agent.port_if_any(cluster.NODE_REGISTRAR),
        workers=agent.port(PODS),
        runtime=agent.port(RUNTIME),
        statuses=agent.port(STATUS_KEEPER),
        worker=_worker_ports(agent),
        records=agent.port_if_any(POD_RECORDS),
        address=agent.address,
        me=agent.port(POD_KEEPER),
    )
    return PodKeeper(ports, memory)


def _worker_ports(agent: Composition) -> WorkerPorts:
    is_provider = agent.runtime.kind is RuntimeKind.PROVIDER
    return WorkerPorts(
        keeper=agent.port(POD_KEEPER),
        runtime=agent.port(RUNTIME),
        statuses=agent.port(STATUS_KEEPER),
        managers=object_managers(agent),
        objects=agent.objects,
        services=agent.services if agent.has(cluster.SERVICE_KEEPER) else None,
        volumes=agent.port_if_any(VOLUME_KEEPER),
        rollouts=agent.port(ROLLOUT_KEEPER),
        restarts_containers=not is_provider,
        probes=agent.port(PROBE_KEEPER),
        events=agent.port(EVENT_RECORDER),
        records=agent.port_if_any(POD_RECORDS),
        keeps_starts=is_provider,
        host_ips=agent.shared(_host_addresses),
        logs_steps=_logs_steps(agent),
    )


def _logs_steps(agent: Composition) -> bool:
    return agent.runtime.kind is not RuntimeKind.HOLLOW


def probe_runner(agent: Composition) -> Port[ProbesToRun]:
    """Return the address of who carries probes out. Hollow containers answer theirs themselves."""
    loop = agent.port_if_any(PROBE_LOOP)
    return loop if loop is not None else agent.port(HOLLOW_CONTAINERS)


def probe_keeper(agent: Composition, memory: ProbeKeeperMemory) -> ProbeKeeper:
    """Return the actor that knows which probes there are, and keeps their probers."""
    ports = ProbeKeeperPorts(
        runner=probe_runner(agent),
        probers=agent.port(PROBERS),
        events=partial(agent.port, EVENT_RECORDER),
        address=agent.address,
        me=agent.port(PROBE_KEEPER),
        people=agent.port(EVENT_FEED),
        logs_changes=_logs_steps(agent),
    )
    return ProbeKeeper(ports, memory)


def token_keeper(agent: Composition, memory: TokenMemory) -> TokenKeeper:
    """Return the actor that gets tokens of service accounts."""
    return TokenKeeper(TokenPorts(calls=agent.port(cluster.API_CALLS)), memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeParts:
    """What makes volumes, and what outlives crashes of their keeper."""

    lanes: VolumeLanes
    maker: VolumeMaker
    teardowns: Teardowns
    allocatable: dict[str, str]
    memory: VolumeKeeperMemory = field(default_factory=VolumeKeeperMemory)


def volume_parts(agent: Composition) -> VolumeParts:
    """Return what makes volumes on this machine."""
    calls: MountCalls = agent.edges.mounts or KernelMounts()
    root_dir = str(agent.settings.root_dir.absolute())
    room = allocatable(node_resources(agent.settings), agent.shared(_facts))
    memory = room.get(MEMORY) or machine_memory()
    return VolumeParts(
        lanes=agent.edges.volume_lanes or agent.process.volume_lanes,
        maker=VolumeMaker(root_dir, calls, memory, _now),
        teardowns=Teardowns(root_dir, calls),
        allocatable=dict(written(room)),
    )


def volume_keeper(agent: Composition, parts: VolumeParts) -> VolumeKeeper:
    """Return the actor that has the volumes of pods made, and keeps them current."""
    told, frequency = agent.settings.cluster, agent.settings.sync_frequency
    # As often as a kubelet does, which hears of no changes either then.
    is_untold = told is not None and told.change_detection is ChangeDetection.GET
    ports = VolumeKeeperPorts(
        me=agent.port(VOLUME_KEEPER),
        managers=object_managers(agent),
        objects=agent.objects,
        tokens=agent.port_if_any(TOKEN_KEEPER),
        events=agent.port(EVENT_RECORDER),
        people=agent.port(EVENT_FEED),
        lanes=parts.lanes,
        maker=parts.maker,
        teardowns=parts.teardowns,
        reads_every=frequency if is_untold else None,
        looks_every=frequency,
        allocatable=parts.allocatable,
    )
    return VolumeKeeper(ports, parts.memory)


def _now() -> Timestamp:
    return Timestamp(time.time())
