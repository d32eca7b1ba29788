"""What answers questions about running containers, which change nothing. Pure."""

from __future__ import annotations

from typing import Final

from messages.units import Seconds, Timestamp
from runtimes.container_runtime import (
    ContainerStats,
    ExecEnded,
    ExecInContainer,
    RuntimeFailure,
    RuntimeFailureKind,
)
from runtimes.cri import rpcs
from runtimes.cri.inventory import bare_id
from runtimes.cri.operations.flow import Operation, RpcError, call
from runtimes.cri.operations.outcomes import failure_of
from runtimes.cri.wire.transport import RpcCode

_NANOSECONDS: Final = 1_000_000_000


def exec_in(question: ExecInContainer, within: Seconds) -> Operation[ExecEnded | RuntimeFailure]:
    """Run a command in a container, for ``within`` at the most. Raises ``RpcError``."""
    try:
        reply = yield from call(rpcs.exec_sync(bare_id(question.id), question.command, within))
    except RpcError as error:
        return _not_run(error, within)
    output = reply.stdout or reply.stderr
    return ExecEnded(exit_code=reply.exit_code, output=output.decode(errors="replace"))


def read_stats(container_id: str) -> Operation[ContainerStats]:
    """Ask what a container uses. Raises ``RpcError``."""
    reply = yield from call(rpcs.container_stats(bare_id(container_id)))
    stats = reply.stats
    return ContainerStats(
        id=container_id,
        at=Timestamp(stats.cpu.timestamp / _NANOSECONDS),
        cpu_nanocores=stats.cpu.usage_nano_cores.value,
        cpu_nanoseconds=stats.cpu.usage_core_nano_seconds.value,
        memory_bytes=stats.memory.working_set_bytes.value,
    )


def _not_run(error: RpcError, within: Seconds) -> RuntimeFailure:
    """Return why there is no exit code. What was too slow was killed: that is no doubt about anything."""
    code = error.failure.code
    if code is RpcCode.DEADLINE_EXCEEDED:
        text = f"the command did not end within {within:g} s"
        return RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message=text, reason="Timeout")
    if code is RpcCode.RESOURCE_EXHAUSTED:
        text = "the command wrote more than 16 MiB, and its exit code is lost"
        return RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message=text)
    return failure_of(error.failure)
