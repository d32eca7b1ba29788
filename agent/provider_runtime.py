"""The runtime that calls somebody's Python class, as ``--runtime MODULE:CLASS`` names it."""

from __future__ import annotations

from collections.abc import Callable

from kernel import ChildSpec, Port, isolated
from messages.events import PostEvent
from messages.pod_runtime import RuntimeNode
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

    ``runtime`` gives the actor's address, once there is one; ``events`` that of the poster of events, or
    None for a standalone agent. Raises ``UsageError`` if the class cannot be used.
    """

    def __init__(
        self,
        provider: str,
        runtime: Callable[[], Port[VirtualRuntimeMessage]],
        events: Callable[[], Port[PostEvent] | None],
    ) -> None:
        self._runtime = runtime
        self._events = events
        self._memory = VirtualMemory()
        self._calls = ThreadedCalls()
        try:
            self._loaded = attached(
                load_provider(provider), RuntimeContext(self._memory, self._runtime)
            )
        except ProviderLoadError as error:
            raise UsageError(f"--runtime: {error}") from error

    def spec(self) -> ChildSpec[VirtualRuntimeMessage]:
        """Return the spec of the actor. It is isolated: other actors do not fail with it."""
        return isolated(VIRTUAL_RUNTIME, self._make)

    def node(self) -> RuntimeNode | None:
        """Return what the class said last of the Node; None if it said nothing. On any thread."""
        return self._memory.node

    def _make(self) -> VirtualRuntime:
        ports = VirtualPorts(events=self._events(), me=self._runtime())
        return VirtualRuntime(self._loaded, self._calls, ports, self._memory, VirtualRules())
