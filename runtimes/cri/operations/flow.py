"""What operations are written with: calls, work on the disk, their failures, and what they need. Pure.

An operation reads as if it called the runtime itself: ``status = yield from call(container_status(id))``. It
yields descriptions alone, ``Rpc`` and ``DiskJob``; the actor that begins it has them carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Final, Generic, TypeAlias, TypeVar

from google.protobuf.message import Message

from actors.volumes.mounts.system_calls import MountCalls
from files.cgroups.names import CgroupOptions
from kernel import BusyError, Failure, Lanes, Operation, StepError, gather, wait_for
from messages.container_runtime import RuntimeFailure, RuntimeFailureKind
from messages.pods import Pod, PodUid
from messages.units import Seconds
from runtimes.cri.cgroups.container_limits import CgroupFacts
from runtimes.cri.cgroups.pod_cgroups import PodCgroups, turn_of
from runtimes.cri.configs.documents import ConfigNotice
from runtimes.cri.configs.namespaces import UserIdRanges
from runtimes.cri.configs.node import CriNode
from runtimes.cri.inventory import CriInventory
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import Rpc, RpcCode, RpcFailure

LONGEST_MESSAGE: Final = 4096
"""Characters. A runtime can answer with whatever a program has written."""

_KINDS: Final = {
    RpcCode.UNAVAILABLE: RuntimeFailureKind.UNCERTAIN,
    RpcCode.DEADLINE_EXCEEDED: RuntimeFailureKind.UNCERTAIN,
    RpcCode.CANCELLED: RuntimeFailureKind.UNCERTAIN,
    RpcCode.UNIMPLEMENTED: RuntimeFailureKind.UNSUPPORTED,
    RpcCode.NOT_FOUND: RuntimeFailureKind.NOT_FOUND,
}

STARTING: Final = "server is not initialized yet"
"""What containerd answers until it has read its own state."""
NO_INTERFACE: Final = "unknown service runtime.v1.RuntimeService"
"""What a containerd answers whose part for containers is switched off, or could not be loaded."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
ReplyT = TypeVar("ReplyT", bound=Message)

IN_PROGRESS: Final = "the disk has not answered an earlier attempt yet"

IMAGE_DEADLINE: Final = Seconds(90.0)
"""From when a thread is at a job: it may take a minute, as long as a credential plugin has."""


def failure_of(failure: RpcFailure) -> RuntimeFailure:
    """Return what a call without a reply means for the request that it belongs to."""
    kind = _KINDS.get(failure.code, RuntimeFailureKind.REFUSED)
    is_outage = is_away(failure)
    if is_outage:
        kind = RuntimeFailureKind.UNCERTAIN
    return RuntimeFailure(kind=kind, message=one_line(failure.message), is_away=is_outage)


def failure_of_disk(message: str) -> RuntimeFailure:
    """Return what a failure of the disk means: another time it may go well."""
    return RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message=one_line(message))


def is_away(failure: RpcFailure) -> bool:
    """Return whether the runtime cannot be asked at present.

    It does not listen, has just started, or came back without the part that runs containers. That says
    nothing about the request of a pod.
    """
    is_switched_off = failure.code is RpcCode.UNIMPLEMENTED and NO_INTERFACE in failure.message
    return failure.code is RpcCode.UNAVAILABLE or STARTING in failure.message or is_switched_off


def is_uncertain(failure: RpcFailure) -> bool:
    """Return whether the call may have had its effect."""
    return failure_of(failure).kind is RuntimeFailureKind.UNCERTAIN


def one_line(text: str) -> str:
    """Return ``text`` for people: as one line, of a length that can be shown."""
    return " ".join(text.split())[:LONGEST_MESSAGE]


class RpcError(StepError):
    """The runtime did not reply. ``failure`` says why."""

    def __init__(self, failure: RpcFailure) -> None:
        super().__init__(f"{failure.code}: {failure.message}")
        self.failure = failure

    @property
    def is_not_found(self) -> bool:
        """Whether there is no such thing."""
        return self.failure.code is RpcCode.NOT_FOUND


class DiskError(StepError):
    """Work on the disk failed. The text is for people."""


class DiskLane(StrEnum):
    """Which threads do a job."""

    FILES = "files"
    """A few threads: jobs of different pods are independent."""
    CGROUPS = "cgroups"
    """One thread makes and limits cgroups: what is known of classes of pods is its alone."""
    CGROUP_REMOVALS = "cgroup removals"
    """A few threads, each for the cgroup of one pod. It may take seconds until what is killed has ended."""
    REMOVALS = "removals"
    """One thread: each removal also finishes what an earlier process left."""
    WORDS = "words"
    """Last words of containers. They have threads of their own, so that no exit is seen late because of
    another pod's file system."""
    LOGS = "logs"
    """Reading logs for people, which may be long."""
    IMAGES = "images"
    """A few threads of their own: a plugin that hangs keeps no pod from its files."""

    @property
    def is_due_anyway(self) -> bool:
        """Whether its jobs are done though their operation was given up: else something would be left."""
        return self in {DiskLane.REMOVALS, DiskLane.CGROUP_REMOVALS}


