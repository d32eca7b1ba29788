"""What answers questions about running containers, which change nothing. Pure."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from actors.logs.answers import container_log
from actors.logs.layout import LoggedPod
from kernel import Operation
from messages.container_runtime import (
    ContainerLog,
    ContainerStats,
    ExecEnded,
    ExecInContainer,
    ReadContainerLog,
    RuntimeFailure,
    RuntimeFailureKind,
)
from messages.units import Seconds, Timestamp
from runtimes.cri import rpcs
from runtimes.cri.inventory import bare_id
from runtimes.cri.operations.flow import DiskLane, RpcError, call, on_disk
from runtimes.cri.operations.outcomes import failure_of
from runtimes.cri.operations.surroundings import Surroundings
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


def read_log(
    question: ReadContainerLog, around: Surroundings
) -> Operation[ContainerLog | RuntimeFailure]:
    """Read the log of a container, whether it runs or has ended. Raises ``DiskError``."""
    seen = around.inventory.container(bare_id(question.id))
    sandbox = around.inventory.sandbox(seen.sandbox_id) if seen is not None else None
    if seen is None or sandbox is None:
        return RuntimeFailure(
            kind=RuntimeFailureKind.NOT_FOUND, message="there is no such container"
        )
    pod = LoggedPod(sandbox.pod.namespace, sandbox.pod.name, sandbox.pod.uid)
    root, attempt = Path(around.node().pod_logs_dir), seen.status.metadata.attempt
    read = partial(container_log, root, pod, seen.observed.name, attempt, question)
    return (yield from on_disk(read, DiskLane.LOGS))


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
