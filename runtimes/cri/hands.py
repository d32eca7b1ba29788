"""How what operations of the runtime describe is carried out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from typing_extensions import override

from kernel import OperationStep
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


@dataclass(frozen=True, slots=True)
class DiskStep(OperationStep):
    """Work that may block, on a thread."""

    disk: Disk
    job: DiskJob[object]

    @override
    def begin(self, done: Callable[[object], None], /) -> None:
        self.disk.start(self.job, done)


def hands(wire: Wire, disk: Disk) -> Callable[[Any], OperationStep]:
    """Return what makes a step of a call or a job, which operations describe."""

    def step_of(described: Rpc[Message] | DiskJob[object]) -> OperationStep:
        if isinstance(described, DiskJob):
            return DiskStep(disk, described)
        return RpcStep(wire, described)

    return step_of
