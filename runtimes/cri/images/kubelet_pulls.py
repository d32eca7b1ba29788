"""What a kubelet remembers of its pulls, in its files below its own directory. Pure.

It has a file for each image, and one for each pull that is under way. Whatever is in them is read with care:
nothing here may keep the agent from starting. Where it cannot be told who may have an image, nobody may.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from manifests.image_names import ImageName, parse_image_name
from runtimes.cri.images.keyring import SecretSource

GROUP: Final = "kubelet.config.k8s.io/"
"""Of ``apiVersion``. All versions so far have the same fields."""
UNREADABLE: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a document of another form raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletAccess:
    """Who may have an image of one repository."""

    is_for_all: bool
    secrets: tuple[SecretSource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletPulled:
    """An image that a kubelet has pulled."""

    image_id: str
    by_repository: Mapping[str, KubeletAccess]


def pulled_image(data: bytes) -> KubeletPulled | None:
    """Return what a file of a pulled image says; None for what a kubelet cannot have written.

    The hashes of credentials are left: they have no salt, and those of one Secret are known by its UID. Who
    came by the token of a service account has to pull the image again.
    """
    try:
        document = _document(data, "ImagePulledRecord")
        image_id = str(document["imageRef"])
    except UNREADABLE:
        return None
    try:
        accesses = {
            name.repository: _access(access)
            for key, access in document["credentialMapping"].items()
            if (name := parse_image_name(key)) is not None
        }
    except UNREADABLE:
        accesses = {}
    return KubeletPulled(image_id=image_id, by_repository=accesses)


def begun_pull(data: bytes) -> ImageName | None:
    """Return which image a file of a pull is about; None for what a kubelet cannot have written."""
    try:
        return parse_image_name(str(_document(data, "ImagePullIntent")["image"]))
    except UNREADABLE:
        return None


def _document(data: bytes, kind: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(data)
    if document["kind"] != kind or not document["apiVersion"].startswith(GROUP):
        raise ValueError
    return document


def _access(access: dict[str, Any]) -> KubeletAccess:
    secrets = tuple(
        SecretSource(namespace=str(each["namespace"]), name=str(each["name"]), uid=str(each["uid"]))
        for each in access.get("kubernetesSecrets") or ()
    )
    return KubeletAccess(is_for_all=access.get("nodePodsAccessible") is True, secrets=secrets)
