"""The actors of ``--runtime cri``, which runs pods in containers.

Imported only where it is used: gRPC takes 28 MB and 0.15 s.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import structlog

from actors.events.recorder import EVENT_RECORDER
from actors.logs.keeper import LogKeeper
from actors.logs.messages import LOG_KEEPER, LogKeeperMemory, LogKeeperPorts
from actors.node.registrar import NODE_REGISTRAR
from actors.node.rules import allocatable, capacity, written
from actors.pod_manager import POD_MANAGER
from actors.pods.keeper_parts import POD_KEEPER
from actors.probes.loop_messages import PROBE_LOOP, ProbeLoopPorts
from actors.probes.loop_owner import ProbeLoopOwner
from actors.volumes.keeper_parts import VOLUME_KEEPER
from actors.volumes.mounts.system_calls import KernelMounts
from agent.composition import Composition
from agent.cri_options import cgroup_options, check_cgroups, cri_node, image_options, log_options
from agent.edges import ContainerEdges
from agent.node_view import CurrentAddresses, node_resources
from agent.runtimes import ProbeParts
from agent.sources import source_names
from files.cgroups.names import CgroupOptions
from manifests.requests import Amounts
from messages.events import EventType, ObjectReference, PostEvent
from messages.pod_runtime import RuntimeNode
from messages.pods import Pod
from runtimes.containers.actor import (
    POD_RUNTIME,
    ContainersOptions,
    ContainersRuntime,
)
from runtimes.containers.record import RuntimeMemory
from runtimes.cri.actor import CriRuntime
from runtimes.cri.cgroup_keeper import CGROUP_KEEPER, CgroupKeeper, CgroupKeeperPorts
from runtimes.cri.cgroups.opening import open_cgroups
from runtimes.cri.configs.documents import ConfigNotice
from runtimes.cri.configs.namespaces import UserIdRanges
from runtimes.cri.configs.node import CriNode
from runtimes.cri.health import node_of
from runtimes.cri.images.actor import ImageKeeper
from runtimes.cri.images.messages import IMAGE_KEEPER, ImageMemory, ImagePorts
from runtimes.cri.messages import CRI_CONTAINERS, CriMemory, CriPorts
from runtimes.cri.operations.flow import OperationContext
from runtimes.cri.pod_directories import PodDirectoriesOnDisk
from runtimes.cri.runtime_socket import SOCKET_FINDER, RuntimeSocket, SocketFinder  # noqa: F401  # for the table
from runtimes.cri.wire.grpc_wire import GrpcWire
from runtimes.cri.wire.transport import Wire
from runtimes.cri.wires import CountedWire, FoundWire, SplitWire
from runtimes.lifecycle_hooks.actor import HOOK_RUNNER, HookMemory, HookRunner
from settings.containers import ContainerSettings

_log = structlog.get_logger("runtime")

STARTS_PER_CORE = 2
"""Sandboxes and containers that are started at the same time. With 4 on two cores 40 pods were there soonest,
and so was the median pod; with no bound the median pod waited twice as long (measured)."""
STOPS_PER_CORE = 2
"""Containers that are stopped at the same time. While 100 of another pod were being stopped, one that was
killed ran again after 0.8 s with 8 at a time, and after 2.9 s with no bound (measured, four cores)."""


class ContainerParts:
    """What the actors share: the runtime of containers, its disk, and what is known of the node."""

    def __init__(self, agent: Composition, told: ContainerSettings) -> None:
        """Raise ``UsageError`` for settings that cannot be carried out on this machine."""
        settings, edges, process = agent.settings, agent.edges, agent.process
        reached = edges.containers or ContainerEdges(
            wire=GrpcWire, disk=process.disk, hook_sockets=process.hook_sockets
        )
        self._agent = agent
        self._said_of_node: set[ConfigNotice] = set()
        self.memory = CriMemory()
        self.memory.shown_node.replace(node_of(self.memory))
        self.socket = edges.socket or RuntimeSocket.of(told.container_runtime_endpoint)
        self.waits_for_socket = self.socket.found is None
        self.wire = self._wire_of(told, reached.wire)
        self.disk = reached.disk
        self.hook_sockets = reached.hook_sockets
        self.mounts = edges.mounts or KernelMounts()
        self.directories = PodDirectoriesOnDisk(
            str(settings.root_dir.absolute()),
            self.disk,
            partial(agent.port, VOLUME_KEEPER),
            self.mounts,
        )
        self.images = image_options(settings, told)
        machine, resources = agent.own_machine.read(), node_resources(settings)
        options = cgroup_options(told, capacity(resources, machine), resources.reserved)
        self._node = cri_node(settings, told, options)
        self._addresses = CurrentAddresses(agent.own_machine.addresses)
        room = allocatable(resources, machine)
        self.context = self._operation_context(options, room, UserIdRanges(told.ids_per_pod))

    def _operation_context(
        self, options: CgroupOptions, room: Amounts, user_ids: UserIdRanges
    ) -> OperationContext:
        cgroups = open_cgroups(options, noted=self.memory.cgroups.noted.append)
        check_cgroups(options, is_unified=cgroups.facts.is_unified)
        return OperationContext(
            inventory=self.memory.inventory,
            node=self._current_node,
            runtime=self._runtime_name,
            cgroups=cgroups,
            mounts=self.mounts,
            cgroup_options=options,
            cgroup_facts=cgroups.facts,
            allocatable=written(room),
            user_ids=user_ids,
            notice=self._notice,
        )

    def node(self) -> RuntimeNode:
        """Return the runtime's version, and what is bad about the Node because of it. On any thread."""
        return self.memory.shown_node.value

    def endpoint(self) -> str:
        """Return where the runtime is; empty while it was not found."""
        return str(self.socket.found or "")

    def _wire_of(self, told: ContainerSettings, wire_to: Callable[[Path], Wire]) -> Wire:
        """Return what carries calls: about images to another service, if there is one."""
        containers = self._counted(FoundWire(self.socket, wire_to))
        images = told.image_service_endpoint
        if images in {None, told.container_runtime_endpoint}:
            return containers
        return SplitWire(self._counted(wire_to(images)), containers)

    def _counted(self, wire: Wire) -> CountedWire:
        noted = self.memory.calls.noted
        return CountedWire(wire, noted, time.monotonic, self._agent.last_calls.begin)

    def _current_node(self) -> CriNode:
        greeting, classes = self.memory.greeting, self.memory.runtime_classes
        node = replace(self._node, ips=self._addresses())
        if greeting is not None:
            node = replace(node, runtime=greeting.features)
        return node if classes is None else replace(node, runtime_classes=classes)

    def _runtime_name(self) -> str:
        greeting = self.memory.greeting
        return greeting.name if greeting is not None else ""

    def _notice(self, pod: Pod, notice: ConfigNotice) -> None:
        if not notice.is_of_node:
            _log.warning(notice.message, pod=pod.display_name, reason=notice.reason)
        elif notice not in self._said_of_node:
            self._said_of_node.add(notice)
            _log.warning(notice.message, reason=notice.reason)
        self._agent.port(EVENT_RECORDER).tell(
            PostEvent(
                regarding=ObjectReference.of_pod(pod),
                type=EventType.WARNING,
                reason=notice.reason,
                message=notice.message,
            )
        )


