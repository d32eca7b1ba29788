"""How what operations of the runtime describe is carried out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from typing_extensions import override

from kernel import JobStep, OperationStep
from runtimes.cri.operations.flow import Disk, DiskJob
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
