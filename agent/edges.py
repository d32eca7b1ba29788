"""Where the agent ends and the machine, or another program, begins. Tests put their own edges in place.

``ProcessEdges`` belong to the process, whatever agents are in it: threads, loops, lanes and connections. Each
part is made when it is first asked for: an agent imports nothing that it does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeVar

from typing_extensions import override

from actors.probes.loop_messages import Loop, MakeLoop
from actors.probes.names import look_up_lanes
from actors.probes.watched import ProbeFact, ProbeMemory
from agent.node_view import machine_memory
from files.watching.inotify import InotifyWatch, KeepWatch
from kernel import Clock, Lane, Lanes, LaneSize, SharedThreads
from server.serving import ServerLoop
from settings.version import version

if TYPE_CHECKING:
    from types import TracebackType

    from actors.node.machine import Machine
    from actors.volumes.making.jobs import VolumeLanes
    from actors.volumes.mounts.system_calls import MountCalls
    from kernel import BaseActor
    from kube.api_connections import ApiConnections
    from kube.calls.actor import CallMemory, CallsActorMessage
    from kube.streams.actor import WatchesOwnMessage
    from kube.streams.shared import WatchMemory
    from runtimes.cri.operations.flow import Disk
    from runtimes.cri.runtime_socket import RuntimeSocket
    from runtimes.cri.wire.transport import Wire
    from runtimes.hollow.core import HollowCore
    from runtimes.hollow.rules import HollowRules
    from runtimes.lifecycle_hooks.messages import HookSockets
    from runtimes.lifecycle_hooks.sockets import LoopSockets
    from runtimes.provider.calls import ProviderCalls, ThreadedCalls
    from runtimes.provider.loading import LoadedProvider
    from sources.http.asking import MakeFetcher


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


class _Closed(Protocol):
    def close(self) -> object: ...


C = TypeVar("C", bound=_Closed)

USER_AGENT: Final = "kube-probe/1.34"
"""Of probes, as a kubelet has it: servers of pods look at it."""


class ProbeLoops(MakeLoop):
    """Makes loops over real sockets: of each agent one, all on one thread."""

    def __init__(self, names: Lanes[str]) -> None:
        """Begin the thread. ``names`` are looked up in these lanes."""
        from actors.probes.loop import ProbeThread  # noqa: PLC0415  # with TLS, which few agents need

        self._names = names
        self._thread = ProbeThread()

    @override
    def __call__(
        self,
        memory: ProbeMemory,
        tell: Callable[[Sequence[ProbeFact]], None],
        ended: Callable[[BaseException], None],
        clock: Clock,
    ) -> Loop:
        from actors.probes.loop import ProbeLoop  # noqa: PLC0415  # with TLS, which few agents need
        from actors.probes.loop_messages import ProbeEdges  # noqa: PLC0415  # with TLS, which few agents need

        edges = ProbeEdges(clock=clock, tell=tell, user_agent=USER_AGENT, names=self._names)
        return ProbeLoop(memory, edges, ended, self._thread)

    def close(self) -> None:
        """End the thread."""
        self._thread.close()


class ProcessEdges:
    """What belongs to the process. A context that closes it.

    The command makes it for its agents, hands it to each, and closes it when the last one is down. Only the
    thread that makes agents asks for parts.
    """

    def __init__(self) -> None:
        self._made = ExitStack()
        """Closes what was made, in reverse: a part is made after those that it uses."""

    def __enter__(self) -> Self:
        self.threads.start()
        self._made.callback(self.threads.end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._made.close()

    @cached_property
    def threads(self) -> SharedThreads:
        """The pool and the control thread."""
        return SharedThreads()

    @cached_property
    def server_loop(self) -> ServerLoop:
        """On which endpoints are served."""
        return self._closed_at_the_end(ServerLoop())

    @cached_property
    def api(self) -> ApiConnections:
        """The loop and the connections to API servers."""
        from kube.api_connections import ApiConnections  # noqa: PLC0415  # 10 MB
        from kube.streams.rules import WatchRules, unfinished_within  # noqa: PLC0415  # as it

        rules = WatchRules(
            user_agent=f"actorlet/{version()}",
            most_unfinished_bytes=unfinished_within(machine_memory()),
        )
        return self._closed_at_the_end(ApiConnections(rules))

    @cached_property
    def names(self) -> Lanes[str]:
        """Who looks up the names of hosts that probes and hooks are for."""
        return self._closed_at_the_end(look_up_lanes("look-up"))

    @cached_property
    def probe_loops(self) -> ProbeLoops:
        """Who carries out the probes of pods in containers, or of a class."""
        return self._closed_at_the_end(ProbeLoops(self.names))

    @cached_property
    def volume_lanes(self) -> VolumeLanes:
        """Who does the work on volumes that may block."""
        from actors.volumes.making.jobs import volume_lanes  # noqa: PLC0415  # hollow pods have none

        return self._closed_at_the_end(volume_lanes())

    @cached_property
    def disk(self) -> Disk:
        """Who does the work on files of pods and of images that may block."""
        from runtimes.cri.hands import disk_lanes  # noqa: PLC0415  # of pods in containers alone

        return self._closed_at_the_end(disk_lanes())

    @cached_property
    def certificates(self) -> Lane:
        """Who looks at certificates, and has them made."""
        lanes = self._closed_at_the_end(Lanes("certificates", {"": LaneSize(1)}))
        return lanes[""]

    @cached_property
    def hook_sockets(self) -> LoopSockets:
        """Who carries out hooks that connect to pods."""
        from runtimes.lifecycle_hooks.sockets import LoopSockets  # noqa: PLC0415  # of pods in containers alone

        return self._closed_at_the_end(LoopSockets(self.names))

    @cached_property
    def provider_calls(self) -> ThreadedCalls:
        """Who calls the classes that run pods."""
        from runtimes.provider.calls import ThreadedCalls  # noqa: PLC0415  # asyncio, which few agents need

        return self._closed_at_the_end(ThreadedCalls())

    def _closed_at_the_end(self, part: C) -> C:
        self._made.callback(part.close)
        return part
