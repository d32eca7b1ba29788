"""What it takes to make, stop and remove a sandbox. Pure."""

from __future__ import annotations

from functools import partial

from messages.pod_runtime import SandboxObserved
from runtimes.container_runtime import RunSandbox
from runtimes.cri import rpcs
from runtimes.cri.configs.reading import identity_of, sandbox_observed
from runtimes.cri.configs.refusals import ConfigNotice
from runtimes.cri.configs.runtime_classes import runtime_handler
from runtimes.cri.configs.sandbox import sandbox_config
from runtimes.cri.inventory import SandboxSeen
from runtimes.cri.operations.flow import Lane, Operation, RpcError, call, on_disk
from runtimes.cri.operations.surroundings import Surroundings


def run_sandbox(request: RunSandbox, around: Surroundings) -> Operation[SandboxObserved]:
    """Make a sandbox: its cgroup first, so that nothing runs without its limits."""
    pod, node = request.pod, around.node()
    place = yield from on_disk(partial(around.cgroups.ensure, pod), Lane.CGROUPS)
    if place.trouble:
        around.notice(pod, ConfigNotice("CgroupTrouble", place.trouble))
    config = sandbox_config(pod, request.attempt, node, cgroup_parent=place.parent)
    made = yield from call(rpcs.run_sandbox(config, runtime_handler(pod, node)))
    reply = yield from call(rpcs.sandbox_status(made.pod_sandbox_id))
    identity = identity_of(reply.status.labels, reply.status.annotations)
    observed = sandbox_observed(reply.status)
    if identity is not None:
        around.inventory.note_sandbox(SandboxSeen(pod=identity, observed=observed))
    return observed


def stop_sandbox(sandbox_id: str, around: Surroundings) -> Operation[None]:
    """Stop a sandbox. One that is gone is stopped."""
    try:
        yield from call(rpcs.stop_sandbox(sandbox_id))
    except RpcError as error:
        if not error.is_not_found:
            raise
    around.inventory.note_stopped_sandbox(sandbox_id)


def remove_sandbox(sandbox_id: str, around: Surroundings) -> Operation[None]:
    """Remove a sandbox with its containers."""
    try:
        yield from call(rpcs.stop_sandbox(sandbox_id))
        yield from call(rpcs.remove_sandbox(sandbox_id))
    except RpcError as error:
        if not error.is_not_found:
            raise
    uid = around.inventory.owner(sandbox_id)
    around.inventory.note_removed(sandbox_id)
    if uid is not None and uid not in around.inventory:
        yield from on_disk(partial(around.cgroups.remove, uid), Lane.CGROUPS)
