"""Which images a container is created with, and what it takes to have them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from manifests.image_names import ALWAYS, NEVER, parse_image_name
from messages.container_runtime import FindImage, PullImage
from messages.pod_runtime import ContainerWait
from messages.units import Seconds
from runtimes.containers.image_names import unreadable
from runtimes.containers.notes import ContainerNotes, ImageNotes
from runtimes.containers.shape import ContainerShape, WantedImage
from runtimes.containers.situation import Draft, PodSituation, Step

ERROR_SHOWN_FOR: Final = Seconds(3.0)
"""How long ErrImagePull is shown before ImagePullBackOff."""


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
