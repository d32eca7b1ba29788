"""Tells how the runtime is: who reports the Node, and who asks."""

from __future__ import annotations

from messages.container_runtime_health import ContainerRuntimeDescribed, DescribeContainerRuntime
from messages.node import RuntimeHasNews
from messages.pod_runtime import DescribeRuntime, RuntimeDescribed
from messages.units import Seconds, Timestamp
from runtimes.cri.describing import container_states, runtime_pods
from runtimes.cri.health import node_of, note_outage, pleg_trouble, trouble_of
from runtimes.cri.messages import CriMemory, CriPorts


class HealthReporter:
    """Notes what shows how the runtime is. A part of its actor, whose memory it changes."""

    def __init__(self, memory: CriMemory, ports: CriPorts) -> None:
        self._memory = memory
        self._ports = ports

    def begin(self, now: Seconds) -> None:
        """Count the time from now on, unless an earlier life has begun that."""
        if self._memory.pleg.since is None:
            self._memory.pleg.since = now

    def note_look(self, began: Seconds, now: Seconds, wall: Timestamp) -> None:
        """Take that everything was looked at."""
        self._memory.pleg.note_look(began, now, wall)
        if self._memory.open_stream is not None:
            self._memory.pleg.note_stream(self._memory.stream)
        self._memory.pleg_trouble = ""

    def examine(self, now: Seconds) -> None:
        """Count the calls, and see whether everything was looked at lately."""
        memory = self._memory
        memory.calls.count()
        memory.cgroups.count()
        has_looked = memory.pleg.looked is not None
        memory.pleg_trouble = pleg_trouble(memory.pleg.silence(now), has_looked=has_looked)
        self.tell_node(now)

    @property
    def is_well(self) -> bool:
        """Whether nothing is bad about the Node because of the runtime, nor is about to be."""
        return not (trouble_of(self._memory) or self._memory.away)

    def tell_node(self, now: Seconds) -> None:
        """Show what is bad, and tell who reports the Node if that is something else.

        The rest of a text may change too often.
        """
        note_outage(self._memory, now)
        self._memory.shown_node.replace(node_of(self._memory))
        trouble = trouble_of(self._memory).partition(":")[0]
        if trouble != self._memory.told_trouble:
            self._memory.told_trouble = trouble
            if self._ports.node is not None:
                self._ports.node.tell(RuntimeHasNews())

    def answer(self, question: DescribeRuntime | DescribeContainerRuntime, now: Seconds) -> None:
        """Tell who asks how the runtime is."""
        if isinstance(question, DescribeRuntime):
            question.reply_to.tell(self.described())
        else:
            question.reply_to.tell(self.described_in_full(now))

    def described(self) -> RuntimeDescribed:
        """Return how the runtime is, and what it runs."""
        greeting, everything = self._memory.greeting, self._memory.inventory.everything()
        return RuntimeDescribed(
            name=greeting.name if greeting is not None else "",
            version=greeting.version if greeting is not None else "",
            trouble=self._memory.away,
            pods=runtime_pods(everything),
            containers=container_states(everything),
        )

    def described_in_full(self, now: Seconds) -> ContainerRuntimeDescribed:
        """Return how the runtime is, with all that was counted."""
        memory, greeting = self._memory, self._memory.greeting
        return ContainerRuntimeDescribed(
            name=greeting.name if greeting is not None else "",
            version=greeting.version if greeting is not None else "",
            endpoint=self._ports.endpoint(),
            trouble=memory.away or (greeting.trouble if greeting is not None else ""),
            network_trouble=greeting.network_trouble if greeting is not None else "",
            pleg=memory.pleg.described(now),
            operations=memory.calls.described(),
            cgroups=memory.cgroups.described(),
        )
