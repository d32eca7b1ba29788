"""An exit that an event told of, before the runtime says so itself. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kernel import Operation
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxState
from messages.pods import PodUid
from runtimes.cri import rpcs
from runtimes.cri.configs.reading import container_observed
from runtimes.cri.inventory import ContainerExit, ContainerSeen
from runtimes.cri.operations.flow import call
from runtimes.cri.operations.surroundings import Surroundings
from runtimes.cri.operations.termination import with_message
from runtimes.cri.wire import cri_pb2 as cri

KILLED: Final = 137
"""The exit code of who was killed, by whomever."""


def take_exit(some_id: str, ended: ContainerExit, around: Surroundings) -> Operation[PodUid | None]:
    """Have the exit of a container or a sandbox known. Return the pod, or None if that is no news.

    Raises ``RpcError``.
    """
    sandbox = around.inventory.sandbox(some_id)
    if sandbox is None:
        return (yield from _take_exit_of_container(some_id, ended, around, is_open=True))
    if sandbox.observed.state is SandboxState.NOT_READY:
        return None
    around.inventory.note_stopped_sandbox(some_id, is_settled=False)
    return sandbox.pod.uid


def take_lost_exit(
    container_id: str, ended: ContainerExit, around: Surroundings
) -> Operation[ContainerObserved | None]:
    """Have the exit of a container known that the runtime has lost: it goes on for ever to say RUNNING.

    Return how the container is known to be; None if nobody knows it. Raises ``RpcError``.
    """
    yield from _take_exit_of_container(container_id, ended, around, is_open=False)
    seen = around.inventory.container(container_id)
    return None if seen is None else seen.observed


def _take_exit_of_container(
    container_id: str, ended: ContainerExit, around: Surroundings, *, is_open: bool
) -> Operation[PodUid | None]:
    """Have an exit known. It ``is_open`` if the runtime will say more of it."""
    seen = around.inventory.container(container_id)
    if seen is None or seen.observed.state is ContainerState.EXITED:
        return None
    status = cri.ContainerStatus()
    status.CopyFrom(seen.status)
    if not status.started_at:  # it ended before anybody saw that it had started
        reply = yield from call(rpcs.container_status(container_id))
        if reply.status.id != container_id:
            return None  # the next look tells
        status.CopyFrom(reply.status)
    status.state = cri.CONTAINER_EXITED
    status.exit_code = ended.exit_code
    status.finished_at = ended.at
    # What a runtime says of an exit. It alone knows of memory that ran out, and says so soon.
    status.reason = "Completed" if ended.exit_code == 0 else "Error"
    if not ended.at:
        status.reason = "Unknown"
    observed = container_observed(status, around.runtime())
    observed = yield from with_message(status, observed, around)
    observed = replace(observed, is_reason_open=is_open and ended.exit_code == KILLED)
    now = around.inventory.container(container_id)
    if now is None or now.observed.state is ContainerState.EXITED:
        return None  # it was seen meanwhile, or removed
    around.inventory.note_container(
        ContainerSeen(
            uid=seen.uid,
            sandbox_id=seen.sandbox_id,
            observed=observed,
            status=status,
            is_settled=not is_open,
        )
    )
    return seen.uid
