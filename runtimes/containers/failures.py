"""What the failure of a step teaches about its pod. Pure, but for the record that it writes to.

Each kind of step has its own pauses (rules J5-J7): 1 s and more for a sandbox and for what is stopped or
removed, 10 s and more for images and containers. A request that may have had its effect makes the pod
doubtful, until a look (rule J13).
"""

from __future__ import annotations

from typing import Final

from messages.container_runtime import (
    CreateContainer,
    FindImage,
    LookAtPod,
    PullImage,
    ResizeContainer,
    RunSandbox,
    RuntimeFailure,
    RuntimeFailureKind,
    StartContainer,
)
from messages.pod_runtime import ContainerWait, PodTrouble
from messages.units import Seconds
from runtimes.containers.crash_backoff import doubled
from runtimes.containers.notes import ContainerNotes, ImageNotes
from runtimes.containers.record import RuntimeRecord
from runtimes.containers.situation import Step

FIRST_PAUSE: Final = Seconds(1.0)
LONGEST_PAUSE: Final = Seconds(60.0)
CONTAINER_PAUSE: Final = Seconds(10.0)
"""After the first failure of an image or a container: as long as a kubelet needs to try again."""
LONGEST_PULL_PAUSE: Final = Seconds(300.0)
RESIZE_PAUSE: Final = Seconds(60.0)
NEVER_AGAIN: Final = Seconds(float("inf"))


def learn_failure(
    record: RuntimeRecord, step: Step, failure: RuntimeFailure, now: Seconds, longest: Seconds
) -> None:
    """Write down what ``failure`` says."""
    match step.request:
        case RunSandbox() | CreateContainer() if failure.kind is RuntimeFailureKind.UNSUPPORTED:
            record.impossible = PodTrouble(
                reason=failure.reason or "Unsupported", message=failure.message, is_for_good=True
            )
        case FindImage(image=image) | PullImage(image=image):
            _learn_image(record, step, image, failure, now)
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
            container = record.shape.get(step.target) if record.shape is not None else None
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


def _learn_image(
    record: RuntimeRecord, step: Step, image: str, failure: RuntimeFailure, now: Seconds
) -> None:
    notes = record.notes_of(step.target)
    is_pull = isinstance(step.request, PullImage)
    before = notes.images[image].failures if image in notes.images else 0
    reason = failure.reason or ("ErrImagePull" if is_pull else "ImageInspectError")
    wait = doubled(CONTAINER_PAUSE, LONGEST_PULL_PAUSE, before + 1)
    notes.images[image] = ImageNotes(
        image,
        is_missing=is_pull,
        is_stale=is_pull,
        failures=before + 1,
        failed_at=now,
        retry_at=Seconds(now + wait),
        error=ContainerWait(reason=reason, message=failure.message),
    )
    notes.error = notes.images[image].error


def _learn_resize(record: RuntimeRecord, step: Step, failure: RuntimeFailure, now: Seconds) -> None:
    notes = record.notes_of(step.target)
    notes.resize_error = failure.message
    is_for_good = failure.kind is RuntimeFailureKind.UNSUPPORTED
    notes.resize_retry_at = NEVER_AGAIN if is_for_good else Seconds(now + RESIZE_PAUSE)
