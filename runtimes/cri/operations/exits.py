"""How containers end: exits that events tell, last words, and tasks that containerd gets wrong. Pure.

An event tells an exit before the runtime's CRI says so.

containerd gives up a start whose caller has gone. If its shim had made the process already, the container
has exited for the CRI, and its task stays: no call of the CRI ends the task, and every removal fails because
of it. So we end it by containerd's own calls. Other runtimes do not know these calls.

While containerd 1.6 starts, it loses the exit of a container that ends just then: for the CRI this container
runs until containerd is started anew. StopContainer waits for ever for the end, and a removal is refused.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any, Final

from kernel import Operation, delay
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxState
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.cri import rpcs
from runtimes.cri.configs.reading import container_observed, last_words, message_of
from runtimes.cri.disk.last_words import read_last_words
from runtimes.cri.inventory import ContainerExit, ContainerSeen
from runtimes.cri.operations.flow import (
    DiskError,
    DiskLane,
    OperationContext,
    RpcError,
    call,
    is_uncertain,
    on_disk,
)
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import Rpc, RpcCode

KILLED: Final = 137
"""The exit code of a process that was killed."""

_HELD: Final = re.compile(r"cannot delete running task ([0-9A-Za-z_.-]{1,128})")
"""What containerd says of a container that has a task still."""
_RUNS: Final = re.compile(r'container "([0-9A-Za-z_.-]{1,128})": container is still running')
"""What its CRI says of a container that runs for it. One that really ran, it would have killed."""
LOOK_AT_AN_EXIT: Final = Seconds(0.5)
LOOKS_AT_AN_EXIT: Final = 20
"""It takes containerd up to 2.4 s to say of an exit on a machine with much to do."""
LOST: Final = ContainerExit(exit_code=255, at=0)
"""The exit of a container that has no task now. containerd says the same when it is started anew."""
LOOK_AT_AN_END: Final = Seconds(0.1)
LOOKS_AT_AN_END: Final = 20
"""A task is deleted once the shim has seen that what was killed has ended."""


def record_exit(
    some_id: str, ended: ContainerExit, context: OperationContext
) -> Operation[PodUid | None]:
    """Record the exit of a container or a sandbox. Return the pod, or None if the exit is known already.

    Raises ``RpcError``.
    """
    sandbox = context.inventory.sandbox(some_id)
    if sandbox is None:
        return (yield from _record_exit_of_container(some_id, ended, context, is_open=True))
    if sandbox.observed.state is SandboxState.NOT_READY:
        return None
    context.inventory.note_stopped_sandbox(some_id, is_settled=False)
    return sandbox.pod.uid


def record_lost_exit(
    container_id: str, ended: ContainerExit, context: OperationContext
) -> Operation[ContainerObserved | None]:
    """Record the exit of a container that the runtime has lost: it says RUNNING for ever.

    Return what is known of the container then; None if it is not known. Raises ``RpcError``.
    """
    yield from _record_exit_of_container(container_id, ended, context, is_open=False)
    seen = context.inventory.container(container_id)
    return None if seen is None else seen.observed


def _record_exit_of_container(
    container_id: str, ended: ContainerExit, context: OperationContext, *, is_open: bool
) -> Operation[PodUid | None]:
    """Record an exit. It ``is_open`` if the runtime will say more about it."""
    seen = context.inventory.container(container_id)
    if seen is None or seen.observed.state is ContainerState.EXITED:
        return None
    status = cri.ContainerStatus()
    status.CopyFrom(seen.status)
    if not status.started_at:  # it ended before we saw that it had started
        reply = yield from call(rpcs.container_status(container_id))
        if reply.status.id != container_id:
            return None  # the next look tells
        status.CopyFrom(reply.status)
    status.state = cri.CONTAINER_EXITED
    status.exit_code = ended.exit_code
    status.finished_at = ended.at
    # As a runtime would say it. It alone knows that memory ran out, and says so soon.
    status.reason = "Completed" if ended.exit_code == 0 else "Error"
    if not ended.at:
        status.reason = "Unknown"
    observed = container_observed(status, context.runtime())
    observed = yield from with_message(status, observed, context)
    observed = replace(observed, is_reason_open=is_open and ended.exit_code == KILLED)
    now = context.inventory.container(container_id)
    if now is None or now.observed.state is ContainerState.EXITED:
        return None  # it was seen meanwhile, or removed
    context.inventory.note_container(
        ContainerSeen(
            uid=seen.uid,
            sandbox_id=seen.sandbox_id,
            observed=observed,
            status=status,
            is_settled=not is_open,
        )
    )
    return seen.uid


def with_message(
    status: cri.ContainerStatus, observed: ContainerObserved, context: OperationContext
) -> Operation[ContainerObserved]:
    """Return what is observed, with the message that the container left if it has exited."""
    words = last_words(status, context.node().pod_logs_dir)
    if observed.state is not ContainerState.EXITED or words is None:
        return observed
    try:
        text = yield from on_disk(partial(read_last_words, words), DiskLane.WORDS)
    except DiskError:
        return observed
    return replace(observed, message=message_of(observed.message, text))


def removed(removal: Rpc[Any]) -> Operation[bool]:
    """Make a call that removes something, and end the tasks that keep it from that. Raises ``RpcError``.

    Return whether it is removed. If not, it has ended, and containerd removes it once it is started anew.
    """
    ended: set[str] = set()
    looks = 0
    while True:
        try:
            yield from call(removal)
        except RpcError as error:
            held, runs = (each.search(error.failure.message) for each in (_HELD, _RUNS))
            if runs is not None and (yield from end_task(runs[1], is_killed=False)) is not None:
                if looks == LOOKS_AT_AN_EXIT:
                    return False
                looks += 1
                yield from delay(LOOK_AT_AN_EXIT)  # it may be about to hear of the exit
                continue
            if held is None or held[1] in ended:
                raise
            ended.add(held[1])
            yield from end_task(held[1], is_killed=True)
        else:
            return True


def end_task(container_id: str, *, is_killed: bool) -> Operation[ContainerExit | None]:
    """Have a task deleted, after it was killed if it ``is_killed``. Return how it has ended.

    Return None if it runs on, or if this is not containerd. Raises ``RpcError`` if it may be either.
    """
    if is_killed:
        yield from _kill_task(container_id)
    for _ in range(LOOKS_AT_AN_END if is_killed else 1):
        try:
            deleted = yield from call(rpcs.delete_task(container_id))
        except RpcError as error:
            if is_uncertain(error.failure):
                raise
            if error.is_not_found:
                return LOST
            if error.failure.code is RpcCode.UNIMPLEMENTED:
                return None
            yield from delay(LOOK_AT_AN_END)
        else:
            return ContainerExit(deleted.exit_status, deleted.exited_at.ToNanoseconds())
    return None


def _kill_task(container_id: str) -> Operation[None]:
    try:
        yield from call(rpcs.kill_task(container_id))
    except RpcError as error:
        if is_uncertain(error.failure):
            raise  # any other failure: it has ended already
