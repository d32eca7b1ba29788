"""What the actor that speaks the interface hears, whom it tells, and what outlives its crashes.

Each operation has a purpose: who asked for it, and so what becomes of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from kernel import Followable, Key, LevelIs, OperationsMemory, Port, Shared
from messages.cluster import RuntimeClasses, RuntimeHandlers
from messages.container_runtime import (
    AskContainer,
    CallRuntime,
    ContainerRuntimeMessage,
    RuntimeFact,
)
from messages.container_runtime_health import DescribeContainerRuntime
from messages.events import PostEvent
from messages.node import RuntimeHasNews
from messages.pod_runtime import RuntimeNode
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.cri.events import SomethingHappened
from runtimes.cri.figures import CallFigures, CgroupFigures, PlegFigures
from runtimes.cri.inventory import CriInventory
from runtimes.cri.operations.looking import Greeting
from runtimes.cri.wire.transport import RpcFailure, RpcInFlight


@dataclass(frozen=True, slots=True, eq=False)
class Connect:
    """Find out which runtime there is and what it can do."""


@dataclass(frozen=True, slots=True, eq=False)
class LookAgain:
    """See what has changed of one pod, or of all if ``uid`` is None."""

    uid: PodUid | None


@dataclass(frozen=True, slots=True, eq=False)
class NoteExit:
    """Take an exit that an event told of, before the runtime says so itself."""

    uid: PodUid


@dataclass(frozen=True, slots=True, eq=False)
class CheckHealth:
    """Ask how the runtime and its network are."""


Purpose: TypeAlias = CallRuntime | AskContainer | Connect | LookAgain | NoteExit | CheckHealth


@dataclass(slots=True, eq=False)
class RunningOperation:
    """An operation that has not ended."""

    purpose: Purpose
    uid: PodUid | None
    """The pod that it changes something of; None if it changes nothing."""
    began: Seconds
    is_answered: bool = False
    """Whether who asked has been told what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTold:
    """The stream of events told something. It has to be the current stream."""

    stream: int
    happened: SomethingHappened | None
    """None if that concerns no container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnded:
    """The stream of events has ended."""

    stream: int
    failure: RpcFailure


@dataclass(frozen=True, slots=True)
class ForgetPodsBut:
    """Forget what is kept of pods that are none of these, and of which the runtime has nothing.

    So the user ids come back of pods that never got a sandbox.
    """

    known: frozenset[PodUid]
    """The pods that sources want, or that have lives on this node."""


CriRuntimeMessage: TypeAlias = (
    ContainerRuntimeMessage
    | DescribeContainerRuntime
    | LevelIs[RuntimeClasses, RuntimeHandlers]
    | StreamTold
    | StreamEnded
    | ForgetPodsBut
)

NOT_ASKED: Final = "it has not been asked yet"


def _name_of(message: CriRuntimeMessage) -> Hashable | None:
    """Name what needs be heard once: several events of one container lead to one look, but for its exit."""
    match message:
        case StreamTold(stream=stream, happened=happened):
            return StreamTold, stream, happened and (happened.id, happened.exited)
        case ForgetPodsBut():
            return ForgetPodsBut
        case _:
            return None


CRI_CONTAINERS: Final = Key[CriRuntimeMessage]("runtime/containers", coalesce=_name_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class CriPorts:
    """Whom it tells."""

    me: Port[CriRuntimeMessage]
    """Its own address, which outlives a crash: where events go."""
    images: Port[CallRuntime]
    """Who finds and pulls images."""
    events: Port[PostEvent] | None = None
    runtime_classes: Followable[RuntimeClasses, RuntimeHandlers] | None = None
    """Those of the cluster; None for an agent without a cluster, which has none."""
    node: Port[RuntimeHasNews] | None = None
    """Who reports the Node; None for an agent without a cluster."""
    endpoint: Callable[[], str] = str
    """Returns where the runtime is, for people; nothing while that is not known."""


class WaitingLook(NamedTuple):
    """A look that somebody asked for, and when."""

    call: CallRuntime
    since: Seconds


@dataclass(slots=True)
class CriMemory:
    """What outlives a life: what is known, what is in progress, and the stream of events."""

    inventory: CriInventory = field(default_factory=CriInventory)
    operations: OperationsMemory[RunningOperation] = field(default_factory=OperationsMemory)
    followers: list[Port[RuntimeFact]] = field(default_factory=list)
    looks: list[WaitingLook] = field(default_factory=list)
    """Looks at a pod that wait until no operation changes it."""
    handling: CallRuntime | AskContainer | None = None
    """What is being handled. A life that finds one here follows on a crash over it."""
    runtime_classes: Mapping[str, str] | None = None
    """The handlers of the cluster's RuntimeClasses, by name. None until they are known."""
    greeting: Greeting | None = None
    """What the runtime said of itself last."""
    away: str = NOT_ASKED
    """Why the runtime cannot be asked; empty while it can."""
    away_since: Seconds | None = None
    """When it was found to be away. By the monotonic clock."""
    is_down: bool = False
    """Whether it has been away for so long that the Node is not ready because of that."""
    reasons: set[str] = field(default_factory=set)
    """Why it could not be asked since it was there last, as far as that was told."""
    pleg_trouble: str = ""
    """What is wrong if nothing was seen for too long."""
    shown_node: Shared[RuntimeNode] = field(default_factory=lambda: Shared(RuntimeNode(version="")))
    """What the runtime says of the Node, for who reports that on another thread."""
    told_trouble: str = NOT_ASKED
    """What was wrong with the Node because of the runtime, when its reporter was told last."""
    pleg: PlegFigures = field(default_factory=PlegFigures)
    calls: CallFigures = field(default_factory=CallFigures)
    cgroups: CgroupFigures = field(default_factory=CgroupFigures)
    stream: int = 0
    """Counts the streams; the number of the current one."""
    open_stream: RpcInFlight | None = None
