"""What belongs to the process, whatever agents are in it: threads, loops, lanes and connections.

Whoever runs agents makes it, hands it to each of them, and closes it when the last one is down. Each part is
made when it is first asked for: an agent imports nothing that it does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeVar

from typing_extensions import override

from actors.probes.loop_messages import Loop, MakeLoop
from actors.probes.names import look_up_lanes
from actors.probes.news import ProbeFact
from actors.probes.watched import ProbeMemory
from agent.node_view import machine_memory
from kernel import Clock, Lanes, SharedThreads
from server.serving import ServerLoop
from settings.version import version

if TYPE_CHECKING:
    from types import TracebackType

    from actors.volumes.making.jobs import VolumeLanes
    from kube.api_connections import ApiConnections
    from runtimes.cri.operations.flow import Disk
    from runtimes.lifecycle_hooks.sockets import LoopSockets
    from runtimes.provider.calls import ThreadedCalls


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
        from actors.probes.loop_commands import ProbeEdges  # noqa: PLC0415  # with TLS, which few agents need

        edges = ProbeEdges(clock=clock, tell=tell, user_agent=USER_AGENT, names=self._names)
        return ProbeLoop(memory, edges, ended, self._thread)

    def close(self) -> None:
        """End the thread."""
        self._thread.close()


class ProcessEdges:
    """A context that closes them. Only the thread that makes agents asks for parts."""

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
        from actors.volumes.making.lanes import volume_lanes  # noqa: PLC0415  # hollow pods have none

        return self._closed_at_the_end(volume_lanes())

    @cached_property
    def disk(self) -> Disk:
        """Who does the work on files of pods and of images that may block."""
        from runtimes.cri.disk_lanes import disk_lanes  # noqa: PLC0415  # of pods in containers alone

        return self._closed_at_the_end(disk_lanes())

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
