"""How a container is ended and removed when containerd has a task that its CRI does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from kernel import Delay, carried_out
from runtimes.cri import rpcs
from runtimes.cri.operations.exits import LOOKS_AT_AN_END, LOOKS_AT_AN_EXIT, removed
from runtimes.cri.operations.flow import RpcError
from runtimes.cri.wire import containerd_tasks_pb2 as tasks
from runtimes.cri.wire.transport import Rpc, RpcCode, RpcFailure

GONE = RpcFailure(code=RpcCode.NOT_FOUND, message="no such task")
RUNS = RpcFailure(code=RpcCode.OTHER, message="task must be stopped before deletion")
AWAY = RpcFailure(code=RpcCode.UNAVAILABLE, message="connection refused")
DELETED, KILLED = tasks.DeleteResponse(), Empty()


class Tasks:
    """What a containerd has of tasks: how often each is said to run yet, once it was killed."""

    def __init__(self, kill: Message | RpcFailure = KILLED, **left: int) -> None:
        self.left = left
        self.kill = kill
        self.asked: list[str] = []

    def remove(self, rpc: Rpc[Message]) -> Message | RpcFailure:
        held = next(iter(self.left), None)
        if held is None:
            return rpc.reply()
        message = f'failed to delete container "{held}": cannot delete running task {held}: failed'
        return RpcFailure(code=RpcCode.OTHER, message=message)

    def delete(self, task: str) -> Message | RpcFailure:
        if task not in self.left:
            return GONE
        self.left[task] -= 1
        if self.left[task] >= 0:
            return RUNS
        del self.left[task]
        return DELETED

    def answer(self, rpc: Rpc[Any]) -> Message | RpcFailure:
        method = rpc.method.rpartition("/")[2]
        if method.startswith("Remove"):
            self.asked.append(method)
            return self.remove(rpc)
        assert rpc.namespace == "k8s.io"
        request: Any = rpc.request
        self.asked.append(f"{method} {request.container_id}")
        return self.kill if method == "Kill" else self.delete(request.container_id)


def is_removed(rpc: Rpc[Any], answer: Callable[[Any], object]) -> bool:
    return carried_out(removed(rpc), lambda step: None if isinstance(step, Delay) else answer(step))


def test_a_removal_that_nothing_keeps_is_one_call() -> None:
    containerd = Tasks()
    assert is_removed(rpcs.remove_container("a"), containerd.answer)
    assert containerd.asked == ["RemoveContainer"]


def test_a_task_that_keeps_a_container_is_killed_and_deleted_once_it_has_ended() -> None:
    containerd = Tasks(a=2)
    is_removed(rpcs.remove_container("a"), containerd.answer)
    deletes = ["Delete a"] * 3
    assert containerd.asked == ["RemoveContainer", "Kill a", *deletes, "RemoveContainer"]


def test_each_task_that_keeps_a_sandbox_is_ended() -> None:
    containerd = Tasks(a=0, b=0)
    is_removed(rpcs.remove_sandbox("s"), containerd.answer)
    assert [each for each in containerd.asked if "Kill" in each] == ["Kill a", "Kill b"]
    assert containerd.asked[-1] == "RemovePodSandbox"


def test_a_task_that_has_ended_by_itself_is_deleted() -> None:
    containerd = Tasks(GONE, a=0)
    is_removed(rpcs.remove_container("a"), containerd.answer)
    assert not containerd.left


def test_a_task_that_never_ends_keeps_its_container_and_is_not_waited_for_without_end() -> None:
    containerd = Tasks(a=1000)
    with pytest.raises(RpcError, match="cannot delete running task a"):
        is_removed(rpcs.remove_container("a"), containerd.answer)
    assert containerd.asked.count("Delete a") == LOOKS_AT_AN_END
    assert containerd.asked.count("Kill a") == 1


def test_a_task_that_others_have_deleted_is_no_trouble() -> None:
    containerd = Tasks(a=0)

    def answer(rpc: Rpc[Any]) -> Message | RpcFailure:
        if "Kill" in rpc.method:
            containerd.left.clear()
        return containerd.answer(rpc)

    is_removed(rpcs.remove_container("a"), answer)
    assert containerd.asked[-2:] == ["Delete a", "RemoveContainer"]


@pytest.mark.parametrize("method", ["Kill", "Delete"])
def test_a_runtime_that_goes_away_meanwhile_is_the_failure(method: str) -> None:
    containerd = Tasks(a=0)
    with pytest.raises(RpcError, match="connection refused"):
        is_removed(
            rpcs.remove_container("a"),
            lambda rpc: AWAY if rpc.method.endswith(method) else containerd.answer(rpc),
        )


@pytest.mark.parametrize("outcome", [DELETED, GONE, RUNS])
def test_what_containerd_believes_to_run_has_ended_if_it_has_no_task_that_runs(
    outcome: Message | RpcFailure,
) -> None:
    text = (
        'failed to set removing state for container "a": container is still running, to stop first'
    )
    asked: list[str] = []

    def answer(rpc: Rpc[Any]) -> Message | RpcFailure:
        asked.append(rpc.method.rpartition("/")[2])
        if asked[-1] == "Delete":
            return outcome
        return RpcFailure(code=RpcCode.OTHER, message=text)

    if outcome is not RUNS:
        assert not is_removed(rpcs.remove_container("a"), answer)
    else:
        with pytest.raises(RpcError, match="still running"):
            is_removed(rpcs.remove_container("a"), answer)
    looks = 1 if outcome is RUNS else LOOKS_AT_AN_EXIT + 1
    assert asked == ["RemoveContainer", "Delete"] * looks


def test_what_containerd_is_about_to_hear_the_exit_of_is_removed_a_moment_later() -> None:
    text = 'failed for container "a": container is still running, to stop first'
    outcomes = {"RemoveContainer": [RpcFailure(code=RpcCode.OTHER, message=text)] * 3}

    def answer(rpc: Rpc[Any]) -> Message | RpcFailure:
        left = outcomes.get(rpc.method.rpartition("/")[2])
        if left is None:
            return GONE
        return left.pop() if left else rpc.reply()

    assert is_removed(rpcs.remove_container("a"), answer)
