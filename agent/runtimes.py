"""The actors of the runtimes that need no machine of their own: hollow pods, and a Python class."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from typing_extensions import override

from actors.events.recorder import EVENT_RECORDER
from actors.probes.command_turns import CommandTurns
from actors.probes.loop_messages import PROBE_LOOP, MakeLoop, ProbeLoopMemory, ProbeLoopPorts
from actors.probes.loop_owner import ProbeLoopOwner
from agent.composition import Composition
from agent.edges import ProviderEdges
from agent.runtime_record import HOLLOW_FILE
from files.record_keeper import RecordKeeper, RecordMemory
from kernel import Port
from messages.pod_runtime import RuntimeNode
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.containers.actor import POD_RUNTIME, ContainersOptions, ContainersRuntime
from runtimes.containers.record import RuntimeMemory
from runtimes.hollow.actor import HOLLOW_CONTAINERS, HollowContainers, HollowMemory
from runtimes.hollow.core import HollowCore
from runtimes.hollow.record_file import HOLLOW_RECORDS, HollowRecordFile
from runtimes.hollow.rules import rules_of
from runtimes.hollow.saved import SavedPod
from runtimes.provider.actor import PROVIDER_RUNTIME, PodProviderRuntime
from runtimes.provider.calls import (
    ProviderCall,
    ProviderCallEnded,
    ProviderCalls,
    Returned,
)
from runtimes.provider.loading import (
    LoadedProvider,
    ProviderLoadError,
    attached,
    load_provider,
)
from runtimes.provider.memory import ProviderMemory, ProviderRules, RuntimeContext
from runtimes.provider.pods import Method
from runtimes.provider.reports import UNTOLD, sound_node
from settings.errors import UsageError
from settings.version import version

FIRST_NODE_WITHIN: Final = Seconds(5.0)
"""How long the start of the agent waits for the first answer about the Node."""

COMMANDS_PER_CORE: Final = 2
"""Commands of probes that run at once. More of them end no more of them a second (measured)."""


def hollow_record_memory(agent: Composition) -> RecordMemory[PodUid, SavedPod]:
    """Return what is not on disk yet of hollow containers."""
    return RecordMemory(HollowRecordFile(agent.settings.root_dir / HOLLOW_FILE))


def hollow_records(
    _agent: Composition, memory: RecordMemory[PodUid, SavedPod]
) -> RecordKeeper[PodUid, SavedPod]:
    """Return the actor that keeps the records of hollow containers."""
    return RecordKeeper(memory)


def hollow_memory(agent: Composition) -> HollowMemory:
    """Return hollow containers: they run on when their actor crashes."""
    told, make_core = agent.runtime.hollow, agent.edges.hollow or HollowCore
    return HollowMemory(
        core=make_core(rules_of(told.times, agent.settings.pod_networks, told.seed))
    )


def hollow_containers(agent: Composition, memory: HollowMemory) -> HollowContainers:
    """Return the actor that runs hollow containers."""
    return HollowContainers(version(), memory, agent.port_if_any(HOLLOW_RECORDS))


def hollow_runtime(agent: Composition, memory: RuntimeMemory) -> ContainersRuntime:
    """Return the actor that runs pods in hollow containers."""
    containers = agent.port(HOLLOW_CONTAINERS)
    hooks = containers  # nothing is really run or connected to
    options = ContainersOptions(longest_backoff=agent.settings.longest_restart_pause)
    me, events = agent.port(POD_RUNTIME), agent.port(EVENT_RECORDER)
    return ContainersRuntime(containers, hooks, me, memory, options, events)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """The one object of the class, what calls it, and what outlives a crash of the actor."""

    loaded: LoadedProvider
    calls: ProviderCalls
    memory: ProviderMemory = field(default_factory=ProviderMemory)

    def node(self) -> RuntimeNode:
        """Return what the class said last of the Node, or what is so of each such one. On any thread."""
        return self.memory.node.value or UNTOLD


def provider(agent: Composition) -> Provider:
    """Return the object of the class that the settings name, which has been asked for its Node.

    Raises ``UsageError`` if the class cannot be used.
    """
    edges = agent.edges.provider or ProviderEdges(
        load=load_provider, calls=lambda: agent.process.provider_calls
    )
    memory, calls = ProviderMemory(), edges.calls()
    context = RuntimeContext(memory, partial(agent.port, PROVIDER_RUNTIME))
    try:
        loaded = attached(edges.load(agent.runtime.provider), context)
    except ProviderLoadError as error:
        raise UsageError(f"--runtime: {error}") from error
    memory.node.replace(first_node(loaded, calls))
    return Provider(loaded=loaded, calls=calls, memory=memory)


def provider_memory(agent: Composition) -> Provider:
    """Return the same object for all who need it."""
    return agent.shared(provider)


def _probe_loop_memory() -> ProbeLoopMemory:
    return ProbeLoopMemory(turns=CommandTurns(COMMANDS_PER_CORE * (os.cpu_count() or 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeParts:
    """What makes the loop of probes, and what outlives crashes of its owner."""

    make_loop: MakeLoop
    memory: ProbeLoopMemory = field(default_factory=_probe_loop_memory)


def probe_parts(agent: Composition) -> ProbeParts:
    """Return what carries out the probes of pods that really run."""
    return ProbeParts(make_loop=agent.edges.probe_loop or agent.process.probe_loops)


def provider_probes(agent: Composition, parts: ProbeParts) -> ProbeLoopOwner:
    """Return the actor that carries probes out, as far as that can be done from outside."""
    ports = ProbeLoopPorts(containers=None, me=agent.port(PROBE_LOOP))
    return ProbeLoopOwner(ports, parts.memory, parts.make_loop)


def provider_runtime(agent: Composition, known: Provider) -> PodProviderRuntime:
    """Return the actor that has the class run pods."""
    me, events = agent.port(PROVIDER_RUNTIME), agent.port(EVENT_RECORDER)
    return PodProviderRuntime(known.loaded, known.calls, me, known.memory, ProviderRules(), events)


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
