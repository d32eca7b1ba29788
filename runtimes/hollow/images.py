"""The images that a hollow node has. Pure."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import Final

from messages.container_runtime import ImageFound, RuntimeFailure, RuntimeFailureKind
from messages.pods import PodUid
from runtimes.hollow.behaviour import ImageBehaviour

_KEPT: Final = 10_000
"""Images. The one that was pulled first is dropped first."""

MISSING: Final = ImageFound(image_id="")


class Images:
    """Knows what was pulled, and how often a pull failed."""

    def __init__(self) -> None:
        self._found: dict[str, ImageFound] = {}
        self._failures: dict[PodUid, Counter[str]] = {}

    def find(self, image: str, uid: PodUid, behaviour: ImageBehaviour) -> ImageFound:
        """Return the image, if a pod finds it that behaves so.

        A pod that is to fail pulling it does not find it, whoever else pulled it.
        """
        if self._fails(image, uid, behaviour):
            return MISSING
        return self._found.get(image, MISSING)

    def pull(
        self, image: str, uid: PodUid, behaviour: ImageBehaviour
    ) -> ImageFound | RuntimeFailure:
        """Pull the image for a pod, at once."""
        if self._fails(image, uid, behaviour):
            if behaviour.failures is not None:
                self._failures.setdefault(uid, Counter())[image] += 1
            return RuntimeFailure(kind=RuntimeFailureKind.IMAGE_PULL, message=behaviour.error)
        return self.have(image)

    def have(self, image: str) -> ImageFound:
        """Have an image from now on."""
        found = self._found.get(image)
        if found is None:
            if len(self._found) >= _KEPT:
                del self._found[next(iter(self._found))]
            found = self._found[image] = _made_up(image)
        return found

    def forget(self, uid: PodUid) -> None:
        """Forget what failed for a pod that is gone."""
        self._failures.pop(uid, None)

    def _fails(self, image: str, uid: PodUid, behaviour: ImageBehaviour) -> bool:
        if not behaviour.error or behaviour.failures is None:
            return bool(behaviour.error)
        return self._failures.get(uid, Counter())[image] < behaviour.failures


def _made_up(image: str) -> ImageFound:
    """Return an image with the digest and the size that one of this name always has."""
    digest = sha256(image.encode()).hexdigest()
    name, at, _ = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    if colon and "/" not in tag:
        name = repository
    size = 2_000_000 + int(digest[:8], 16) % 200_000_000
    return ImageFound(image_id=image if at else f"{name}@sha256:{digest}", size=size)
