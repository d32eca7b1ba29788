"""The runtime that calls somebody's Python class, as ``--runtime MODULE:CLASS`` names it."""

from __future__ import annotations

from collections.abc import Callable

from kernel import Address, AnySpec, Port, isolated
from messages.events import PostEvent
from messages.pod_runtime import PodRuntimeMessage, RuntimeNode
from runtimes.virtual.actor import (
    VIRTUAL_RUNTIME,
    VirtualPorts,
    VirtualRuntime,
    VirtualRuntimeMessage,
)
from runtimes.virtual.calls import ThreadedCalls
from runtimes.virtual.loading import ProviderLoadError, attached, load_provider
from runtimes.virtual.memory import RuntimeContext, VirtualMemory, VirtualRules
from settings.errors import UsageError


class ProviderRuntime:
    """The one object of the class, what calls it, and what outlives a crash of the actor.

    ``address`` works once there is a system; ``events`` gives the address of the poster of events, or None
    for a standalone agent. Raises ``UsageError`` if the class cannot be used.
    """

    def __init__(
        self,
        provider: str,
        address: Address,
        events: Callable[[], Port[PostEvent] | None],
    ) -> None:
        self._address = address
        self._events = events
        self._memory = VirtualMemory()
        self._calls = ThreadedCalls()
        try:
            self._loaded = attached(
                load_provider(provider), RuntimeContext(self._memory, self._runtime)
            )
        except ProviderLoadError as error:
            raise UsageError(f"--runtime: {error}") from error

    def specs(self) -> tuple[AnySpec, ...]:
        """Return the spec of the actor. It is isolated: other actors do not fail with it."""
        return (isolated(VIRTUAL_RUNTIME, self._make),)

    def port(self) -> Port[PodRuntimeMessage]:
        """Return the address of the runtime of pods."""
        return self._runtime()

    def node(self) -> RuntimeNode | None:
        """Return what the class said last of the Node; None if it said nothing. On any thread."""
        return self._memory.node

    def _runtime(self) -> Port[VirtualRuntimeMessage]:
        return self._address(VIRTUAL_RUNTIME)

    def _make(self) -> VirtualRuntime:
        ports = VirtualPorts(events=self._events(), me=self._runtime())
        return VirtualRuntime(self._loaded, self._calls, ports, self._memory, VirtualRules())
