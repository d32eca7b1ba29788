"""What operations of the runtime are written with: its calls, and work on the disk. Pure.

An operation reads as if it called the runtime itself::

    def stopped(container_id: str) -> Operation[ContainerObserved]:
        yield from call(stop_container(container_id))
        status = yield from call(container_status(container_id))
        return observed(status)

They yield descriptions alone: ``Rpc`` and ``DiskJob``. Who carries them out is said where they are begun.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, TypeAlias, TypeVar

from google.protobuf.message import Message

from kernel import BusyError, Failure, Lanes, Operation, StepError, gather, wait_for
from messages.units import Seconds
from runtimes.cri.wire.transport import Rpc, RpcCode, RpcFailure

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
ReplyT = TypeVar("ReplyT", bound=Message)


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
    """What containers said when they ended. So no exit is seen late because of another pod's file system."""
    LOGS = "logs"
    """Reading logs for people, which may be long."""
    IMAGES = "images"
    """A few threads of their own: a plugin that hangs keeps no pod from its files."""

    @property
    def is_due_anyway(self) -> bool:
        """Whether its jobs are done though nobody waits for them any more: else something would be left."""
        return self in {DiskLane.REMOVALS, DiskLane.CGROUP_REMOVALS}


Disk: TypeAlias = Lanes[DiskLane]
"""Where work is done that may block. It belongs to the process."""

IN_PROGRESS: Final = "the disk has not answered an earlier attempt yet"


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
    """Do what ``flow`` does. Where the runtime does not have what that is about, it is done: return None."""
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

    Raises ``DiskError``, also if nothing has come of it ``within`` seconds after a thread was at it. Then it
    may go on.
    """
    job = DiskJob(work, lane, turn, waits)
    try:
        result: T = yield from wait_for(job, within)
    except (OSError, StepError) as error:
        raise DiskError(trouble_of(Failure(error))) from None
    return result