Disk: TypeAlias = Lanes[DiskLane]
"""Where work is done that may block. It belongs to the process."""


@dataclass(frozen=True, slots=True)
class DiskJob(Generic[T_co]):
    """Work that may block, for a thread of its own. Raises ``OSError`` or ``DiskError``."""

    work: Callable[[], T_co] = field(repr=False)
    lane: DiskLane = DiskLane.FILES
    turn: str = ""
    """What it is about. Jobs of the same turn are done one after the other, in the order in which they were
    begun, whatever their lanes are. One that has to wait takes no thread. Empty for a job that may be done
    beside any other."""
    waits: bool = True
    """Whether it waits for its turn. Else it fails at once while another job of the turn has not ended."""


def trouble_of(failure: Failure) -> str:
    """Return why a job has no result, for people."""
    error = failure.error
    return IN_PROGRESS if isinstance(error, BusyError) else str(error) or type(error).__name__


def call(rpc: Rpc[ReplyT], within: Seconds | None = None) -> Operation[ReplyT]:
    """Make one call and return its reply. Raises ``RpcError``.

    Raises ``LateError`` if there is no reply ``within`` seconds. The call goes on then.
    """
    outcome = yield from wait_for(rpc, within)
    if isinstance(outcome, RpcFailure):
        raise RpcError(outcome)
    reply: ReplyT = outcome
    return reply


def call_all(rpcs: Sequence[Rpc[ReplyT]]) -> Operation[list[ReplyT | RpcFailure]]:
    """Make all calls, some at a time, and return their outcomes in order."""
    outcomes = yield from gather(rpcs)
    for each in outcomes:
        if isinstance(each, Failure):
            raise each.error  # it could not be sent
    return outcomes


def unless_gone(flow: Operation[T]) -> Operation[T | None]:
    """Do ``flow``. Return None if the runtime does not have its object: then nothing is left to do."""
    try:
        return (yield from flow)
    except RpcError as error:
        if not error.is_not_found:
            raise
        return None


def on_disk(
    work: Callable[[], T],
    lane: DiskLane = DiskLane.FILES,
    turn: str = "",
    within: Seconds | None = None,
    *,
    waits: bool = True,
) -> Operation[T]:
    """Do ``work`` on a thread that may block, and return its result.

    Raises ``DiskError``, also if it has not ended ``within`` seconds after a thread began it. Then it may go
    on.
    """
    job = DiskJob(work, lane, turn, waits)
    try:
        result: T = yield from wait_for(job, within)
    except (OSError, StepError) as error:
        raise DiskError(trouble_of(Failure(error))) from None
    return result


def on_cgroups(work: Callable[[], T], uid: PodUid) -> Operation[T]:
    """Make or limit the cgroup of a pod. Raises ``DiskError``."""
    return (yield from on_disk(work, DiskLane.CGROUPS, turn=turn_of(uid)))


def without_cgroup(uid: PodUid, cgroups: PodCgroups) -> Operation[bool]:
    """Remove the cgroup of a pod, and return whether it is gone. Raises ``DiskError``."""
    work = partial(cgroups.remove, uid)
    return (yield from on_disk(work, DiskLane.CGROUP_REMOVALS, turn=turn_of(uid)))


def on_images(work: Callable[[], T], turn: str = "") -> Operation[T]:
    """Do ``work`` on a thread. Raises ``DiskError``, also if it hangs: a file system may be away."""
    return (yield from on_disk(work, DiskLane.IMAGES, turn=turn, within=IMAGE_DEADLINE))


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationContext:
    """The inventory, the node, and the cgroups that no runtime makes."""

    inventory: CriInventory
    node: Callable[[], CriNode]
    """The node, with what the runtime has said last that it can do."""
    runtime: Callable[[], str]
    """The runtime's name, which ids begin with."""
    cgroups: PodCgroups
    """Its methods block: work for the threads of cgroups."""
    mounts: MountCalls
    """The kernel. Its calls block: work for the threads of the disk."""
    cgroup_options: CgroupOptions = field(default_factory=CgroupOptions)
    cgroup_facts: CgroupFacts = field(default_factory=CgroupFacts)
    images: dict[str, cri.Image] = field(default_factory=dict)
    """What is known of images, by their ids."""
    allocatable: Mapping[str, str] = field(default_factory=dict)
    """What the node has for pods, as quantities."""
    user_ids: UserIdRanges = field(default_factory=UserIdRanges)
    notice: Callable[[Pod, ConfigNotice], None]
    """Tells people something about a pod."""
    said: dict[PodUid, set[ConfigNotice]] = field(default_factory=dict)
    """What they were told."""

    def say(self, pod: Pod, notice: ConfigNotice) -> None:
        """Tell people something about a pod, once."""
        said = self.said.setdefault(pod.uid, set())
        if notice not in said:
            said.add(notice)
            self.notice(pod, notice)

    def pods(self) -> frozenset[PodUid]:
        """Return the pods about which something is kept here."""
        return self.user_ids.pods() | self.said.keys()

    def forget(self, uid: PodUid) -> None:
        """Forget a pod that has ended. Its user ids are free again."""
        self.user_ids.release(uid)
        self.said.pop(uid, None)
