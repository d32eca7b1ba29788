"""What a start of a container takes when the runtime does not do it at once."""

from __future__ import annotations

from typing import Any

import pytest

from actors.volumes.mounts.system_calls import KernelMounts
from files.cgroups.names import CgroupOptions
from kernel import Delay, Operation, carried_out
from messages.pod_runtime import ContainerObserved, ContainerState
from runtimes.cri.cgroups.opening import open_cgroups
from runtimes.cri.configs.node import CriNode
from runtimes.cri.inventory import CriInventory
from runtimes.cri.operations.containers import LOOKS_AT_A_START, start
from runtimes.cri.operations.flow import OperationContext, RpcError
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure

STARTING = RpcFailure(code=RpcCode.OTHER, message="container is already in starting state")
REFUSED = RpcFailure(code=RpcCode.OTHER, message="no such command")
CREATED, RUNNING, EXITED = cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED


def begin() -> Operation[ContainerObserved]:
    context = OperationContext(
        inventory=CriInventory(),
        node=lambda: CriNode(name="n1", root_dir="/var/lib/kubelet"),
        runtime=lambda: "containerd",
        cgroups=open_cgroups(CgroupOptions(per_qos=False)),
        mounts=KernelMounts(),
        notice=lambda _pod, _notice: None,
    )
    return start("containerd://c1", context)


def started(
    start_outcome: RpcFailure | cri.StartContainerResponse, *states: cri.ContainerState
) -> tuple[ContainerObserved, int]:
    """Return the answer to a start, and how often it waited; the runtime shows ``states`` in turn."""
    shown, delays = list(states), 0

    def outcome_of(step: Any) -> object:
        nonlocal delays
        if isinstance(step, Delay):
            delays += 1
            return None
        return start_outcome if "Start" in step.method else status_of(shown.pop(0))

    return carried_out(begin(), outcome_of), delays


def status_of(state: cri.ContainerState) -> cri.ContainerStatusResponse:
    status = cri.ContainerStatus(id="c1", state=state, metadata=cri.ContainerMetadata(name="main"))
    return cri.ContainerStatusResponse(status=status)


def test_one_that_starts_is_looked_at_once() -> None:
    answer, delays = started(cri.StartContainerResponse(), RUNNING)
    assert (answer.state, delays) == (ContainerState.RUNNING, 0)


def test_one_that_cannot_start_is_answered_as_the_runtime_shows_it() -> None:
    answer, delays = started(REFUSED, EXITED)
    assert (answer.state, delays) == (ContainerState.EXITED, 0)


def test_one_that_stays_created_was_refused() -> None:
    with pytest.raises(RpcError, match="no such command"):
        started(REFUSED, CREATED)


@pytest.mark.parametrize("becomes", [RUNNING, EXITED])
def test_a_start_that_another_process_began_is_waited_for(becomes: cri.ContainerState) -> None:
    answer, delays = started(STARTING, CREATED, CREATED, becomes)
    assert answer.state is not ContainerState.CREATED
    assert delays == 2


def test_a_start_that_another_process_began_is_not_waited_for_without_end() -> None:
    with pytest.raises(RpcError, match="already in starting state"):
        started(STARTING, *[CREATED] * (LOOKS_AT_A_START + 1))
