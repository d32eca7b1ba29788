"""The runtime that calls somebody's Python class, as ``--runtime MODULE:CLASS`` names it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Final

from typing_extensions import override

from actors.probes.loop_messages import PROBE_LOOP, MakeLoop, ProbeLoopPorts
from actors.probes.loop_owner import ProbeLoopOwner
from actors.probes.watching import ProbesToRun
from agent.edges import ProviderEdges
from agent.probe_loops import probe_loop_memory
from kernel import Address, AnySpec, Port, isolated
from messages.events import PostEvent
from messages.pod_runtime import PodRuntimeMessage, RuntimeNode
from messages.units import Seconds
from runtimes.provider.actor import PROVIDER_RUNTIME, PodProviderRuntime, ProviderRuntimeMessage
from runtimes.provider.calls import ProviderCall, ProviderCallEnded, ProviderCalls, Returned
from runtimes.provider.loading import LoadedProvider, ProviderLoadError, attached
from runtimes.provider.memory import ProviderMemory, ProviderRules, RuntimeContext
from runtimes.provider.pods import Method
from runtimes.provider.reports import UNTOLD, sound_node
from settings.errors import UsageError

FIRST_NODE_WITHIN: Final = Seconds(5.0)
"""How long the start of the agent waits for the first answer about the Node."""


class ProviderRuntime:
    """The one object of the class, what calls it, and what outlives a crash of the actor.

    ``address`` works once there is a system; ``events`` gives the address of the poster of events, or None
    for a standalone agent; ``edges`` has the class. Raises ``UsageError`` if the class cannot be used.
    """

    def __init__(
        self,
        provider: str,
        address: Address,
        events: Callable[[], Port[PostEvent] | None],
        make_loop: MakeLoop,
        edges: ProviderEdges,
    ) -> None:
        self._address = address
        self._events = events
        self._memory = ProviderMemory()
        self._calls = edges.calls()
        self._probes = probe_loop_memory()
        self._make_loop = make_loop
        try:
            self._loaded = attached(
                edges.load(provider), RuntimeContext(self._memory, self._runtime)
            )
        except ProviderLoadError as error:
            raise UsageError(f"--runtime: {error}") from error
        self._memory.node.replace(first_node(self._loaded, self._calls))

    def specs(self) -> tuple[AnySpec, ...]:
        """Return the specs of the actors. They are isolated: other actors do not fail with them."""
        return (
            isolated(PROBE_LOOP, self._make_probes),
            isolated(PROVIDER_RUNTIME, self._make),
        )

    def port(self) -> Port[PodRuntimeMessage]:
        """Return the address of the runtime of pods."""
        return self._runtime()

    @staticmethod
    def images() -> None:
        """Return nothing: nobody keeps images."""
        return

    @staticmethod
    def containers() -> None:
        """Return nobody: there is none."""
        return

    @staticmethod
    def logs() -> None:
        """Return nobody: the class keeps its logs itself."""
        return

    @staticmethod
    def asked() -> None:
        """Return nobody: what the class runs is its own."""
        return

    def probes(self) -> Port[ProbesToRun]:
        """Return the address of who carries probes out, as far as that can be done from outside."""
        return self._address(PROBE_LOOP)

    def node(self) -> RuntimeNode:
        """Return what the class said last of the Node, or what is so of each virtual one. On any thread."""
        return self._memory.node.value or UNTOLD

    def uses_services(self) -> bool:
        """Return that they are told of none: who knows whether they can reach the cluster's network."""
        return False

    def _runtime(self) -> Port[ProviderRuntimeMessage]:
        return self._address(PROVIDER_RUNTIME)

    def _make_probes(self) -> ProbeLoopOwner:
        ports = ProbeLoopPorts(containers=None, me=self._address(PROBE_LOOP))
        return ProbeLoopOwner(ports, self._probes, self._make_loop)

    def _make(self) -> PodProviderRuntime:
        me, events = self._runtime(), self._events()
        return PodProviderRuntime(
            self._loaded, self._calls, me, self._memory, ProviderRules(), events
        )


def first_node(
    loaded: LoadedProvider, calls: ProviderCalls, within: Seconds = FIRST_NODE_WITHIN
) -> RuntimeNode | None:
    """Return what the class says of the Node before anything runs; None if it says nothing in time.

    Admission and the new Node need it at once. What is wrong with it is said when the actor asks again.
    """
    if not loaded.can.node:
        return None
    answered = _Answered()
    target = partial(getattr(loaded.provider, Method.NODE))
    call = ProviderCall(0, Method.NODE, target, sound_node)
    calls.start(call, answered)
    if not answered.event.wait(within):
        calls.give_up(call)
    said = call.outcome.value if isinstance(call.outcome, Returned) else None
    return said if isinstance(said, RuntimeNode) else None


class _Answered(Port[ProviderCallEnded]):
    """Wakes the thread that waits for one call."""

    def __init__(self) -> None:
        self.event = threading.Event()

    @override
    def tell(self, message: ProviderCallEnded, /) -> None:
        self.event.set()
