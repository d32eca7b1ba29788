"""What the answer to a step teaches about its pod. Pure, but for the record that it writes to."""

from __future__ import annotations

from typing import Final

from manifests.image_names import NEVER
from messages.container_runtime import (
    CreateContainer,
    FindImage,
    ImageFound,
    PodContainersAre,
    PodIdentity,
    PullImage,
    RemoveContainer,
    RemoveSandbox,
    RuntimeFailure,
    RuntimeOutcome,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import (
    ContainerObserved,
    ContainerState,
    ContainerWait,
    SandboxObserved,
)
from messages.pods import Pod
from messages.units import Seconds
from runtimes.containers.contents import (
    Contents,
    in_order,
    with_container,
    with_sandbox,
    with_sandbox_stopped,
    without_container,
    without_sandbox,
)
from runtimes.containers.exits import note_vanished
from runtimes.containers.failures import learn_failure, pause
from runtimes.containers.image_names import never_pulled
from runtimes.containers.notes import ContainerNotes, ImageNotes
from runtimes.containers.record import RuntimeRecord
from runtimes.containers.situation import Step, is_alive

NEVER_RETRY: Final = Seconds(10.0)
"""How long after a look for an image that is never pulled the next one follows."""


def learn(
    record: RuntimeRecord, step: Step, outcome: RuntimeOutcome, now: Seconds, longest: Seconds
) -> None:
    """Write down what the ``outcome`` of ``step`` says."""
    match outcome:
        case RuntimeFailure():
            learn_failure(record, step, outcome, now, longest)
        case SandboxObserved():
            record.failures = record.sandbox_failures = 0
            record.sandbox_error = ""
            owner = record.identity or _owner(record)
            take_contents(record, with_sandbox(record.contents, owner, outcome))
        case ContainerObserved():
            _learn_container(record, step, outcome, now)
        case ImageFound():
            _learn_image(record, step, outcome, now)
        case PodContainersAre(sandboxes=sandboxes):
            record.failures = 0
            take_contents(record, in_order(sandboxes))
        case None:
            record.failures = 0
            unused = _unused(record.contents, step)
            take_contents(record, _without(record.contents, step))
            if unused is not None and record.notes and unused.name in record.notes:
                _return_attempt(record.notes[unused.name], unused)


def take_contents(record: RuntimeRecord, contents: Contents) -> None:
    """Write down what the runtime has of the pod now."""
    before = record.contents
    if before and not record.is_stopping:
        note_vanished(record, before, contents)
    record.contents, record.listed = contents, None
    if contents and record.identity is None:
        record.identity = contents[0].pod


def _owner(record: RuntimeRecord) -> PodIdentity:
    pod: Pod | None = record.pod
    if pod is None:
        return PodIdentity(uid=record.uid, namespace="", name="", source="")
    return PodIdentity(uid=pod.uid, namespace=pod.namespace, name=pod.name, source=pod.source)


def _learn_container(
    record: RuntimeRecord, step: Step, outcome: ContainerObserved, now: Seconds
) -> None:
    request = step.request
    if isinstance(request, StopContainer) and is_alive(outcome):
        pause(record, now)
    else:
        record.failures = 0
    sandbox_id = request.sandbox.id if isinstance(request, CreateContainer) else ""
    take_contents(record, with_container(record.contents, outcome, sandbox_id))
    notes = record.notes.get(outcome.name) if record.notes is not None else None
    if notes is None:
        return
    if isinstance(request, CreateContainer):
        notes.images.clear()
        notes.end_resize()
    if isinstance(request, CreateContainer | StartContainer):
        notes.error, notes.retry_at = None, Seconds(0.0)
    if isinstance(request, StartContainer):
        notes.failures, notes.replaced_id = 0, ""
    elif not isinstance(request, CreateContainer | StopContainer):
        notes.end_resize()


def is_still_missing(record: RuntimeRecord, step: Step, outcome: RuntimeOutcome) -> bool:
    """Return whether an image was looked for again in vain: it is looked for as long as its pod is there."""
    if not isinstance(step.request, FindImage) or not isinstance(outcome, ImageFound):
        return False
    notes = record.notes.get(step.target) if record.notes is not None else None
    known = notes.images.get(step.request.image) if notes is not None else None
    if known is None or outcome.image_id:
        return False
    return known.is_missing and known.error is not None


def _learn_image(record: RuntimeRecord, step: Step, outcome: ImageFound, now: Seconds) -> None:
    if not isinstance(step.request, FindImage | PullImage):
        return
    notes = record.notes_of(step.target)
    image = step.request.image
    found = ImageNotes(image, not outcome.image_id, outcome.image_id)
    if found.is_missing and image in notes.images:
        found.failures = notes.images[image].failures
    container = record.shape.get(step.target) if record.shape is not None else None
    notes.images[image] = found
    is_never_pulled = container is not None and container.pull_policy_of(image) == NEVER
    if found.is_missing and is_never_pulled:
        found.retry_at = Seconds(now + NEVER_RETRY)
        message = never_pulled(found.image, is_withheld=outcome.is_withheld)
        found.error = ContainerWait(reason="ErrImageNeverPull", message=message)
    notes.error = found.error


def _unused(contents: Contents, step: Step) -> ContainerObserved | None:
    """Return the instance that a step has removed, if nothing but its start was given up."""
    if not isinstance(step.request, RemoveContainer):
        return None
    return next(
        (
            one
            for each in contents
            for one in each.containers
            if one.id == step.request.id and one.state is ContainerState.CREATED and one.reason
        ),
        None,
    )


def _return_attempt(notes: ContainerNotes, unused: ContainerObserved) -> None:
    """Let the next instance have the number of one that never ran: it is no restart."""
    if notes.highest == unused.attempt:
        notes.highest -= 1


def _without(contents: Contents, step: Step) -> Contents:
    match step.request:
        case StopSandbox(id=sandbox_id):
            return with_sandbox_stopped(contents, sandbox_id)
        case RemoveSandbox(id=sandbox_id):
            return without_sandbox(contents, sandbox_id)
        case RemoveContainer(id=container_id) | StopContainer(id=container_id):
            return without_container(contents, container_id)
        case _:
            return contents