def _told(agent: Composition) -> ContainerSettings:
    told = agent.runtime.containers
    assert told is not None  # noqa: S101  # else there is no such actor
    return told


def container_parts(agent: Composition) -> ContainerParts:
    """Return what the actors share. Raises ``UsageError``."""
    return ContainerParts(agent, _told(agent))


def socket_finder(agent: Composition) -> SocketFinder:
    """Return the actor that looks for the socket of a runtime."""
    return SocketFinder(agent.shared(container_parts).socket)


def image_memory(agent: Composition) -> ImageMemory:
    """Return the memory of the keeper of images."""
    return ImageMemory.of(agent.shared(container_parts).images)


def image_keeper(agent: Composition, memory: ImageMemory) -> ImageKeeper:
    """Return the actor that finds, pulls and removes images."""
    parts = agent.shared(container_parts)
    ports = ImagePorts(wire=parts.wire, disk=parts.disk, events=agent.port(EVENT_RECORDER))
    return ImageKeeper(ports, memory, parts.images)


def cri_memory(agent: Composition) -> CriMemory:
    """Return what is known of the runtime and its containers."""
    return agent.shared(container_parts).memory


def cri_runtime(agent: Composition, memory: CriMemory) -> CriRuntime:
    """Return the actor that speaks with the container runtime."""
    parts, is_joined = agent.shared(container_parts), agent.settings.cluster is not None
    ports = CriPorts(
        me=agent.port(CRI_CONTAINERS),
        images=agent.port(IMAGE_KEEPER),
        events=agent.port(EVENT_RECORDER),
        runtime_classes=agent.runtime_classes if is_joined else None,
        node=agent.port_if_any(NODE_REGISTRAR),
        endpoint=parts.endpoint,
    )
    return CriRuntime(ports, memory, parts.context, parts.wire, parts.disk)


