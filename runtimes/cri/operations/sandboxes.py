"""Making, stopping and removing a sandbox. Pure."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

from kernel import Operation
from messages.container_runtime import RunSandbox
from messages.pod_runtime import SandboxObserved
from messages.pods import PodUid
from runtimes.cri import rpcs
from runtimes.cri.configs.dns import parse_resolv_conf
from runtimes.cri.configs.documents import ConfigNotice, ConfigRefusedError
from runtimes.cri.configs.namespaces import has_own_users
from runtimes.cri.configs.node import CriNode, pod_dir
from runtimes.cri.configs.reading import identity_of, sandbox_observed
from runtimes.cri.configs.sandbox import runtime_handler, sandbox_config, sandbox_notices
from runtimes.cri.disk.node_files import read_resolv_conf
from runtimes.cri.disk.pod_files import forget_pod_files
from runtimes.cri.inventory import SandboxSeen
from runtimes.cri.operations.exits import removed
from runtimes.cri.operations.flow import (
    DiskError,
    DiskLane,
    OperationContext,
    RpcError,
    call,
    on_cgroups,
    on_disk,
    unless_gone,
    without_cgroup,
)
from runtimes.cri.wire.transport import RpcCode, RpcFailure


def run_sandbox(request: RunSandbox, context: OperationContext) -> Operation[SandboxObserved]:
    """Make a sandbox: its cgroup first, so that nothing runs without its limits."""
    pod, node = request.pod, context.node()
    place = yield from on_cgroups(partial(context.cgroups.ensure, pod), pod.uid)
    if place.trouble:
        context.say(pod, ConfigNotice("CgroupTrouble", place.trouble))
    node = yield from _with_servers_of_now(node)
    ids = context.user_ids.of(pod.uid) if has_own_users(pod) else None
    config = sandbox_config(pod, request.attempt, node, cgroup_parent=place.parent, user_ids=ids)
    for notice in sandbox_notices(pod, node):
        context.say(pod, notice)
    try:
        made = yield from call(rpcs.run_sandbox(config, runtime_handler(pod, node)))
    except RpcError:
        context.inventory.forget_stuck()  # one of them may have the name: the next look tells
        raise
    reply = yield from call(rpcs.sandbox_status(made.pod_sandbox_id))
    if reply.status.id != made.pod_sandbox_id:
        message = f"the runtime does not tell of sandbox {made.pod_sandbox_id[:64]} but of another"
        raise RpcError(RpcFailure(code=RpcCode.OTHER, message=message))
    identity = identity_of(reply.status.labels, reply.status.annotations)
    observed = sandbox_observed(reply.status)
    if identity is not None:
        context.inventory.note_sandbox(SandboxSeen(pod=identity, observed=observed))
    return observed


def stop_sandbox(sandbox_id: str, context: OperationContext) -> Operation[None]:
    """Stop a sandbox. One that is gone is stopped."""
    yield from unless_gone(call(rpcs.stop_sandbox(sandbox_id)))
    context.inventory.note_stopped_sandbox(sandbox_id)


def remove_sandbox(sandbox_id: str, context: OperationContext) -> Operation[None]:
    """Remove a sandbox with its containers; with the last one of a pod, remove all that the pod had.

    Its files go before its sandbox: after a crash in between we find the sandbox, and begin again.
    """
    uid = context.inventory.owner(sandbox_id)
    is_removed = yield from unless_gone(_without_sandbox(sandbox_id, uid, context))
    context.inventory.note_removed(sandbox_id, is_stuck=is_removed is False)
    if uid is not None and uid not in context.inventory:
        context.forget(uid)
        yield from _remove_files(uid, context)
        yield from without_cgroup(uid, context.cgroups)


def _without_sandbox(
    sandbox_id: str, uid: PodUid | None, context: OperationContext
) -> Operation[bool]:
    yield from call(rpcs.stop_sandbox(sandbox_id))
    if uid is not None and len(context.inventory.contents(uid)) == 1:
        yield from _remove_files(uid, context)
    return (yield from removed(rpcs.remove_sandbox(sandbox_id)))


def _remove_files(uid: PodUid, context: OperationContext) -> Operation[None]:
    """Remove the files of a pod. A failure holds nothing up: the log says so."""
    with suppress(ConfigRefusedError, DiskError):
        directory = pod_dir(context.node().root_dir, uid)
        yield from on_disk(partial(forget_pod_files, directory, context.mounts), DiskLane.REMOVALS)


def _with_servers_of_now(node: CriNode) -> Operation[CriNode]:
    """Read the node's name servers anew: they change while it is up. What cannot be read stays as it was."""
    if not node.dns.file:
        return node
    try:
        content = yield from on_disk(partial(read_resolv_conf, node.dns.file))
    except DiskError:
        return node
    return replace(node, dns=replace(node.dns, node=parse_resolv_conf(content)))
