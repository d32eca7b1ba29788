"""How what operations of the runtime describe is carried out, and the lanes for what may block.

These are work on files of pods, cgroups, plugins and files of images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import Message
from typing_extensions import override

from kernel import JobStep, Lanes, LaneSize, OperationStep
from runtimes.cri.operations.flow import Disk, DiskJob, DiskLane
from runtimes.cri.wire.transport import Rpc, RpcOutcome, Wire


@dataclass(frozen=True, slots=True)
class RpcStep(OperationStep):
    """A call, over the wire. It has a deadline of its own there."""

    wire: Wire
    rpc: Rpc[Message]

    @override
    def begin(self, done: Callable[[RpcOutcome], None], /) -> None:
        self.wire.call(self.rpc, done)


def hands(wire: Wire, disk: Disk) -> Callable[[Any], OperationStep]:
    """Return what makes a step of a call or a job, which operations describe."""

    def step_of(described: Rpc[Message] | DiskJob[object]) -> OperationStep:
        if isinstance(described, DiskJob):
            lane, turn = described.lane, described.turn or None
            return JobStep(
                described.work,
                disk[lane],
                turn,
                waits=described.waits,
                is_due_anyway=lane.is_due_anyway,
            )
        return RpcStep(wire, described)

    return step_of


SIZES: Final = {
    DiskLane.FILES: LaneSize(64),
    DiskLane.CGROUPS: LaneSize(1, more=0),
    DiskLane.CGROUP_REMOVALS: LaneSize(4),
    DiskLane.REMOVALS: LaneSize(1, more=0),
    DiskLane.WORDS: LaneSize(4),
    DiskLane.LOGS: LaneSize(4),
    DiskLane.IMAGES: LaneSize(16),
}
"""A file system that hangs takes one thread for each container that uses it, however often that is tried
again: so there are more than pods that use one, and not any number. What is known of classes of cgroups is
one thread's alone, and each removal of files begins with those that an earlier one left: these two lanes have
no further thread while a job hangs."""


def disk_lanes() -> Disk:
    """Return lanes with threads of their own, which begin as they are needed."""
    return Lanes("cri", SIZES)
