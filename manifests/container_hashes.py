"""The hash by which a container is known to be of another specification. Pure.

Kubelets since 1.31 write the same one into the annotation ``io.kubernetes.container.hash``, so that a
container that a kubelet started stays as it is, and the other way round.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from manifests.image_names import LATEST, ImageName, parse_image_name
from messages.pod_runtime import ContainerObserved
from messages.pods import CONTAINER_DIGESTS, Pod

_OFFSET, _PRIME = 0x811C9DC5, 0x01000193
_ESCAPED = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


_ID: Final = "sha256:"
_BEFORE_DIGEST: Final = "-"


@lru_cache(maxsize=4096)
def container_hash(name: str, image: str, digest: str = "") -> str:
    """Return the hash of what demands another container when it changes: its image.

    It is FNV-1a of 32 bits over a text in which the bytes of a JSON object stand in decimal. Behind it is
    ``digest``, that of all that the manifest says of the container, if no UID tells changes of that.
    """
    document = json.dumps({"image": image, "name": name}, separators=(",", ":"), ensure_ascii=False)
    for character, escape in _ESCAPED.items():
        document = document.replace(character, escape)
    text = "([]uint8)[" + " ".join(map(str, document.encode(errors="replace"))) + "]"
    value = _OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return f"{value:x}{_BEFORE_DIGEST}{digest}" if digest else f"{value:x}"


def container_digests(pod: Pod) -> Mapping[str, str]:
    """Return the digests of the containers of a static pod whose UID its user has fixed; of others none."""
    digests = pod.annotations.get(CONTAINER_DIGESTS, "").split()
    return {name: digest for name, _, digest in (each.partition("=") for each in digests)}


def hash_of_image(spec_hash: str) -> str:
    """Return the part of a hash that kubelets write, too: without the digest of all that there is."""
    return spec_hash.partition(_BEFORE_DIGEST)[0]


def has_digest(spec_hash: str) -> bool:
    """Return whether it tells all that the manifest said of a container, and not its image alone."""
    return _BEFORE_DIGEST in spec_hash


def is_unchanged(
    spec_hash: str, image: str, instance: ContainerObserved, first_digest: str = ""
) -> bool:
    """Return whether nothing has changed that demands another container than this instance.

    An instance whose hash has no digest was made by a kubelet, or by a version of this agent that knew none.
    It counts as made of ``first_digest``, that of the container when such a version of the agent first saw
    the pod. Where there is none, its image alone counts.

    Kubelets before 1.31 hash the whole specification, which cannot be computed here. Such a hash is kept: the
    instance counts as unchanged as long as the specification names the image that it runs. So that needs no
    record, and is the same after a restart of the agent. An image that has lost its name since, because its
    tag was moved, has only an id: then nothing says that anything has changed.
    """
    wanted, _, digest = spec_hash.partition(_BEFORE_DIGEST)
    written, _, made_of = instance.spec_hash.partition(_BEFORE_DIGEST)
    if digest and (made_of or first_digest) not in {"", digest}:
        return False
    return written in {"", wanted} or (instance.is_foreign and _is_same_image(image, instance))


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
