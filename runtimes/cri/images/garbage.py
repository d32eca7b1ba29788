"""Which images are removed, and in which order (rules I1-I3). Pure, but for what it remembers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from manifests.image_names import parse_image_name
from messages.units import Seconds
from runtimes.cri.configs import labels
from runtimes.cri.images.options import GarbageOptions
from runtimes.cri.wire import cri_pb2 as cri

PROTECTED_FOR: Final = Seconds(300.0)
"""How long an image is left alone that was found or pulled for a pod: it is about to be used."""


class DiskSpace(NamedTuple):
    """A file system, in bytes."""

    capacity: int
    available: int

    @property
    def used_percent(self) -> int:
        """How full it is, as kubelets reckon."""
        return 100 - self.available * 100 // self.capacity

    def too_much(self, options: GarbageOptions) -> int:
        """Return how many bytes have to be freed; 0 if it is not too full."""
        if self.used_percent < options.high_percent:
            return 0
        return max(0, self.capacity * (100 - options.low_percent) // 100 - self.available)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedImage:
    """An image that may be removed."""

    id: str
    names: frozenset[str]
    size: int
    last_used: Seconds
    """When it was last seen in use; -1 if it never was."""
    first_seen: Seconds


@dataclass(slots=True)
class _Seen:
    first_seen: Seconds
    last_used: Seconds = Seconds(-1.0)


class ImageHistory:
    """When each image was first seen and last used, by this process. It begins anew with each one."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._needed: dict[str, Seconds] = {}
        """When each was last found or pulled for a pod."""
        self._began_at: Seconds | None = None

    def note_needed(self, image_id: str, now: Seconds) -> None:
        """Note that a pod is about to use an image."""
        self._needed[image_id] = now

    def is_needed(self, image_id: str, now: Seconds) -> bool:
        """Return whether a pod may be about to use an image."""
        return now - self._needed.get(image_id, Seconds(float("-inf"))) < PROTECTED_FOR

    def look(
        self, images: Iterable[cri.Image], used: frozenset[str], kept: frozenset[str], now: Seconds
    ) -> list[UnusedImage]:
        """Note which images there are, and return the unused ones, in the order of their removal.

        ``used`` and ``kept`` are names or ids: of images that containers use, and of such as are never
        removed.
        """
        if self._began_at is None:
            self._began_at = now
        unused, present = [], set()
        for image in images:
            present.add(image.id)
            seen = self._seen.setdefault(image.id, _Seen(now))
            names = {image.id, *image.repo_tags, *image.repo_digests}
            if names & used or self.is_needed(image.id, now):
                seen.last_used = now
            elif not image.pinned and not names & kept:
                unused.append(
                    UnusedImage(
                        id=image.id,
                        names=frozenset(names),
                        size=image.size,
                        last_used=seen.last_used,
                        first_seen=seen.first_seen,
                    )
                )
        self._forget(present, now)
        return sorted(unused, key=lambda image: (image.last_used, image.first_seen, image.id))

    def is_old_enough(self, options: GarbageOptions, now: Seconds) -> bool:
        """Return whether images were watched for long enough to say that one is too old."""
        return (
            options.maximum_age > 0.0
            and self._began_at is not None
            and now - self._began_at > options.maximum_age
        )

    def _forget(self, present: set[str], now: Seconds) -> None:
        self._seen = {each: seen for each, seen in self._seen.items() if each in present}
        self._needed = {each: at for each, at in self._needed.items() if self.is_needed(each, now)}


def too_old(
    unused: Iterable[UnusedImage], options: GarbageOptions, now: Seconds
) -> Iterator[UnusedImage]:
    """Yield the images that were not used for too long, however much room there is."""
    for image in unused:
        if now - max(image.last_used, image.first_seen) > options.maximum_age:
            yield image


def removable(
    unused: Iterable[UnusedImage], options: GarbageOptions, now: Seconds
) -> Iterator[UnusedImage]:
    """Yield the images that may be removed for room."""
    for image in unused:
        if now - image.first_seen >= options.minimum_age:
            yield image


def images_in_use(containers: Iterable[cri.Container]) -> frozenset[str]:
    """Return names and ids of the images that containers have or mount, running or not."""
    given = {
        name
        for container in containers
        for name in (
            container.image_ref,
            container.image_id,
            container.image.image,
            *container.annotations.get(labels.VOLUME_IMAGES, "").split(),
        )
        if name
    }
    return frozenset(given | {in_full(name) for name in given})


def in_full(image: str) -> str:
    """Return a name of an image as runtimes list it; an id as it is."""
    name = parse_image_name(image)
    return image if name is None else name.in_full


def sandbox_image(info: Mapping[str, str]) -> str:
    """Return the image of sandboxes, as a runtime's verbose status names it; empty if it does not."""
    try:
        config = json.loads(info.get("config", ""))
    except (ValueError, RecursionError):
        return ""
    found = config.get("sandboxImage") if isinstance(config, dict) else None
    return in_full(found) if isinstance(found, str) else ""
