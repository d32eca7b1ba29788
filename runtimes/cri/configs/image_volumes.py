"""Volumes that are images: which runtimes mount them, and what those are told. Pure.

No runtime says whether it does. One that does not ignores the image, and has no path to mount instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from messages.pods import JsonObject
from runtimes.cri.configs.node import RuntimeFeatures
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.cri.wire import cri_pb2 as cri

_FIRST: Final[Mapping[str, tuple[int, int]]] = {"containerd": (2, 1), "cri-o": (1, 31)}
"""The first version that mounts images, by the runtime's name."""
_FIRST_WITH_PARTS: Final[Mapping[str, tuple[int, int]]] = {"containerd": (2, 2), "cri-o": (1, 33)}
_VERSION: Final = re.compile(r"v?([0-9]{1,5})\.([0-9]{1,5})(?![0-9])")


class ImageVolumeFeatures(NamedTuple):
    """What a runtime can do with images as volumes."""

    mounts_images: bool
    mounts_parts: bool


def image_volume_features(name: str, version: str) -> ImageVolumeFeatures:
    """Return what the runtime of this name and version can do. One that nobody knows cannot."""
    found = _VERSION.match(version)
    number = (int(found[1]), int(found[2])) if found is not None else (0, 0)
    never = (1 << 20, 0)
    return ImageVolumeFeatures(
        number >= _FIRST.get(name.lower(), never),
        number >= _FIRST_WITH_PARTS.get(name.lower(), never),
    )


def image_mount(
    wanted: JsonObject, path: str, part: str, image_id: str, runtime: RuntimeFeatures
) -> cri.Mount:
    """Return the mount of an image, or of a part of it, at ``path``. Raises ``ConfigRefusedError``."""
    name = wanted.get("name")
    if not runtime.image_volumes:
        raise ConfigRefusedError(
            f'volume "{name}" is an image, which this container runtime does not mount (containerd '
            "does since 2.1, CRI-O since 1.31)"
        )
    if part and not runtime.image_sub_paths:
        raise ConfigRefusedError(
            f'volume "{name}" is mounted by a subPath, which this container runtime does not have '
            "for images (containerd has since 2.2, CRI-O since 1.33)"
        )
    if not image_id:
        raise ConfigRefusedError(f'volume "{name}": its image is not there')
    return cri.Mount(
        container_path=path,
        readonly=True,
        image=cri.ImageSpec(image=image_id),
        image_sub_path=part,
    )
