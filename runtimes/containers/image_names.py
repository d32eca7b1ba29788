"""Names of images: which ones can be read, and what they mean for pulling. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

ALWAYS, IF_NOT_PRESENT, NEVER = "Always", "IfNotPresent", "Never"
"""``imagePullPolicy``, as the API names it."""

_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_NAME = re.compile(
    rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)


@lru_cache(maxsize=4096)
def is_image_name(image: str) -> bool:
    """Return whether registries could have an image of this name."""
    return _NAME.fullmatch(image) is not None


@lru_cache(maxsize=4096)
def default_pull_policy(image: str) -> str:
    """Return when an image is pulled if its container does not say so: always if it is the latest."""
    found = _NAME.fullmatch(image)
    tag, digest = (found["tag"], found["digest"]) if found else ("", "")
    return ALWAYS if tag == "latest" or not (tag or digest) else IF_NOT_PRESENT


def never_pulled(image: str) -> str:
    """Return why an image that is not there is not pulled either, in a kubelet's words."""
    return f'Container image "{image}" is not present with pull policy of Never'
