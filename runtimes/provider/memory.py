"""What outlives a life of the runtime: commands, what is called, and what was observed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from typing_extensions import override

from kernel import Port, Shared
from messages.pod_runtime import Mark, PodsObserved, RunPod, RuntimeNode
from messages.pods import JsonObject, Pod, PodUid
from messages.units import Seconds
from runtimes.provider.calls import ProviderCall, ProviderChanged
from runtimes.provider.pod_provider import ProviderContext, UnreadObjectError
from runtimes.provider.pods import ProviderPod
from runtimes.provider.reports import Readings

V = TypeVar("V")

REMEMBERED: Final = 10_000
"""So many pods that were forgotten, or that nobody knows, are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRules:
    """How a provider is called."""

    poll: Seconds = Seconds(1.0)
    """How often ``observe`` is called at least."""
    deadline: Seconds = Seconds(30.0)
    """How long a call is waited for; ``stop`` has its grace in addition."""
    at_a_time: int = 32
    """Calls about pods that are under way at the same time."""
    most_hanging: int = 32
    """Calls about pods that were given up and have not returned. With more, no new call is made."""
    node_every: Seconds = Seconds(10.0)
    away_after: Seconds = Seconds(10.0)
    """After this time without an observation the pods are told that nothing can be seen."""


@dataclass(frozen=True, slots=True)
class CallOut:
    """A call that has not returned yet."""

    call: ProviderCall
    uid: PodUid | None
    due: float
    """When it is given up. Monotonic."""
    number: int = 0
    """Of an observation."""
    spec: JsonObject | None = field(default=None, repr=False)
    """Of the pod, as it was run or updated."""


@dataclass(slots=True)
class ProviderMemory:
    """One life of the runtime at a time uses it. Threads of the provider only read ``pods``."""

    pods: dict[PodUid, ProviderPod] = field(default_factory=dict)
    out: dict[int, CallOut] = field(default_factory=dict)
    """Calls under way, and those that were given up and have not returned."""
    last_ref: int = 0
    begun: int = 0
    """Observations that were begun."""
    observed: int = 0
    """The number of the newest one that was answered."""
    readings: Readings = field(default_factory=dict)
    """What it said."""
    forgotten: OrderedDict[PodUid, Mark] = field(default_factory=OrderedDict)
    """The last mark of pods of which nothing is left."""
    unknown: OrderedDict[PodUid, float] = field(default_factory=OrderedDict)
    """Pods that are reported and that nobody knows, and since when. Infinite once that was said."""
    followers: dict[Port[PodsObserved], None] = field(default_factory=dict)
    """Who ever asked what pods there are: each life tells them."""
    node: Shared[RuntimeNode | None] = field(default_factory=lambda: Shared(None))
    """What the class said of the Node last, for who reports that on another thread."""


class RuntimeContext(ProviderContext):
    """What the provider gets, for as long as the process lives."""

    def __init__(
        self, memory: ProviderMemory, runtime: Callable[[], Port[ProviderChanged]]
    ) -> None:
        self._memory = memory
        self._runtime = runtime

    @override
    def changed(self) -> None:
        self._runtime().tell(ProviderChanged())

    @override
    def resolve(self, pod: Pod, kind: str, name: str) -> Mapping[str, bytes]:
        known = self._memory.pods.get(pod.uid)
        for of, value in known.objects.items() if known is not None else ():
            if (of.kind.value, of.namespace, of.name) == (kind, pod.namespace, name):
                return value.data
        command = known.command if known is not None else None
        for of, why in command.unread.items() if isinstance(command, RunPod) else ():
            if (of.kind.value, of.namespace, of.name) == (kind, pod.namespace, name):
                raise UnreadObjectError(f'{kind.lower()} "{name}" {why}')
        raise LookupError(f"{kind} {pod.namespace}/{name} is not there")


def remember(what: OrderedDict[PodUid, V], uid: PodUid, value: V) -> None:
    """Remember ``value``, and forget the oldest if there are too many."""
    what[uid] = value
    what.move_to_end(uid)
    while len(what) > REMEMBERED:
        what.popitem(last=False)
