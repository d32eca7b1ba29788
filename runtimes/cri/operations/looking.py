"""What a runtime is and what it has: its greeting, looks at its pods, and a glance at all. Pure.

A look takes two lists, and the status of everything that they show changed. Statuses cost ten times what
lists cost: a look asks only for those that it does not know. A glance asks for all, once, and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from kernel import Operation
from messages.container_runtime import RuntimeFailure, RuntimeFailureKind, SandboxContents
from messages.pods import PodUid
from runtimes.cri import rpcs
from runtimes.cri.configs.node import HandlerFeatures, RuntimeFeatures, image_volume_features
from runtimes.cri.configs.reading import (
    CONTAINER_STATES,
    SANDBOX_STATES,
    container_listed,
    container_observed,
    identity_of,
    sandbox_observed,
)
from runtimes.cri.inventory import ContainerSeen, SandboxSeen, Seen
from runtimes.cri.operations.exits import with_message
from runtimes.cri.operations.flow import (
    OperationContext,
    RpcError,
    call,
    call_all,
    is_away,
    one_line,
)
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure

VERSION: Final = "v1"
LONGEST_NAME: Final = 64
"""Characters of a runtime's name or version."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a runtime says of itself."""

    name: str
    version: str
    trouble: str
    """What is wrong with the runtime, in a kubelet's words; empty if nothing is."""
    network_trouble: str
    """The same of the network of pods."""
    features: RuntimeFeatures


def greet() -> Operation[Greeting | RuntimeFailure]:
    """Ask a runtime who it is. Return a failure if we cannot use it. Raises ``RpcError``."""
    try:
        reply = yield from call(rpcs.version())
    except RpcError as error:
        if error.failure.code is RpcCode.UNIMPLEMENTED:
            return _unusable(
                f"what listens there does not speak version {VERSION} of the container runtime interface "
                f"(containerd does since 1.6, CRI-O since 1.20): {one_line(error.failure.message)}"
            )
        if error.failure.code is RpcCode.DEADLINE_EXCEEDED:
            message = f"it takes calls and does not answer within {rpcs.version().deadline:g} s"
            return RuntimeFailure(kind=RuntimeFailureKind.UNCERTAIN, message=message)
        raise
    if reply.runtime_api_version != VERSION:
        return _unusable(
            f"{_name(reply.runtime_name)} {_name(reply.runtime_version)} speaks version "
            f"{reply.runtime_api_version[:32]!r} of the container runtime interface, not {VERSION}"
        )
    status = yield from call(rpcs.status())
    return Greeting(
        name=_name(reply.runtime_name),
        version=_name(reply.runtime_version),
        trouble=_trouble(status, "RuntimeReady", "runtime"),
        network_trouble=_trouble(status, "NetworkReady", "runtime network"),
        features=_features(reply, status),
    )


def _name(said: str) -> str:
    """Return a name for people, and for the beginning of ids."""
    return one_line(said)[:LONGEST_NAME] or "unknown"


def _features(reply: cri.VersionResponse, status: cri.StatusResponse) -> RuntimeFeatures:
    of_images = image_volume_features(reply.runtime_name, reply.runtime_version)
    return RuntimeFeatures(
        image_volumes=of_images.mounts_images,
        image_sub_paths=of_images.mounts_parts,
        supplemental_groups_policy=status.features.supplemental_groups_policy,
        handlers={
            each.name: HandlerFeatures(
                each.features.recursive_read_only_mounts, each.features.user_namespaces
            )
            for each in status.runtime_handlers
        },
    )


def _trouble(status: cri.StatusResponse, kind: str, what: str) -> str:
    condition = next((each for each in status.status.conditions if each.type == kind), None)
    if condition is None:
        return f"container {what} did not report {kind}"
    if condition.status:
        return ""
    return one_line(
        f"container {what} not ready: {kind}=false reason:{condition.reason} "
        f"message:{condition.message}"
    )


def _unusable(why: str) -> RuntimeFailure:
    return RuntimeFailure(kind=RuntimeFailureKind.UNSUPPORTED, message=why)


