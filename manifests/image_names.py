"""Names of images: which ones can be read, what they mean, and when they are pulled. Pure.

The grammar is that of container registries: ``[REGISTRY[:PORT]/]PATH[:TAG][@DIGEST]``. What a shell or a
terminal would obey is in none of them, so it cannot reach a runtime.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

ALWAYS: Final = "Always"
IF_NOT_PRESENT: Final = "IfNotPresent"
NEVER: Final = "Never"
"""``imagePullPolicy``, as the API names it."""

LATEST: Final = "latest"
"""The tag of a name without one."""
DEFAULT_REGISTRY: Final = "docker.io"
LONGEST_NAME: Final = 1024
"""Characters of all of it. No longer one can be right, and each costs time."""
LONGEST_PATH: Final = 255
"""Characters of a name without tag and digest."""

_ALIASES: Final = frozenset({"index.docker.io"})
"""Other names of the default registry."""

_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_NAME = re.compile(
    rf"(?:(?P<host>{_HOST})/)?(?P<path>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_ID = re.compile(r"[0-9a-f]{64}")
_DIGEST_LENGTHS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_HEX = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageName:
    """What the name of an image means."""

    given: str
    """As it was written."""
    registry: str
    """``docker.io`` unless the name says another one. With its port."""
    path: str
    """In the registry: ``library/busybox``."""
    tag: str
    """Empty if the name has none."""
    digest: str
    """Empty if the name has none."""

    @property
    def repository(self) -> str:
        """Where the image is, whichever version: ``docker.io/library/busybox``."""
        return f"{self.registry}/{self.path}"

    @property
    def asked_for(self) -> str:
        """What a runtime is asked for: as it was written, with the tag that it means.

        The registry is not added: a runtime may look for short names in other ones.
        """
        return self.given if self.tag or self.digest else f"{self.given}:{LATEST}"

    @property
    def in_full(self) -> str:
        """The name with registry, and with tag or digest or both."""
        tag = self.tag or ("" if self.digest else LATEST)
        return f"{self.repository}{tag and ':'}{tag}{self.digest and '@'}{self.digest}"


@lru_cache(maxsize=4096)
def parse_image_name(image: str) -> ImageName | None:
    """Return what ``image`` means, or None if no registry could have an image of this name."""
    found = _NAME.fullmatch(image) if len(image) <= LONGEST_NAME else None
    if found is None or _ID.fullmatch(image):
        return None
    registry, path = _split(image[: found.end("path")])
    digest = found["digest"] or ""
    is_lower = path == path.lower()
    if not path or not is_lower or len(path) > LONGEST_PATH or not _is_digest(digest):
        return None
    return ImageName(
        given=image, registry=registry, path=path, tag=found["tag"] or "", digest=digest
    )


def default_pull_policy(image: str) -> str:
    """Return when an image is pulled if its container does not say so: always if its tag may move."""
    name = parse_image_name(image)
    if name is None:
        return IF_NOT_PRESENT
    return ALWAYS if name.tag == LATEST or not (name.tag or name.digest) else IF_NOT_PRESENT


def _split(name: str) -> tuple[str, str]:
    """Return the registry and the path. A first part is a registry if it looks like a host."""
    first, slash, rest = name.partition("/")
    is_host = slash and (
        "." in first or ":" in first or first == "localhost" or first != first.lower()
    )
    registry, path = (first, rest) if is_host else (DEFAULT_REGISTRY, name)
    if registry in _ALIASES:
        registry = DEFAULT_REGISTRY
    if registry == DEFAULT_REGISTRY and "/" not in path:
        path = f"library/{path}"
    return registry, path


def _is_digest(digest: str) -> bool:
    if not digest:
        return True
    algorithm, _, value = digest.partition(":")
    return _DIGEST_LENGTHS.get(algorithm) == len(value) and _HEX.fullmatch(value) is not None
