"""The runtime that runs pods in containers, as ``--runtime cri`` asks for it. A part of ``pod_tree``.

Imported only where it is used: gRPC takes 28 MB and 0.15 s.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from actors.logs.keeper import LogKeeper
from actors.logs.messages import LOG_KEEPER, LogKeeperMemory, LogKeeperPorts
from actors.node.machine import MachineFacts
from actors.node.resources import allocatable, capacity, written
from actors.pod_manager import POD_MANAGER
from actors.pods.keeper_parts import POD_KEEPER
from actors.probes.loop_messages import PROBE_LOOP, ProbeLoopPorts
from actors.probes.loop_owner import ProbeLoopOwner
from actors.probes.watching import ProbesToRun
from actors.volumes.keeper_parts import VOLUME_KEEPER, VolumeKeeperMessage
from actors.volumes.mounts.system_calls import KernelMounts
from agent.cri_images import image_options
from agent.cri_options import cgroup_options, check_cgroups, cri_node, log_options
from agent.edges import ContainerEdges, Edges
from agent.node_view import node_resources
from agent.probe_loops import probe_loop_memory
from agent.process_edges import ProcessEdges
from files.cgroups.options import CgroupOptions
from kernel import Address, AnySpec, Followable, Port, isolated
from manifests.requests import Amounts
from messages.container_logs import DescribeContainerLogs
from messages.container_runtime import AskContainer
from messages.container_runtime_health import DescribeContainerRuntime
from messages.events import EventType, ObjectReference, PostEvent
from messages.images import DescribeImages
from messages.node import RuntimeHasNews
from messages.pod_runtime import PodRuntimeMessage, RuntimeNode
from messages.pods import Pod, SourceName
from messages.runtime_classes import RuntimeClasses, RuntimeHandlers
from runtimes.containers.actor import POD_RUNTIME, ContainersOptions, ContainersRuntime
from runtimes.containers.record import RuntimeMemory
from runtimes.cri.actor import CriRuntime
from runtimes.cri.cgroup_keeper import CGROUP_KEEPER, CgroupKeeper, CgroupKeeperPorts
from runtimes.cri.cgroups.opening import open_cgroups
from runtimes.cri.configs.namespaces import UserIdRanges
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.refusals import ConfigNotice
from runtimes.cri.health import node_of
from runtimes.cri.images.actor import ImageKeeper
from runtimes.cri.images.protocol import IMAGE_KEEPER, ImageMemory, ImagePorts
from runtimes.cri.messages import CRI_CONTAINERS, CriMemory, CriPorts
from runtimes.cri.operations.context import OperationContext
from runtimes.cri.pod_directories import PodDirectoriesOnDisk
from runtimes.cri.runtime_socket import RuntimeSocket
from runtimes.cri.socket_finder import SOCKET_FINDER, SocketFinder
from runtimes.cri.wire.grpc_wire import GrpcWire
from runtimes.cri.wire.transport import Wire
from runtimes.cri.wires import CountedWire, FoundWire, SplitWire
from runtimes.lifecycle_hooks.actor import HOOK_RUNNER, HookMemory, HookRunner
from settings.agent import Settings
from settings.containers import ContainerSettings

_log = structlog.get_logger("runtime")

STARTS_PER_CORE = 2
"""Sandboxes and containers that are started at the same time. With 4 on two cores 40 pods were there soonest,
and so was the median pod; with no bound the median pod waited twice as long (measured)."""
STOPS_PER_CORE = 2
"""Containers that are stopped at the same time. While 100 of another pod were being stopped, one that was
killed ran again after 0.8 s with 8 at a time, and after 2.9 s with no bound (measured, four cores)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriEdges:
    """What it has of the rest of the agent. An agent without a cluster has nobody to tell."""

    events: Callable[[], Port[PostEvent] | None]
    """Returns who posts events."""
    node: Callable[[], Port[RuntimeHasNews] | None]
    """Returns who reports the Node."""
    runtime_classes: Followable[RuntimeClasses, RuntimeHandlers] | None
    """Those of the cluster."""
    addresses: Callable[[], tuple[str, ...]]
    """Returns the machine's addresses at present. On any thread."""
    sandbox_begins: Callable[[], Callable[[], None]]
    """Notes that a sandbox is being made, and returns what notes that this has ended. On any thread."""
    outside: Edges
    """What is put in the place of the container runtime, its disk, and what probes and hooks connect to."""
    process: ProcessEdges
    """What all agents of the process share."""