def look(uid: PodUid | None, context: OperationContext) -> Operation[Seen]:
    """Look at one pod, or at everything if ``uid`` is None. Raises ``RpcError``.

    The inventory is read whenever the look goes on. The sandboxes are listed after the containers: so each
    container's sandbox is in their list, unless it was removed meanwhile, and its containers with it.
    """
    known = context.inventory
    began = known.begin_look()
    containers = yield from call(rpcs.list_containers(uid))
    sandboxes = yield from call(rpcs.list_sandboxes(uid))
    if uid is None:
        yield from _remove_lost(containers.containers, sandboxes.items)
    seen_sandboxes = yield from _sandboxes(sandboxes.items, context)
    ids = {each.observed.id: each.pod.uid for each in seen_sandboxes}
    ours = [
        one
        for one in containers.containers
        if one.pod_sandbox_id in ids and not known.is_stuck(one.id)
    ]
    seen_containers = yield from _containers(ours, ids, context)
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
    listed: Iterable[cri.PodSandbox], context: OperationContext
) -> Operation[list[SandboxSeen]]:
    seen: list[SandboxSeen] = []
    unknown: list[cri.PodSandbox] = []
    for each in listed:
        before = context.inventory.sandbox(each.id)
        is_pods = identity_of(each.labels, each.annotations) is not None
        if not is_pods or context.inventory.is_stuck(each.id):
            continue
        state = SANDBOX_STATES.get(each.state)
        if before is not None and before.is_settled and before.observed.state is state:
            seen.append(before)
        else:
            unknown.append(each)
    replies = yield from call_all([rpcs.sandbox_status(each.id) for each in unknown])
    for each, reply in zip(unknown, replies, strict=True):
        if isinstance(reply, RpcFailure) or reply.status.id != each.id:
            seen += _as_before(reply, context.inventory.sandbox(each.id))
            continue
        identity = identity_of(reply.status.labels, reply.status.annotations)
        if identity is not None:
            context.user_ids.note(identity.uid, reply.status)
            seen.append(SandboxSeen(pod=identity, observed=sandbox_observed(reply.status)))
    return seen


def _containers(
    listed: list[cri.Container], pods: dict[str, PodUid], context: OperationContext
) -> Operation[list[ContainerSeen]]:
    seen: list[ContainerSeen] = []
    unknown: list[cri.Container] = []
    for each in listed:
        before = context.inventory.container(each.id)
        if before is not None and _is_as_listed(before, each):
            seen.append(before)
        else:
            unknown.append(each)
    replies = yield from call_all([rpcs.container_status(each.id) for each in unknown])
    for each, reply in zip(unknown, replies, strict=True):
        uid = pods[each.pod_sandbox_id]
        if isinstance(reply, RpcFailure) or reply.status.id != each.id:
            before = context.inventory.container(each.id) or _only_listed(each, uid, context)
            seen += _as_before(reply, before)
            continue
        status, sandbox_id = reply.status, each.pod_sandbox_id
        observed = yield from with_message(
            status, container_observed(status, context.runtime()), context
        )
        seen.append(ContainerSeen(uid=uid, sandbox_id=sandbox_id, observed=observed, status=status))
    return seen


def _is_as_listed(before: ContainerSeen, listed: cri.Container) -> bool:
    return before.is_settled and before.observed.state is CONTAINER_STATES.get(listed.state)


def _as_before(answer: object, before: T | None) -> list[T]:
    """Return what is seen of an entry of a list whose status is not told.

    It may be gone by now. Otherwise it stays as it was, and we ask again: one status that cannot be read does
    not hide all others. Only an outage of the runtime ends the look.
    """
    if isinstance(answer, RpcFailure):
        if is_away(answer):
            raise RpcError(answer)
        if answer.code is RpcCode.NOT_FOUND:
            return []
    return [before] if before is not None else []


def _only_listed(listed: cri.Container, uid: PodUid, context: OperationContext) -> ContainerSeen:
    return ContainerSeen(
        uid=uid,
        sandbox_id=listed.pod_sandbox_id,
        observed=container_listed(listed, context.runtime()),
        status=cri.ContainerStatus(id=listed.id, labels=listed.labels),
        is_settled=False,
    )


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
