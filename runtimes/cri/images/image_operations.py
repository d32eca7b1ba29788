"""What finding and pulling an image take, call by call. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from manifests.image_names import ImageName
from messages.units import Seconds
from runtimes.container_runtime import ImageFound, RuntimeFailure
from runtimes.cri.images.keyring import Credential
from runtimes.cri.images.pull_failures import find_failure, is_uncertain, pull_failure
from runtimes.cri.images.requests import image_status, pull_image
from runtimes.cri.operations.flow import Operation, RpcError, call
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePulled:
    """An image was pulled."""

    found: ImageFound
    credential: Credential | None
    """Those that it was pulled with; None if anybody may."""


def found_image(image: str) -> Operation[ImageFound | RuntimeFailure]:
    """Look for an image, by name or id."""
    try:
        reply = yield from call(image_status(image))
    except RpcError as error:
        return find_failure(error.failure)
    return as_found(reply)


def as_found(reply: cri.ImageStatusResponse) -> ImageFound:
    """Return the image of a reply; an empty one if there is none."""
    return ImageFound(image_id=reply.image.id, size=reply.image.size)


def pulled_image(
    image: ImageName, credentials: Iterable[Credential], deadline: Seconds
) -> Operation[ImagePulled | RuntimeFailure]:
    """Pull an image with the first credentials that a registry takes, or with none at last."""
    failures: list[RpcFailure] = []
    for credential in (*credentials, None):
        auth = credential.auth if credential is not None else None
        try:
            reply = yield from call(pull_image(image.asked_for, auth, deadline))
        except RpcError as error:
            failures.append(error.failure)
            if is_uncertain(error.failure):
                break
            continue
        found = yield from found_image(reply.image_ref or image.asked_for)
        if not isinstance(found, ImageFound) or not found.image_id:
            found = ImageFound(image_id=reply.image_ref)
        return ImagePulled(found=found, credential=credential)
    return pull_failure(image.given, failures)
