"""How a runtime is looked at: two lists, and the status of what they show changed. Pure.

Statuses cost ten times what lists cost, so only those are asked for that are not known already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from kernel import Operation
from messages.pods import PodUid
from runtimes.cri import rpcs
from runtimes.cri.configs.reading import (
    CONTAINER_STATES,
    SANDBOX_STATES,
    container_listed,
    container_observed,
    identity_of,
    sandbox_observed,
)
from runtimes.cri.inventory import ContainerSeen, SandboxSeen, Seen
from runtimes.cri.operations.flow import RpcError, call, call_all
from runtimes.cri.operations.outcomes import is_away
from runtimes.cri.operations.surroundings import Surroundings
from runtimes.cri.operations.termination import with_message
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure

T = TypeVar("T")


def look(uid: PodUid | None, around: Surroundings) -> Operation[Seen]:
    """Look at one pod, or at everything if ``uid`` is None. Raises ``RpcError``.

    The inventory is read whenever the look goes on. The sandboxes are listed after the containers: so each
    container's sandbox is in their list, unless it was removed meanwhile, and its containers with it.
    """
    known = around.inventory
    began = known.begin_look()
    containers = yield from call(rpcs.list_containers(uid))
    sandboxes = yield from call(rpcs.list_sandboxes(uid))
    if uid is None:
        yield from _remove_lost(containers.containers, sandboxes.items)
    seen_sandboxes = yield from _sandboxes(sandboxes.items, around)
    ids = {each.observed.id: each.pod.uid for each in seen_sandboxes}
    ours = [
        one
        for one in containers.containers
        if one.pod_sandbox_id in ids and not known.is_stuck(one.id)
    ]
    seen_containers = yield from _containers(ours, ids, around)
    return Seen(
        uid=uid, began=began, sandboxes=tuple(seen_sandboxes), containers=tuple(seen_containers)
    )


def _remove_lost(
    containers: Iterable[cri.Container], sandboxes: Iterable[cri.PodSandbox]
) -> Operation[None]:
    """Remove the containers of pods whose sandbox is gone: no pod shows them, and they keep their names.

    A runtime leaves one if its sandbox is removed while it is being created. What runs is let run.
    """
    there = {each.id for each in sandboxes}
    lost = [
        one.id
        for one in containers
        if one.pod_sandbox_id not in there
        and one.labels.get(rpcs.UID_LABEL)
        and one.state in {cri.CONTAINER_EXITED, cri.CONTAINER_CREATED}
    ]
    yield from call_all([rpcs.remove_container(each) for each in lost])


def _sandboxes(
    listed: Iterable[cri.PodSandbox], around: Surroundings
) -> Operation[list[SandboxSeen]]:
    seen: list[SandboxSeen] = []
    unknown: list[cri.PodSandbox] = []
    for each in listed:
        before = around.inventory.sandbox(each.id)
        is_pods = identity_of(each.labels, each.annotations) is not None
        if not is_pods or around.inventory.is_stuck(each.id):
            continue
        state = SANDBOX_STATES.get(each.state)
        if before is not None and before.is_settled and before.observed.state is state:
            seen.append(before)
        else:
            unknown.append(each)
    replies = yield from call_all([rpcs.sandbox_status(each.id) for each in unknown])
    for each, reply in zip(unknown, replies, strict=True):
        if isinstance(reply, RpcFailure) or reply.status.id != each.id:
            seen += _as_before(reply, around.inventory.sandbox(each.id))
            continue
        identity = identity_of(reply.status.labels, reply.status.annotations)
        if identity is not None:
            around.user_ids.note(identity.uid, reply.status)
            seen.append(SandboxSeen(pod=identity, observed=sandbox_observed(reply.status)))
    return seen


def _containers(
    listed: list[cri.Container], pods: dict[str, PodUid], around: Surroundings
) -> Operation[list[ContainerSeen]]:
    seen: list[ContainerSeen] = []
    unknown: list[cri.Container] = []
    for each in listed:
        before = around.inventory.container(each.id)
        if before is not None and _is_as_listed(before, each):
            seen.append(before)
        else:
            unknown.append(each)
    replies = yield from call_all([rpcs.container_status(each.id) for each in unknown])
    for each, reply in zip(unknown, replies, strict=True):
        uid = pods[each.pod_sandbox_id]
        if isinstance(reply, RpcFailure) or reply.status.id != each.id:
            before = around.inventory.container(each.id) or _only_listed(each, uid, around)
            seen += _as_before(reply, before)
            continue
        status, sandbox_id = reply.status, each.pod_sandbox_id
        observed = yield from with_message(
            status, container_observed(status, around.runtime()), around
        )
        seen.append(ContainerSeen(uid=uid, sandbox_id=sandbox_id, observed=observed, status=status))
    return seen


def _is_as_listed(before: ContainerSeen, listed: cri.Container) -> bool:
    return before.is_settled and before.observed.state is CONTAINER_STATES.get(listed.state)


def _as_before(answer: object, before: T | None) -> list[T]:
    """Return what is seen of something that is listed and whose status is not told.

    It may be gone by now. Otherwise it is what it was, and is asked for again: one that cannot be read does
    not hide all others. Only a runtime that has gone ends the look.
    """
    if isinstance(answer, RpcFailure):
        if is_away(answer):
            raise RpcError(answer)
        if answer.code is RpcCode.NOT_FOUND:
            return []
    return [before] if before is not None else []


def _only_listed(listed: cri.Container, uid: PodUid, around: Surroundings) -> ContainerSeen:
    return ContainerSeen(
        uid=uid,
        sandbox_id=listed.pod_sandbox_id,
        observed=container_listed(listed, around.runtime()),
        status=cri.ContainerStatus(id=listed.id, labels=listed.labels),
        is_settled=False,
    )
