"""What answers, failures and exits teach of one pod. Pure, but for the record that is written to.

Each kind of step that failed has its own pauses (rules J5-J7): 1 s and more for a sandbox and for what is
stopped or removed, 10 s and more for images and containers. A request that may have had its effect makes the
pod doubtful, until a look (rule J13).
"""

from __future__ import annotations

from typing import Final

from manifests.restart_rules import AfterExit
from messages.container_runtime import (
    CreateContainer,
    FindImage,
    ImageFound,
    LookAtPod,
    PodContainersAre,
    PodIdentity,
    PullImage,
    RemoveContainer,
    RemoveSandbox,
    ResizeContainer,
    RunSandbox,
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeOutcome,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import (
    ContainerObserved,
    ContainerState,
    ContainerWait,
    PodTrouble,
    SandboxObserved,
)
from messages.pods import Pod
from messages.units import Instant, Seconds, Timestamp
from runtimes.containers.contents import (
    ContainerNotes,
    Contents,
    ImageNotes,
    in_order,
    instances_in,
    is_alive,
    newest_instances,
    with_container,
    with_sandbox,
    with_sandbox_stopped,
    without_container,
    without_sandbox,
)
from runtimes.containers.crash_backoff import (
    CrashNotes,
    delay_from_history,
    doubled,
    exited_at,
    monotonic,
)
from runtimes.containers.images import CONTAINER_PAUSE, learn_found, learn_not_had
from runtimes.containers.record import RuntimeRecord
from runtimes.containers.shape import ContainerPart, ContainerShape, PodShape
from runtimes.containers.situation import Step

FIRST_PAUSE: Final = Seconds(1.0)
LONGEST_PAUSE: Final = Seconds(60.0)
RESIZE_PAUSE: Final = Seconds(60.0)
NEVER_AGAIN: Final = Seconds(float("inf"))


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
    notes = record.known_notes(outcome.name)
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


def _learn_image(record: RuntimeRecord, step: Step, outcome: ImageFound, now: Seconds) -> None:
    if isinstance(step.request, FindImage | PullImage):
        container, notes = record.container(step.target), record.notes_of(step.target)
        learn_found(notes, container, step.request.image, outcome, now)


def _unused(contents: Contents, step: Step) -> ContainerObserved | None:
    """Return the instance that a step has removed, if nothing but its start was given up."""
    if not isinstance(step.request, RemoveContainer):
        return None
    return next(
        (
            one
            for one in instances_in(contents)
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


def learn_failure(
    record: RuntimeRecord, step: Step, failure: RuntimeFailure, now: Seconds, longest: Seconds
) -> None:
    """Write down what ``failure`` says."""
    match step.request:
        case RunSandbox() | CreateContainer() if failure.kind is RuntimeFailureKind.UNSUPPORTED:
            record.impossible = PodTrouble(
                reason=failure.reason or "Unsupported", message=failure.message, is_for_good=True
            )
        case FindImage() | PullImage() as request:
            learn_not_had(record.notes_of(step.target), request, failure, now)
            return
        case ResizeContainer():
            _learn_resize(record, step, failure, now)
        case RunSandbox():
            record.sandbox_failures += 1
            record.sandbox_error = failure.message
            wait = doubled(FIRST_PAUSE, LONGEST_PAUSE, record.sandbox_failures)
            record.sandbox_retry_at = Seconds(now + wait)
        case CreateContainer():
            _learn_creation(record, step, failure, now, longest)
        case StartContainer(id=container_id):
            notes = record.notes_of(step.target)
            if failure.kind is not RuntimeFailureKind.UNCERTAIN:
                notes.discarded_id = container_id
            _note_error(notes, "RunContainerError", failure, now, longest)
            # It may have become an exit, with a code and a reason of its own.
            record.is_in_doubt = True
        case LookAtPod() | _:
            pause(record, now)
            record.is_in_doubt |= failure.kind is RuntimeFailureKind.NOT_FOUND
    record.is_in_doubt |= failure.kind is RuntimeFailureKind.UNCERTAIN


def pause(record: RuntimeRecord, now: Seconds) -> None:
    """Let the whole pod wait, longer with each time in a row: what it needs next does not succeed.

    What was asked for together fails together, when the runtime goes away above all: that is one time.
    """
    if record.paused_until > now:
        return
    record.failures += 1
    wait = doubled(FIRST_PAUSE, LONGEST_PAUSE, record.failures)
    record.paused_until = Seconds(now + wait)


def _learn_creation(
    record: RuntimeRecord, step: Step, failure: RuntimeFailure, now: Seconds, longest: Seconds
) -> None:
    notes = record.notes_of(step.target)
    image_id = step.request.image_id if isinstance(step.request, CreateContainer) else ""
    match failure.kind:
        case RuntimeFailureKind.IMAGE_MISSING if image_id:
            # It was removed after it had been found: it is looked for again.
            notes.images.clear()
            _note_error(notes, "CreateContainerError", failure, now, longest)
        case RuntimeFailureKind.IMAGE_MISSING:
            container = record.container(step.target)
            if container is not None:
                notes.images[container.image] = ImageNotes(container.image, is_missing=True)
        case RuntimeFailureKind.CONFIG:
            _note_error(notes, "CreateContainerConfigError", failure, now, longest)
        case RuntimeFailureKind.NOT_FOUND:
            # Its sandbox has ended, as the look will tell: nothing is wrong with the container.
            record.is_in_doubt = True
            notes.images.clear()
        case _:
            # The name may be taken, or an image that is mounted removed since.
            record.is_in_doubt = True
            notes.images.clear()
            _note_error(notes, "CreateContainerError", failure, now, longest)


def _note_error(
    notes: ContainerNotes, reason: str, failure: RuntimeFailure, now: Seconds, longest: Seconds
) -> None:
    notes.failures += 1
    notes.error = ContainerWait(reason=failure.reason or reason, message=failure.message)
    notes.retry_at = Seconds(now + doubled(CONTAINER_PAUSE, longest, notes.failures))


def _learn_resize(record: RuntimeRecord, step: Step, failure: RuntimeFailure, now: Seconds) -> None:
    notes = record.notes_of(step.target)
    notes.resize_error = failure.message
    is_for_good = failure.kind is RuntimeFailureKind.UNSUPPORTED
    notes.resize_retry_at = NEVER_AGAIN if is_for_good else Seconds(now + RESIZE_PAUSE)


def note_exits(record: RuntimeRecord, moment: Instant, longest: Seconds) -> None:
    """Note of each container what its next restart depends on. May repeat."""
    shape = record.shape
    if shape is None:
        return
    for one in newest_instances(record.contents).values():
        if one.attempt or one.state is ContainerState.EXITED:
            container = shape.get(one.name)
            if container is not None and _matters(container, one):
                _note(record, one, moment, longest)
    if shape.restarts_all:
        record.restart_all_at = _restart_all_at(shape, record)


def note_vanished(record: RuntimeRecord, before: Contents, after: Contents) -> None:
    """Note the attempts of what somebody removed, so that restart counts never fall."""
    if before:
        record.highest_sandbox = max(
            record.highest_sandbox, *(each.sandbox.attempt for each in before)
        )
    there = {one.id for one in instances_in(after)}
    for one in instances_in(before):
        if one.id not in there:
            notes = record.notes_of(one.name)
            notes.highest = max(notes.highest, one.attempt)
            notes.has_ended |= _has_ended(record, one, notes)


def _has_ended(record: RuntimeRecord, one: ContainerObserved, notes: ContainerNotes) -> bool:
    """Return whether the instance was the last one of its container, which does not run again."""
    container = record.container(one.name)
    return (
        container is not None
        and container.part is ContainerPart.REGULAR
        and one.state is ContainerState.EXITED
        and one.attempt == notes.highest
        and one.id != notes.replaced_id
        and one.id not in record.outdated
        and container.behaviour.after(one.exit_code) is AfterExit.ENDED
        and record.restart_all_at is None
    )


def _matters(container: ContainerShape, one: ContainerObserved) -> bool:
    """Return whether the instance may be followed by another one, or was."""
    return (
        one.attempt > 0
        or one.spec_hash != container.spec_hash
        or container.behaviour.after(one.exit_code) is not AfterExit.ENDED
    )


def _note(record: RuntimeRecord, one: ContainerObserved, moment: Instant, longest: Seconds) -> None:
    notes = record.notes_of(one.name)
    if one.attempt < notes.highest:
        return
    notes.highest = one.attempt
    crashes, spec_hash = notes.crashes, _hash_of(record, one)
    if crashes is None or crashes.spec_hash != spec_hash:
        crashes = notes.crashes = CrashNotes(
            spec_hash,
            delay=delay_from_history(_previous(record, one), one, longest),
            restarted_at=monotonic(one.created_at, moment.monotonic, moment.wall),
        )
    if one.state is ContainerState.EXITED and crashes.exited_id != one.id:
        crashes.exited_id = one.id
        crashes.exited_at = exited_at(crashes, one, moment)
        crashes.told_at = None
        notes.error, notes.failures = None, 0
    if crashes.exited_id == one.id and crashes.told_at is None and not one.is_reason_open:
        crashes.told_at = moment.monotonic


def _hash_of(record: RuntimeRecord, one: ContainerObserved) -> str:
    """Return the hash of its specification as it is computed here, whatever a kubelet wrote."""
    container = record.container(one.name)
    is_same = container is not None and container.is_unchanged_since(one)
    return container.spec_hash if container is not None and is_same else one.spec_hash


def _previous(record: RuntimeRecord, one: ContainerObserved) -> ContainerObserved | None:
    spec_hash = _hash_of(record, one)
    earlier = [
        other
        for other in instances_in(record.contents)
        if other.name == one.name
        and other.attempt < one.attempt
        and _hash_of(record, other) == spec_hash
    ]
    return max(earlier, key=lambda other: other.attempt, default=None)


def _restart_all_at(shape: PodShape, record: RuntimeRecord) -> Timestamp | None:
    times = [
        one.finished_at
        for one in instances_in(record.contents)
        if one.state is ContainerState.EXITED
        and one.finished_at is not None
        and (container := shape.get(one.name)) is not None
        and container.behaviour.after(one.exit_code) is AfterExit.RESTART_ALL
    ]
    if record.restart_all_at is not None:
        times.append(record.restart_all_at)
    return max(times, default=None)
