"""The hash by which a container is known to be of another specification. Pure.

Kubelets since 1.31 write the same one into the annotation ``io.kubernetes.container.hash``, so that a
container that a kubelet started stays as it is, and the other way round.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from manifests.image_names import LATEST, ImageName, parse_image_name
from messages.pod_runtime import ContainerObserved

_OFFSET, _PRIME = 0x811C9DC5, 0x01000193
_ESCAPED = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


_ID: Final = "sha256:"


@lru_cache(maxsize=4096)
def container_hash(name: str, image: str) -> str:
    """Return the hash of what demands another container when it changes: its image.

    It is FNV-1a of 32 bits over a text in which the bytes of a JSON object stand in decimal.
    """
    document = json.dumps({"image": image, "name": name}, separators=(",", ":"), ensure_ascii=False)
    for character, escape in _ESCAPED.items():
        document = document.replace(character, escape)
    text = "([]uint8)[" + " ".join(map(str, document.encode(errors="replace"))) + "]"
    value = _OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return f"{value:x}"


def is_unchanged(name: str, image: str, instance: ContainerObserved) -> bool:
    """Return whether nothing has changed that demands another container than this instance.

    Kubelets before 1.31 hash the whole specification, which cannot be computed here. Such a hash is kept: the
    instance counts as unchanged as long as the specification names the image that it runs. So that needs no
    record, and is the same after a restart of the agent. An image that has lost its name since, because its
    tag was moved, has only an id: then nothing says that anything has changed.
    """
    if instance.spec_hash in {"", container_hash(name, image)}:
        return True
    return instance.is_foreign and _is_same_image(image, instance)


def _is_same_image(image: str, instance: ContainerObserved) -> bool:
    seen = None if instance.image.startswith(_ID) else parse_image_name(instance.image)
    if seen is None:
        return True
    wanted = parse_image_name(image)
    if wanted is None:
        return False
    if wanted.digest:
        return wanted.digest in {seen.digest, instance.image_id.rpartition("@")[2]}
    if seen.tag or not seen.digest:
        return _tagged(wanted) == _tagged(seen)
    return wanted.repository == seen.repository


def _tagged(name: ImageName) -> str:
    return f"{name.repository}:{name.tag or LATEST}"