def hook_runner(agent: Composition, memory: HookMemory) -> HookRunner:
    """Return the actor that carries out lifecycle hooks."""
    sockets = agent.shared(container_parts).hook_sockets
    return HookRunner(agent.port(CRI_CONTAINERS), sockets, memory)


def probe_loop(agent: Composition, parts: ProbeParts) -> ProbeLoopOwner:
    """Return the actor that carries probes out."""
    ports = ProbeLoopPorts(
        containers=agent.port(CRI_CONTAINERS),
        me=agent.port(PROBE_LOOP),
        events=agent.port(EVENT_RECORDER),
        node_name=agent.settings.node_name,
    )
    return ProbeLoopOwner(ports, parts.memory, parts.make_loop)


def pod_runtime(agent: Composition, memory: RuntimeMemory) -> ContainersRuntime:
    """Return the actor that runs pods in containers."""
    containers, hooks = agent.port(CRI_CONTAINERS), agent.port(HOOK_RUNNER)
    me, events = agent.port(POD_RUNTIME), agent.port(EVENT_RECORDER)
    bounds, cores = agent.edges.bounds, os.cpu_count() or 1
    options = ContainersOptions(
        longest_backoff=agent.settings.longest_restart_pause,
        parallel_starts=bounds.starts or STARTS_PER_CORE * cores,
        parallel_stops=bounds.stops or STOPS_PER_CORE * cores,
        pods_at_once=bounds.pods,
    )
    return ContainersRuntime(containers, hooks, me, memory, options, events)


def log_keeper(agent: Composition, memory: LogKeeperMemory) -> LogKeeper:
    """Return the actor that links, rotates and removes the logs of containers."""
    ports = LogKeeperPorts(
        me=agent.port(LOG_KEEPER),
        containers=agent.port(CRI_CONTAINERS),
        pod_manager=agent.port(POD_MANAGER),
        pod_keeper=agent.port(POD_KEEPER),
        sources=frozenset(source_names(agent)),
        directories=agent.shared(container_parts).directories,
    )
    return LogKeeper(ports, memory, log_options(_told(agent)))


def cgroup_keeper(agent: Composition) -> CgroupKeeper:
    """Return the actor that keeps the cgroups of pods."""
    parts = agent.shared(container_parts)
    ports = CgroupKeeperPorts(
        me=agent.port(CGROUP_KEEPER),
        containers=agent.port(CRI_CONTAINERS),
        pod_manager=agent.port(POD_MANAGER),
        pod_keeper=agent.port(POD_KEEPER),
        sources=frozenset(source_names(agent)),
    )
    return CgroupKeeper(ports, parts.context.cgroups, parts.disk)
