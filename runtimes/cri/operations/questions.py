"""Commands, logs and signals of running containers, for people. Pure.

Runtimes have no call for a signal. containerd and CRI-O tell the process id: the signal is sent from here,
to a process that is held and was then seen to be the container's. With other runtimes, and where this agent
cannot see that process, ``kill`` runs in the container, where its main process is number 1. In a pod that
shares its processes, or has those of the machine, number 1 is another process: nothing is sent that way
there.
"""

from __future__ import annotations

import json
import signal
from functools import partial
from pathlib import Path
from typing import Final, assert_never

from actors.logs.answers import container_log
from actors.logs.layout import LoggedPod
from kernel import Operation
from messages.container_runtime import (
    ContainerLog,
    ExecEnded,
    ExecInContainer,
    OpenAttach,
    OpenExec,
    OpenPortForward,
    OpenStream,
    ReadContainerLog,
    RuntimeFailure,
    RuntimeFailureKind,
    SignalContainer,
    StreamPlace,
)
from messages.pod_runtime import SandboxState
from messages.units import Seconds
from runtimes.cri import rpcs
from runtimes.cri.cgroups.container_signals import SignalOutcome, signal_container
from runtimes.cri.inventory import bare_id
from runtimes.cri.operations.flow import (
    DiskError,
    DiskLane,
    OperationContext,
    RpcError,
    call,
    failure_of,
    on_disk,
    one_line,
)
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode

KILL_WITHIN: Final = Seconds(10.0)
_LONGEST_REASON: Final = 300
_ENDED: Final = RuntimeFailure(
    kind=RuntimeFailureKind.NOT_FOUND, message="its main process has ended (ESRCH)"
)


def exec_in(question: ExecInContainer, within: Seconds) -> Operation[ExecEnded | RuntimeFailure]:
    """Run a command in a container, for ``within`` at the most. Raises ``RpcError``."""
    try:
        reply = yield from call(rpcs.exec_sync(bare_id(question.id), question.command, within))
    except RpcError as error:
        return _not_run(error, within)
    output = reply.stdout or reply.stderr
    return ExecEnded(exit_code=reply.exit_code, output=output.decode(errors="replace"))


def read_log(
    question: ReadContainerLog, context: OperationContext
) -> Operation[ContainerLog | RuntimeFailure]:
    """Read the log of a container, whether it runs or has ended. Raises ``DiskError``."""
    seen = context.inventory.container(bare_id(question.id))
    sandbox = context.inventory.sandbox(seen.sandbox_id) if seen is not None else None
    if seen is None or sandbox is None:
        return RuntimeFailure(
            kind=RuntimeFailureKind.NOT_FOUND, message="there is no such container"
        )
    pod = LoggedPod(sandbox.pod.namespace, sandbox.pod.name, sandbox.pod.uid)
    root, attempt = Path(context.node().pod_logs_dir), seen.status.metadata.attempt
    read = partial(container_log, root, pod, seen.observed.name, attempt, question)
    return (yield from on_disk(read, DiskLane.LOGS))


def open_stream(
    question: OpenStream, context: OperationContext
) -> Operation[StreamPlace | RuntimeFailure]:
    """Ask where a stream can be had. Raises ``RpcError``."""
    match question:
        case OpenExec():
            container_id = bare_id(question.id)
            exec_at = yield from call(
                rpcs.exec_stream(container_id, question.command, question.streams)
            )
            return StreamPlace(url=exec_at.url)
        case OpenAttach():
            attach_at = yield from call(rpcs.attach_stream(bare_id(question.id), question.streams))
            return StreamPlace(url=attach_at.url)
        case OpenPortForward():
            sandboxes = context.inventory.contents(question.uid)
            if not sandboxes or sandboxes[0].sandbox.state is not SandboxState.READY:
                return RuntimeFailure(
                    kind=RuntimeFailureKind.NOT_FOUND, message="the pod has no sandbox that runs"
                )
            forward_at = yield from call(
                rpcs.port_forward_stream(sandboxes[0].sandbox.id, question.ports)
            )
            return StreamPlace(url=forward_at.url)
        case _:
            assert_never(question)


def _not_run(error: RpcError, within: Seconds) -> RuntimeFailure:
    """Return why there is no exit code. A command that was too slow was killed, so its end is certain."""
    code = error.failure.code
    if code is RpcCode.DEADLINE_EXCEEDED:
        text = f"the command did not end within {within:g} s"
        return RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message=text, reason="Timeout")
    if code is RpcCode.RESOURCE_EXHAUSTED:
        text = "the command wrote more than 16 MiB, and its exit code is lost"
        return RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message=text)
    return failure_of(error.failure)


def signal_to(
    request: SignalContainer, context: OperationContext
) -> Operation[RuntimeFailure | None]:
    """Send the signal, or say why it was not sent. Raises ``RpcError``."""
    bare, number = bare_id(request.id), signal.Signals[request.signal]
    reply = yield from call(rpcs.container_status(bare, verbose=True))
    if reply.status.state != cri.CONTAINER_RUNNING:
        return _ENDED
    pid, trouble, is_gone = _told_pid(reply), "the runtime does not tell its process id", False
    if pid:
        try:
            sent = yield from on_disk(partial(signal_container, pid, bare, number))
        except DiskError as error:
            trouble = f"process {pid} cannot be reached: {error}"
        else:
            if sent is SignalOutcome.SENT:
                return None
            again = yield from call(rpcs.container_status(bare))
            if again.status.state != cri.CONTAINER_RUNNING:
                return _ENDED
            trouble, is_gone = f"process {pid} is not its own", sent is SignalOutcome.GONE
    why_not = yield from _run_kill(bare, number, context)
    if is_gone and why_not:
        return _ENDED  # the runtime says so a moment later
    return _refused(f"{trouble}, and {why_not}") if why_not else None


def _told_pid(reply: cri.ContainerStatusResponse) -> int:
    """Return the process id that the runtime tells; 0 if it tells none."""
    try:
        told = json.loads(reply.info.get("info", ""))
    except ValueError:
        return 0
    pid = told.get("pid") if isinstance(told, dict) else None
    return pid if isinstance(pid, int) and pid > 1 else 0


def _run_kill(
    container_id: str, number: signal.Signals, context: OperationContext
) -> Operation[str]:
    """Run ``kill`` in a container. Return why the signal was not sent; empty if it was."""
    known = context.inventory.container(container_id)
    if known is None:
        return "nobody knows its pod"
    seen = yield from call(rpcs.sandbox_status(known.sandbox_id))
    if seen.status.linux.namespaces.options.pid != cri.CONTAINER:
        return "its pod shares process ids, so that kill in it would reach somebody else"
    command = ("kill", "-s", number.name.removeprefix("SIG"), "1")
    try:
        ended = yield from call(rpcs.exec_sync(container_id, command, KILL_WITHIN))
    except RpcError as error:
        return f"kill cannot be run in it: {_short(error.failure.message)}"
    if ended.exit_code:
        said = _short((ended.stderr or ended.stdout).decode(errors="replace"))
        return f"kill in it ended with {ended.exit_code}: {said}"
    return ""


def _short(text: str) -> str:
    return one_line(text)[:_LONGEST_REASON]


def _refused(message: str) -> RuntimeFailure:
    return RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message=message)
