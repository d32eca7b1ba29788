"""Where the agent ends and the machine, or another program, begins. Tests put their own edges in place."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from files.watching.inotify import InotifyWatch, KeepWatch

if TYPE_CHECKING:
    from actors.node.machine import Machine
    from actors.probes.loop_messages import MakeLoop
    from actors.volumes.making.jobs import VolumeLanes
    from actors.volumes.mounts.system_calls import MountCalls
    from agent.process_edges import ProcessEdges
    from kernel import BaseActor
    from kube.calls.actor import CallMemory, CallsActorMessage
    from kube.streams.actor import WatchesOwnMessage
    from kube.streams.memory import WatchMemory
    from runtimes.cri.operations.flow import Disk
    from runtimes.cri.runtime_socket import RuntimeSocket
    from runtimes.cri.wire.transport import Wire
    from runtimes.hollow.core import HollowCore
    from runtimes.hollow.rules import HollowRules
    from runtimes.lifecycle_hooks.outcomes import HookSockets
    from runtimes.provider.calls import ProviderCalls
    from runtimes.provider.loading import LoadedProvider
    from sources.http.answers import MakeFetcher


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEdges:
    """The actors that talk to the API server."""

    calls: Callable[[CallMemory], BaseActor[CallsActorMessage]]
    watches: Callable[[WatchMemory], BaseActor[WatchesOwnMessage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlEdges:
    """How the manifest URL is asked."""

    fetcher: MakeFetcher
    executor: Callable[[], Executor]
    """Makes what a request waits in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEdges:
    """What pods in containers are run by and on."""

    wire: Callable[[Path], Wire]
    """Opens what carries calls to the socket of a container runtime."""
    disk: Disk
    """Who does the work on files of pods and of images that may block."""
    hook_sockets: HookSockets
    """Who carries out hooks that connect to pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEdges:
    """The Python class that runs pods, and where it is called."""

    load: Callable[[str], LoadedProvider]
    """Makes the one object of the class, by its name."""
    calls: Callable[[], ProviderCalls]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much the agent does at once. What people are promised holds for any of them, from 1 on."""

    starts: int | None = None
    """Sandboxes and containers that are started at the same time. None for some per core."""
    stops: int | None = None
    """Containers that are stopped at the same time. None for some per core."""
    pods: int = 64
    """Pods that an actor looks at in one turn."""
    workers: int = 64
    """Workers of pods that are being started or stopped at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """What the actors touch that is not the agent's."""

    bounds: Bounds = Bounds()
    """How much is done at once. Tests have other bounds, by which what is rare is frequent."""

    keep_watch: KeepWatch = InotifyWatch
    """Watches the directory of manifests and that of local objects."""
    machine: Machine | None = None
    """The machine that pods run on, and that the Node shows. None for that which the agent runs on."""
    cluster: ClusterEdges | None = None
    """The API server. None for that which the settings name."""
    url: UrlEdges | None = None
    """Asks the manifest URL. None for HTTP, and a thread."""
    volume_lanes: VolumeLanes | None = None
    """Who does the work on volumes that may block. None for the process's threads."""
    mounts: MountCalls | None = None
    """The kernel that mounts volumes and parts of them. None for that of this machine."""
    process: ProcessEdges | None = None
    """What all agents of the process share. None if other edges take the place of all that an agent would
    use of it: nobody closes what is made then."""
    hollow: Callable[[HollowRules], HollowCore] | None = None
    """Makes what hollow containers are in. None for the real one."""
    socket: RuntimeSocket | None = None
    """Where the container runtime is. None for the socket that the settings name, or one that is found."""
    containers: ContainerEdges | None = None
    """The container runtime and its disk. None for gRPC, threads and sockets."""
    provider: ProviderEdges | None = None
    """The class that runs pods. None for that which the settings name, called on threads."""
    probe_loop: MakeLoop | None = None
    """Makes what carries out the probes of pods in containers, or of a class. None for real sockets."""
