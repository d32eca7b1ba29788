"""What a runtime has, once, for somebody who only wants to know: nothing is changed or kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kernel import Operation
from messages.container_runtime import SandboxContents
from messages.pods import PodUid
from runtimes.cri import rpcs
from runtimes.cri.configs.reading import container_observed, identity_of, sandbox_observed
from runtimes.cri.operations.flow import RpcError, call, call_all
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure


def glance(runtime: str) -> Operation[Mapping[PodUid, tuple[SandboxContents, ...]]]:
    """Return the sandboxes of each pod, the newest first. ``runtime`` is its name. Raises ``RpcError``."""
    listed = yield from call(rpcs.list_containers(None))
    sandboxes = yield from call(rpcs.list_sandboxes(None))
    statuses = yield from call_all([rpcs.container_status(one.id) for one in listed.containers])
    found = yield from call_all([rpcs.sandbox_status(each.id) for each in sandboxes.items])
    inside: dict[str, list[cri.ContainerStatus]] = {}
    for one, status in zip(listed.containers, statuses, strict=True):
        if isinstance(status, RpcFailure):
            _raise_unless_gone(status)
        else:
            inside.setdefault(one.pod_sandbox_id, []).append(status.status)
    pods: dict[PodUid, list[SandboxContents]] = {}
    for each in found:
        if isinstance(each, RpcFailure):
            _raise_unless_gone(each)
            continue
        identity = identity_of(each.status.labels, each.status.annotations)
        if identity is not None:
            contents = SandboxContents(
                pod=identity,
                sandbox=sandbox_observed(each.status),
                containers=tuple(
                    container_observed(one, runtime) for one in inside.get(each.status.id, ())
                ),
            )
            pods.setdefault(identity.uid, []).append(contents)
    return {uid: tuple(sorted(each, key=_attempt, reverse=True)) for uid, each in pods.items()}


def _attempt(contents: SandboxContents) -> tuple[int, float]:
    return contents.sandbox.attempt, contents.sandbox.created_at


def _raise_unless_gone(failure: RpcFailure) -> None:
    """Something that was listed may be gone by now. Any other failure ends the look."""
    if failure.code is not RpcCode.NOT_FOUND:
        raise RpcError(failure)
