"""What a runtime has, at one glance."""

from __future__ import annotations

from typing import Any

import pytest

from kernel import carried_out
from runtimes.cri.operations.flow import RpcError
from runtimes.cri.operations.looking import glance
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import Rpc, RpcCode, RpcFailure

GONE = RpcFailure(code=RpcCode.NOT_FOUND, message="gone")
LABELS = {
    "io.kubernetes.pod.uid": "u",
    "io.kubernetes.pod.namespace": "default",
    "io.kubernetes.pod.name": "web",
}


def answer(rpc: Rpc[Any], **failures: RpcFailure) -> object:
    """Answer as a runtime with two sandboxes of one pod, one of nobody's, and two containers."""
    request: Any = rpc.request
    match request:
        case cri.ListContainersRequest():
            found = [cri.Container(id=each, pod_sandbox_id="new") for each in ("main", "gone")]
            return cri.ListContainersResponse(containers=found)
        case cri.ListPodSandboxRequest():
            ids = ("old", "new", "gone", "nobody")
            return cri.ListPodSandboxResponse(items=[cri.PodSandbox(id=each) for each in ids])
        case cri.ContainerStatusRequest(container_id=identity):
            if identity in failures:
                return failures[identity]
            status = cri.ContainerStatus(id=identity, metadata={"name": identity})
            return cri.ContainerStatusResponse(status=status)
        case cri.PodSandboxStatusRequest(pod_sandbox_id=identity):
            if identity in failures:
                return failures[identity]
            sandbox = cri.PodSandboxStatus(
                id=identity,
                metadata={"attempt": 1 if identity == "new" else 0},
                labels={} if identity == "nobody" else LABELS,
            )
            return cri.PodSandboxStatusResponse(status=sandbox)
        case _:
            raise AssertionError(rpc.method)


def glanced(**failures: RpcFailure) -> dict[str, list[tuple[str, list[str]]]]:
    contents = carried_out(glance("containerd"), lambda rpc: answer(rpc, **failures))
    return {
        uid: [(each.sandbox.id, [one.id for one in each.containers]) for each in found]
        for uid, found in contents.items()
    }


def test_the_newest_sandbox_of_a_pod_is_first_and_what_is_gone_is_left_out() -> None:
    assert glanced(gone=GONE) == {"u": [("new", ["containerd://main"]), ("old", [])]}


@pytest.mark.parametrize("which", ["main", "old"])
def test_any_other_failure_ends_it(which: str) -> None:
    broken = RpcFailure(code=RpcCode.UNAVAILABLE, message="away")
    with pytest.raises(RpcError, match="away"):
        glanced(**{"gone": GONE, which: broken})
