"""Which image a container is created from, and what it takes to have it. Pure."""

from __future__ import annotations

from typing import Final

from manifests.image_names import ALWAYS, NEVER, parse_image_name
from messages.pod_runtime import ContainerWait
from messages.units import Seconds
from runtimes.container_runtime import FindImage, PullImage
from runtimes.containers.image_names import unreadable
from runtimes.containers.notes import ContainerNotes, ImageNotes
from runtimes.containers.shape import ContainerShape
from runtimes.containers.situation import Draft, PodSituation, Step

ERROR_SHOWN_FOR: Final = Seconds(3.0)
"""How long ErrImagePull is shown before ImagePullBackOff."""


def image_of(
    now: PodSituation, container: ContainerShape, notes: ContainerNotes | None, draft: Draft
) -> str | None:
    """Return the image to create ``container`` from, or None while it is not known.

    Empty where the runtime takes care of it.
    """
    image = notes.image if notes is not None else None
    if image is not None and image.image != container.image:
        image = None
    if image is not None and image.image_id:
        return image.image_id
    if parse_image_name(container.image) is None:
        draft.waits[container.name] = _invalid(container.image)
        return None
    if image is None and now.limits.assumes_images and container.pull_policy != ALWAYS:
        return ""
    _search(now, container, image, draft)
    return None


def _search(
    now: PodSituation, container: ContainerShape, image: ImageNotes | None, draft: Draft
) -> None:
    name = container.name
    if image is not None and image.retry_at > now.now:
        draft.waits[name] = _shown(image, draft)
        draft.wait_until(image.retry_at)
        return
    draft.waits[name] = draft.default_wait
    is_missing = image is not None and image.is_missing and not image.is_stale
    if container.pull_policy == NEVER or not (is_missing or container.pull_policy == ALWAYS):
        draft.steps.append(
            Step(name, FindImage(image=container.image, pod=now.pod, objects=now.objects))
        )
        return
    request = PullImage(image=container.image, pod=now.pod, objects=now.objects)
    draft.steps.append(Step(name, request, f'Pulling image "{container.image}"'))


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


def _invalid(image: str) -> ContainerWait:
    return ContainerWait(reason="InvalidImageName", message=unreadable(image))
