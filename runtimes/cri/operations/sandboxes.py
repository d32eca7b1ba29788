"""What it takes to make, stop and remove a sandbox. Pure."""

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
from runtimes.cri.configs.layout import pod_dir
from runtimes.cri.configs.namespaces import has_own_users
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.reading import identity_of, sandbox_observed
from runtimes.cri.configs.refusals import ConfigNotice, ConfigRefusedError
from runtimes.cri.configs.sandbox import runtime_handler, sandbox_config, sandbox_notices
from runtimes.cri.disk.node_files import read_resolv_conf
from runtimes.cri.disk.removal import forget_pod_files
from runtimes.cri.inventory import SandboxSeen
from runtimes.cri.operations.cgroup_work import on_cgroups, without_cgroup
from runtimes.cri.operations.flow import DiskError, DiskLane, RpcError, call, on_disk, unless_gone
from runtimes.cri.operations.removing import removed
from runtimes.cri.operations.surroundings import Surroundings
from runtimes.cri.wire.transport import RpcCode, RpcFailure


def run_sandbox(request: RunSandbox, around: Surroundings) -> Operation[SandboxObserved]:
    """Make a sandbox: its cgroup first, so that nothing runs without its limits."""
    pod, node = request.pod, around.node()
    place = yield from on_cgroups(partial(around.cgroups.ensure, pod), pod.uid)
    if place.trouble:
        around.say(pod, ConfigNotice("CgroupTrouble", place.trouble))
    node = yield from _with_servers_of_now(node)
    ids = around.user_ids.of(pod.uid) if has_own_users(pod) else None
    config = sandbox_config(pod, request.attempt, node, cgroup_parent=place.parent, user_ids=ids)
    for notice in sandbox_notices(pod, node):
        around.say(pod, notice)
    try:
        made = yield from call(rpcs.run_sandbox(config, runtime_handler(pod, node)))
    except RpcError:
        around.inventory.forget_stuck()  # one of them may have the name: the next look tells
        raise
    reply = yield from call(rpcs.sandbox_status(made.pod_sandbox_id))
    if reply.status.id != made.pod_sandbox_id:
        message = f"the runtime does not tell of sandbox {made.pod_sandbox_id[:64]} but of another"
        raise RpcError(RpcFailure(code=RpcCode.OTHER, message=message))
    identity = identity_of(reply.status.labels, reply.status.annotations)
    observed = sandbox_observed(reply.status)
    if identity is not None:
        around.inventory.note_sandbox(SandboxSeen(pod=identity, observed=observed))
    return observed


def stop_sandbox(sandbox_id: str, around: Surroundings) -> Operation[None]:
    """Stop a sandbox. One that is gone is stopped."""
    yield from unless_gone(call(rpcs.stop_sandbox(sandbox_id)))
    around.inventory.note_stopped_sandbox(sandbox_id)


def remove_sandbox(sandbox_id: str, around: Surroundings) -> Operation[None]:
    """Remove a sandbox with its containers; with the last one of a pod goes all that the pod had.

    Its files go before its sandbox does: so whoever is killed in between finds the sandbox, and begins again.
    """
    uid = around.inventory.owner(sandbox_id)
    is_removed = yield from unless_gone(_without_sandbox(sandbox_id, uid, around))
    around.inventory.note_removed(sandbox_id, is_stuck=is_removed is False)
    if uid is not None and uid not in around.inventory:
        around.forget(uid)
        yield from _remove_files(uid, around)
        yield from without_cgroup(uid, around.cgroups)


def _without_sandbox(sandbox_id: str, uid: PodUid | None, around: Surroundings) -> Operation[bool]:
    yield from call(rpcs.stop_sandbox(sandbox_id))
    if uid is not None and len(around.inventory.contents(uid)) == 1:
        yield from _remove_files(uid, around)
    return (yield from removed(rpcs.remove_sandbox(sandbox_id)))


def _remove_files(uid: PodUid, around: Surroundings) -> Operation[None]:
    """Remove the files of a pod. Those that cannot be removed keep nobody waiting: the log says so."""
    with suppress(ConfigRefusedError, DiskError):
        directory = pod_dir(around.node().root_dir, uid)
        yield from on_disk(partial(forget_pod_files, directory), DiskLane.REMOVALS)


def _with_servers_of_now(node: CriNode) -> Operation[CriNode]:
    """Read the node's name servers anew: they change while it is up. What cannot be read stays as it was."""
    if not node.dns.file:
        return node
    try:
        content = yield from on_disk(partial(read_resolv_conf, node.dns.file))
    except DiskError:
        return node
    return replace(node, dns=replace(node.dns, node=parse_resolv_conf(content)))
