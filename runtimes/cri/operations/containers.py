"""Creating, starting, stopping, resizing and removing a container. Pure."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from kernel import LateError, Operation, delay
from messages.container_runtime import (
    CreateContainer,
    ResizeContainer,
    RuntimeFailure,
    RuntimeFailureKind,
    StopContainer,
)
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxState
from messages.units import Seconds
from runtimes.cri import rpcs
from runtimes.cri.configs.reading import container_observed, pod_uid, sandbox_observed
from runtimes.cri.inventory import ContainerSeen, bare_id, goes_back
from runtimes.cri.operations.exits import end_task, record_lost_exit, removed, with_message
from runtimes.cri.operations.flow import (
    OperationContext,
    RpcError,
    call,
    failure_of,
    is_uncertain,
    on_cgroups,
    unless_gone,
)
from runtimes.cri.operations.preparing import prepared, resources_of
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure

MOST_IMAGES: Final = 500
"""How many images are known by their ids. Each takes a kilobyte."""
STARTING: Final = "already in starting state"
"""What containerd answers while it still carries out, or gives up, a start whose caller has gone."""
LOOK_AT_A_START: Final = Seconds(0.2)
LOOKS_AT_A_START: Final = 15
"""It takes containerd up to 2.3 s."""
KILLED_WITHIN: Final = Seconds(5.0)
"""After its grace: by then also a busy runtime has killed the container and has answered."""
RESERVED: Final = "is reserved for"
RESERVED_FOR: Final = Seconds(0.5)
"""How long we wait if a name is reserved that no container has: an earlier call still goes on."""
_NO_SANDBOX: Final = RuntimeFailure(
    kind=RuntimeFailureKind.NOT_FOUND, message="its sandbox has ended"
)


def create(
    request: CreateContainer, context: OperationContext
) -> Operation[ContainerObserved | RuntimeFailure]:
    """Create a container, once its mounts are on the disk."""
    name = request.image_id or str(request.container.get("image") or "")
    image = yield from _image(name, context)
    if not image.id:
        message = f'image "{request.container.get("image")}" is not there'
        return RuntimeFailure(kind=RuntimeFailureKind.IMAGE_MISSING, message=message)
    creation = yield from prepared(request, image, context)
    # A container that was there before may have ended with its sandbox, which others have stopped.
    if request.attempt and not (yield from _is_ready(request.sandbox.id, context)):
        return _NO_SANDBOX
    try:
        made = yield from call(
            rpcs.create_container(request.sandbox.id, creation.container, creation.sandbox)
        )
    except RpcError as error:
        context.images.pop(name, None)
        return (yield from _why_not_created(request, name, error, context))
    return (yield from learnt(made.container_id, context, sandbox_id=request.sandbox.id))


def start(container_id: str, context: OperationContext) -> Operation[ContainerObserved]:
    """Start a container. If it cannot be started, it has exited, as the runtime says."""
    bare = bare_id(container_id)
    try:
        yield from call(rpcs.start_container(bare))
    except RpcError as error:
        if error.is_not_found or is_uncertain(error.failure):
            raise
        observed = yield from learnt(bare, context)
        if STARTING in error.failure.message:
            observed = yield from _started_before(bare, observed, context)
        if observed.state is ContainerState.CREATED:
            raise
        return observed
    return (yield from learnt(bare, context))


def _started_before(
    container_id: str, observed: ContainerObserved, context: OperationContext
) -> Operation[ContainerObserved]:
    """Wait until a start that began earlier has ended, and return what has become of the container."""
    for _ in range(LOOKS_AT_A_START):
        if observed.state is not ContainerState.CREATED:
            break
        yield from delay(LOOK_AT_A_START)
        observed = yield from learnt(container_id, context)
    return observed


def stop(request: StopContainer, context: OperationContext) -> Operation[ContainerObserved | None]:
    """Stop a container, and return how it has ended. One that is gone is stopped."""
    bare = bare_id(request.id)
    stopped = yield from unless_gone(_stopped(bare, request.grace, context))
    if stopped is None:
        context.inventory.note_removed(bare)
    return stopped


def _stopped(
    bare: str, grace: Seconds, context: OperationContext
) -> Operation[ContainerObserved | None]:
    is_over = False
    try:
        yield from call(rpcs.stop_container(bare, grace), Seconds(grace + KILLED_WITHIN))
    except LateError:
        is_over = True
    observed = yield from learnt(bare, context)
    if observed.state is not ContainerState.RUNNING:
        return observed
    # Its grace is over, or the runtime says that it is stopped and runs: the exit may be lost.
    ended = yield from end_task(bare, is_killed=is_over)
    if ended is not None:
        return (yield from record_lost_exit(bare, ended, context))
    if is_over:
        yield from call(rpcs.stop_container(bare, Seconds(0.0)))
    return (yield from learnt(bare, context))


def remove(container_id: str, context: OperationContext) -> Operation[None]:
    """Remove a container. One that is gone is removed."""
    bare = bare_id(container_id)
    is_removed = yield from unless_gone(removed(rpcs.remove_container(bare)))
    context.inventory.note_removed(bare, is_stuck=is_removed is False)


def learnt(
    container_id: str, context: OperationContext, sandbox_id: str = ""
) -> Operation[ContainerObserved]:
    """Ask for the status of a container, and record it. Raises ``RpcError``."""
    reply = yield from call(rpcs.container_status(container_id))
    if reply.status.id != container_id:
        message = f"the runtime does not tell of container {container_id[:64]} but of another"
        raise RpcError(RpcFailure(code=RpcCode.OTHER, message=message))
    observed = container_observed(reply.status, context.runtime())
    observed = yield from with_message(reply.status, observed, context)
    known = context.inventory.container(container_id)
    if known is not None and goes_back(known.observed.state, observed.state):
        return known.observed  # it was seen to end, and the runtime itself does not say so yet
    place = sandbox_id or (known.sandbox_id if known is not None else "")
    uid = context.inventory.owner(place) or pod_uid(reply.status.labels)
    if place and uid:
        context.inventory.note_container(
            ContainerSeen(uid=uid, sandbox_id=place, observed=observed, status=reply.status)
        )
    return observed


def _image(name: str, context: OperationContext) -> Operation[cri.Image]:
    """Return the image of this name. What its id says of it never changes, so that is asked once.

    One that was removed since then is found missing when a container is created from it.
    """
    known = context.images.get(name)
    if known is not None:
        return known
    reply = yield from call(rpcs.image_status(name))
    if reply.image.id == name:
        if len(context.images) >= MOST_IMAGES:
            context.images.clear()
        context.images[name] = reply.image
    return reply.image


def _why_not_created(
    request: CreateContainer, image: str, error: RpcError, context: OperationContext
) -> Operation[RuntimeFailure]:
    """Find out why: the codes of runtimes do not tell."""
    if is_uncertain(error.failure):
        raise error
    failure = failure_of(error.failure)
    found = yield from call(rpcs.image_status(image))
    if not found.image.id:
        return replace(failure, kind=RuntimeFailureKind.IMAGE_MISSING)
    if not (yield from _is_ready(request.sandbox.id, context)):
        return replace(failure, kind=RuntimeFailureKind.NOT_FOUND)
    if RESERVED in error.failure.message:
        yield from delay(RESERVED_FOR)
        return replace(failure, kind=RuntimeFailureKind.UNCERTAIN)
    return replace(failure, kind=RuntimeFailureKind.REFUSED)


def _is_ready(sandbox_id: str, context: OperationContext) -> Operation[bool]:
    """Ask whether a sandbox is ready. Record it if it is not."""
    try:
        reply = yield from call(rpcs.sandbox_status(sandbox_id))
    except RpcError as gone:
        if not gone.is_not_found:
            raise
        return False
    is_ready = sandbox_observed(reply.status).state is SandboxState.READY
    if not is_ready:
        context.inventory.note_stopped_sandbox(sandbox_id)
    return is_ready


def resize(
    request: ResizeContainer, context: OperationContext
) -> Operation[ContainerObserved | RuntimeFailure]:
    """Give a running container other limits, and its pod's cgroup with it."""
    bare = bare_id(request.id)
    known = context.inventory.container(bare)
    name = known.observed.name if known is not None else ""
    container = {"name": name, "resources": request.resources}
    resources = resources_of(request.pod, container, context)
    # A container may have no more than its pod. So the pod gets the larger of both first.
    trouble = yield from on_cgroups(partial(context.cgroups.widen, request.pod), request.pod.uid)
    if trouble:
        return RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message=trouble)
    yield from call(rpcs.update_resources(bare, resources))
    yield from on_cgroups(partial(context.cgroups.update, request.pod), request.pod.uid)
    observed = yield from learnt(bare, context)
    observed = replace(observed, resources=request.resources)
    seen = context.inventory.container(bare)
    if seen is not None:
        context.inventory.note_container(replace(seen, observed=observed))
    return observed


def reopen_log(container_id: str) -> Operation[None]:
    """Have the runtime write a container's log to a new file. Raises ``RpcError`` if it does not run."""
    yield from call(rpcs.reopen_log(bare_id(container_id)))
