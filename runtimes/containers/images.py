"""The images of a pod's containers: what it takes to have them, and what answers teach of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from manifests.image_names import ALWAYS, NEVER, parse_image_name
from messages.container_runtime import (
    FindImage,
    ImageFound,
    PullImage,
    RuntimeFailure,
    RuntimeOutcome,
    RuntimeRequest,
)
from messages.pod_runtime import ContainerWait
from messages.units import Seconds
from runtimes.containers.contents import ContainerNotes, ImageNotes
from runtimes.containers.crash_backoff import doubled
from runtimes.containers.shape import ContainerShape, WantedImage
from runtimes.containers.situation import Draft, PodSituation, Step

ERROR_SHOWN_FOR: Final = Seconds(3.0)
"""How long ErrImagePull is shown before ImagePullBackOff."""
_SHOWN: Final = 256
"""Characters of a name that cannot be read."""
NEVER_RETRY: Final = Seconds(10.0)
"""How long after a look for an image that is never pulled the next one follows."""
CONTAINER_PAUSE: Final = Seconds(10.0)
"""After the first failure of an image or a container: as long as a kubelet needs to try again."""
LONGEST_PULL_PAUSE: Final = Seconds(300.0)


class FoundImages(NamedTuple):
    """The images to create a container with."""

    image_id: str
    """Empty where the runtime takes care of it."""
    of_volumes: Mapping[str, str]
    """Their ids, by volume."""


def images_of(
    now: PodSituation, container: ContainerShape, notes: ContainerNotes | None, draft: Draft
) -> FoundImages | None:
    """Return the images to create ``container`` with, or None while not all of them are known.

    One is looked for after the other.
    """
    own = WantedImage(container.image, container.pull_policy)
    image_id = _image_id(now, container.name, own, notes, draft)
    if image_id is None:
        return None
    found: dict[str, str] = {}
    for wanted in container.volume_images if now.limits.mounts_images else ():
        of_volume = _image_id(now, container.name, wanted, notes, draft)
        if of_volume is None:
            return None
        found[wanted.volume] = of_volume
    return FoundImages(image_id, found)


def _image_id(
    now: PodSituation, name: str, wanted: WantedImage, notes: ContainerNotes | None, draft: Draft
) -> str | None:
    image = notes.images.get(wanted.image) if notes is not None else None
    if image is not None and image.image_id:
        return image.image_id
    if parse_image_name(wanted.image) is None:
        message = unreadable(wanted.image)
        draft.waits[name] = ContainerWait(reason="InvalidImageName", message=message)
        return None
    if image is None and now.limits.assumes_images and wanted.pull_policy != ALWAYS:
        return ""
    _search(now, name, wanted, image, draft)
    return None


def _search(
    now: PodSituation, name: str, wanted: WantedImage, image: ImageNotes | None, draft: Draft
) -> None:
    if image is not None and image.retry_at > now.now:
        draft.waits[name] = _shown(image, draft)
        draft.wait_until(image.retry_at)
        return
    draft.waits[name] = draft.default_wait
    is_missing = image is not None and image.is_missing and not image.is_stale
    if wanted.pull_policy == NEVER or not (is_missing or wanted.pull_policy == ALWAYS):
        find = FindImage(image=wanted.image, pod=now.pod, objects=now.objects)
        draft.steps.append(Step(name, find))
        return
    pull = PullImage(image=wanted.image, pod=now.pod, objects=now.objects)
    draft.steps.append(Step(name, pull, f'Pulling image "{wanted.image}"'))


def _shown(image: ImageNotes, draft: Draft) -> ContainerWait:
    """Return the error, and after a while that the next pull is being waited for."""
    error = image.error or draft.default_wait
    shown_until = Seconds(image.failed_at + ERROR_SHOWN_FOR)
    if not (image.failures and image.is_missing) or shown_until > draft.now:
        draft.wait_until(shown_until)
        return error
    return ContainerWait(
        reason="ImagePullBackOff",
        message=f'Back-off pulling image "{image.image}": {error.reason}: {error.message}',
    )


def never_pulled(image: str, *, is_withheld: bool = False) -> str:
    """Return why an image that a pod cannot have is not pulled either; mostly in a kubelet's words."""
    if is_withheld:
        return (
            f'Container image "{image}" is present with pull policy of Never, '
            "but nothing shows that the pod may have it"
        )
    return f'Container image "{image}" is not present with pull policy of Never'


def unreadable(image: str) -> str:
    """Return what is wrong with a name that no registry could have, in a kubelet's words."""
    shown = "".join(each if each.isprintable() else "?" for each in image[:_SHOWN])
    return (
        f'Failed to apply default image tag "{shown}": couldn\'t parse image name "{shown}": '
        "invalid reference format"
    )


def is_still_missing(
    notes: ContainerNotes | None, request: RuntimeRequest, outcome: RuntimeOutcome
) -> bool:
    """Return whether an image was looked for again in vain: it is looked for as long as its pod is there."""
    if not isinstance(request, FindImage) or not isinstance(outcome, ImageFound):
        return False
    known = notes.images.get(request.image) if notes is not None else None
    if known is None or outcome.image_id:
        return False
    return known.is_missing and known.error is not None


def learn_found(
    notes: ContainerNotes,
    container: ContainerShape | None,
    image: str,
    outcome: ImageFound,
    now: Seconds,
) -> None:
    """Write down that an image was found, or that it is not there."""
    found = ImageNotes(image, not outcome.image_id, outcome.image_id)
    if found.is_missing and image in notes.images:
        found.failures = notes.images[image].failures
    notes.images[image] = found
    is_never_pulled = container is not None and container.pull_policy_of(image) == NEVER
    if found.is_missing and is_never_pulled:
        found.retry_at = Seconds(now + NEVER_RETRY)
        message = never_pulled(found.image, is_withheld=outcome.is_withheld)
        found.error = ContainerWait(reason="ErrImageNeverPull", message=message)
    notes.error = found.error


def learn_not_had(
    notes: ContainerNotes, request: FindImage | PullImage, failure: RuntimeFailure, now: Seconds
) -> None:
    """Write down that an image could not be looked for, or not be pulled."""
    image, is_pull = request.image, isinstance(request, PullImage)
    failures = notes.images[image].failures + 1 if image in notes.images else 1
    reason = failure.reason or ("ErrImagePull" if is_pull else "ImageInspectError")
    notes.error = ContainerWait(reason=reason, message=failure.message)
    notes.images[image] = ImageNotes(
        image,
        is_missing=is_pull,
        is_stale=is_pull,
        failures=failures,
        failed_at=now,
        retry_at=Seconds(now + doubled(CONTAINER_PAUSE, LONGEST_PULL_PAUSE, failures)),
        error=notes.error,
    )
