"""Images of a runtime in memory: names, which come to mean other images, and images without a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final

from runtimes.cri.wire import cri_pb2 as cri

SIZE: Final = 1000
"""The bytes of each image."""


class FakeImages:
    """The images that are there. It asks ``now`` for the time in nanoseconds."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.ids: dict[str, str] = {}
        """By name."""
        self.untagged: set[str] = set()
        """Ids of images that no name means any more. They stay until they are removed."""
        self.moved_at: dict[str, int] = {}
        """When names came to mean what they mean."""
        self.registry: dict[str, str] = {}
        """What names mean where images are pulled from, of those that a pull changes."""

    def id_of(self, image: str) -> str | None:
        """Return the id of an image, by its name or its id; None if it is not there."""
        is_id = image in self.untagged or image in self.ids.values()
        return image if is_id else self.ids.get(image)

    def move(self, name: str, image_id: str) -> None:
        """Have a name mean another image. The one before stays, and is found by its id."""
        before = self.ids.get(name)
        if before == image_id:
            return
        self.ids[name] = image_id
        self.moved_at[name] = self._now()
        self.untagged.discard(image_id)
        if before is not None and before not in self.ids.values():
            self.untagged.add(before)

    def pull(self, name: str) -> str:
        """Have a name mean what it means in the registry, and return the id of that."""
        usual = self.ids.get(name) or f"sha256:{sha256(name.encode()).hexdigest()}"
        image_id = self.registry.get(name, usual)
        self.move(name, image_id)
        return image_id

    def remove(self, image: str) -> None:
        """Remove an image with all its names. An unknown one is removed."""
        gone = self.id_of(image)
        self.ids = {name: each for name, each in self.ids.items() if each != gone}
        self.untagged -= {gone or ""}

    def listed(self) -> Iterator[cri.Image]:
        """Yield what a list shows."""
        for name, image_id in self.ids.items():
            yield cri.Image(id=image_id, repo_tags=[name], size=SIZE)
        for image_id in sorted(self.untagged):
            yield cri.Image(id=image_id, size=SIZE)