class CriComposition:
    """Its actors, what they work with, and what outlives their crashes."""

    def __init__(
        self,
        settings: Settings,
        told: ContainerSettings,
        address: Address,
        edges: CriEdges,
        machine: MachineFacts,
        sources: frozenset[SourceName],
    ) -> None:
        outside = edges.outside
        reached = outside.containers or ContainerEdges(
            wire=GrpcWire,
            disk=edges.process.disk,
            hook_sockets=edges.process.hook_sockets,
        )
        self._address = address
        self._edges = edges
        self._sources = sources
        self._logs = LogKeeperMemory()
        self._log_options = log_options(told)
        self._socket = outside.socket or RuntimeSocket.of(told.container_runtime_endpoint)
        self._waits_for_socket = self._socket.found is None
        self._said_of_node: set[ConfigNotice] = set()
        self._containers = CriMemory()
        self._containers.shown_node.replace(node_of(self._containers))
        self._wire = self._wire_of(told, reached.wire)
        self._disk = reached.disk
        self._mounts = outside.mounts or KernelMounts()
        self._directories = PodDirectoriesOnDisk(
            str(settings.root_dir.absolute()), self._disk, self._volume_keeper, self._mounts
        )
        self._pods = RuntimeMemory()
        self._hooks = HookMemory()
        self._probes = probe_loop_memory()
        self._node_name = settings.node_name
        self._hook_sockets = reached.hook_sockets
        self._make_loop = outside.probe_loop or edges.process.probe_loops
        self._image_options = image_options(settings, told)
        self._images = ImageMemory.of(self._image_options)
        self._options = ContainersOptions(
            longest_backoff=settings.longest_restart_pause,
            parallel_starts=outside.bounds.starts or STARTS_PER_CORE * (os.cpu_count() or 1),
            parallel_stops=outside.bounds.stops or STOPS_PER_CORE * (os.cpu_count() or 1),
            pods_at_once=outside.bounds.pods,
        )
        resources = node_resources(settings)
        options = cgroup_options(told, capacity(resources, machine), resources.reserved)
        self._node = cri_node(settings, told, options)
        room = allocatable(resources, machine)
        self._context = self._operation_context(options, room, UserIdRanges(told.ids_per_pod))

    def _operation_context(
        self, options: CgroupOptions, room: Amounts, user_ids: UserIdRanges
    ) -> OperationContext:
        cgroups = open_cgroups(options, noted=self._containers.cgroups.noted.append)
        check_cgroups(options, is_unified=cgroups.facts.is_unified)
        return OperationContext(
            inventory=self._containers.inventory,
            node=self._current_node,
            runtime=self._runtime_name,
            cgroups=cgroups,
            mounts=self._mounts,
            cgroup_options=options,
            cgroup_facts=cgroups.facts,
            allocatable=written(room),
            user_ids=user_ids,
            notice=self._notice,
        )

    def specs(self) -> tuple[AnySpec, ...]:
        """Return the specs, those of images and containers first. They are isolated: pods outlive trouble."""
        return (
            *((isolated(SOCKET_FINDER, self._make_finder),) if self._waits_for_socket else ()),
            isolated(IMAGE_KEEPER, self._make_images),
            isolated(CRI_CONTAINERS, self._make_containers),
            isolated(HOOK_RUNNER, self._make_hooks),
            isolated(PROBE_LOOP, self._make_probes),
            isolated(POD_RUNTIME, self._make_runtime),
            isolated(LOG_KEEPER, self._make_logs),
            isolated(CGROUP_KEEPER, self._make_cgroups),
        )

    def port(self) -> Port[PodRuntimeMessage]:
        """Return the address of the runtime of pods."""
        return self._address(POD_RUNTIME)

    def images(self) -> Port[DescribeImages]:
        """Return the address of the keeper of images."""
        return self._address(IMAGE_KEEPER)

    def logs(self) -> Port[DescribeContainerLogs]:
        """Return the address of the keeper of logs."""
        return self._address(LOG_KEEPER)

    def containers(self) -> Port[DescribeContainerRuntime]:
        """Return the address of who speaks with the container runtime."""
        return self._address(CRI_CONTAINERS)

    def asked(self) -> Port[AskContainer]:
        """Return the address of who speaks with the container runtime."""
        return self._address(CRI_CONTAINERS)

    def probes(self) -> Port[ProbesToRun]:
        """Return the address of who carries probes out."""
        return self._address(PROBE_LOOP)

    def node(self) -> RuntimeNode:
        """Return the runtime's version, and what is bad about the Node because of it. On any thread."""
        return self._containers.shown_node.value

    @staticmethod
    def uses_services() -> bool:
        """Return that its containers are told of Services, as on a kubelet."""
        return True

    # --- inside ----------------------------------------------------------------------------------------

    def _wire_of(self, told: ContainerSettings, wire_to: Callable[[Path], Wire]) -> Wire:
        """Return what carries calls: about images to another service, if there is one."""
        containers = self._counted(FoundWire(self._socket, wire_to))
        images = told.image_service_endpoint
        if images in {None, told.container_runtime_endpoint}:
            return containers
        return SplitWire(self._counted(wire_to(images)), containers)

    def _counted(self, wire: Wire) -> CountedWire:
        noted = self._containers.calls.noted
        return CountedWire(wire, noted, time.monotonic, self._edges.sandbox_begins)

    def _make_finder(self) -> SocketFinder:
        return SocketFinder(self._socket)

    def _make_images(self) -> ImageKeeper:
        ports = ImagePorts(
            wire=self._wire,
            disk=self._disk,
            events=self._edges.events(),
        )
        return ImageKeeper(ports, self._images, self._image_options)

    def _make_containers(self) -> CriRuntime:
        images = self._address(IMAGE_KEEPER)
        ports = CriPorts(
            me=self._address(CRI_CONTAINERS),
            images=images,
            events=self._edges.events(),
            runtime_classes=self._edges.runtime_classes,
            node=self._edges.node(),
            endpoint=self._where,
        )
        return CriRuntime(ports, self._containers, self._context, self._wire, self._disk)

    def _make_hooks(self) -> HookRunner:
        containers = self._address(CRI_CONTAINERS)
        return HookRunner(containers, self._hook_sockets, self._hooks)

    def _make_probes(self) -> ProbeLoopOwner:
        containers, me = self._address(CRI_CONTAINERS), self._address(PROBE_LOOP)
        ports = ProbeLoopPorts(
            containers=containers, me=me, events=self._edges.events(), node_name=self._node_name
        )
        return ProbeLoopOwner(ports, self._probes, self._make_loop)

    def _make_runtime(self) -> ContainersRuntime:
        containers, hooks = self._address(CRI_CONTAINERS), self._address(HOOK_RUNNER)
        me, events = self._address(POD_RUNTIME), self._edges.events()
        return ContainersRuntime(containers, hooks, me, self._pods, self._options, events)

    def _make_logs(self) -> LogKeeper:
        containers, pod_manager = self._address(CRI_CONTAINERS), self._address(POD_MANAGER)
        pod_keeper = self._address(POD_KEEPER)
        ports = LogKeeperPorts(
            me=self._address(LOG_KEEPER),
            containers=containers,
            pod_manager=pod_manager,
            pod_keeper=pod_keeper,
            sources=self._sources,
            directories=self._directories,
        )
        return LogKeeper(ports, self._logs, self._log_options)

    def _volume_keeper(self) -> Port[VolumeKeeperMessage]:
        return self._address(VOLUME_KEEPER)

    def _make_cgroups(self) -> CgroupKeeper:
        containers, pod_manager = self._address(CRI_CONTAINERS), self._address(POD_MANAGER)
        pod_keeper = self._address(POD_KEEPER)
        ports = CgroupKeeperPorts(
            me=self._address(CGROUP_KEEPER),
            containers=containers,
            pod_manager=pod_manager,
            pod_keeper=pod_keeper,
            sources=self._sources,
        )
        return CgroupKeeper(ports, self._context.cgroups, self._disk)

    def _current_node(self) -> CriNode:
        greeting, classes = self._containers.greeting, self._containers.runtime_classes
        node = replace(self._node, ips=self._edges.addresses())
        if greeting is not None:
            node = replace(node, runtime=greeting.features)
        return node if classes is None else replace(node, runtime_classes=classes)

    def _where(self) -> str:
        return str(self._socket.found or "")

    def _runtime_name(self) -> str:
        greeting = self._containers.greeting
        return greeting.name if greeting is not None else ""

    def _notice(self, pod: Pod, notice: ConfigNotice) -> None:
        if not notice.is_of_node:
            _log.warning(notice.message, pod=pod.display_name, reason=notice.reason)
        elif notice not in self._said_of_node:
            self._said_of_node.add(notice)
            _log.warning(notice.message, reason=notice.reason)
        events = self._edges.events()
        if events is not None:
            events.tell(
                PostEvent(
                    regarding=ObjectReference(
                        kind="Pod", name=pod.name, namespace=pod.namespace, uid=pod.uid
                    ),
                    type=EventType.WARNING,
                    reason=notice.reason,
                    message=notice.message,
                )
            )
