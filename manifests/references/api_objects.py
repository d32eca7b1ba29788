"""Which objects of the API server a static pod depends on (rules S16 and R1-R7).

A static pod must run while the API server is away, so it may reference none of them. Secrets and ConfigMaps
are allowed if local files provide them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from manifests.findings import Path
from manifests.places import Place
from manifests.references.pods import pod_references
from messages.objects import ObjectKind

SECRETS = "secrets"
CONFIG_MAPS = "configmaps"
LOCAL = frozenset({SECRETS, CONFIG_MAPS})
"""What local files can provide."""

_NAMED_RESOURCES = {ObjectKind.SECRET: SECRETS, ObjectKind.CONFIG_MAP: CONFIG_MAPS}
_VOLUME_RESOURCES = {
    "configMap": CONFIG_MAPS,
    "secret": SECRETS,
    "csi": "csidrivers",
    "glusterfs": "endpoints",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims",
    "azureFile": SECRETS,
}
_PROJECTED_RESOURCES = {
    "configMap": CONFIG_MAPS,
    "secret": SECRETS,
    "serviceAccountToken": "serviceaccounts",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


class Reference(NamedTuple):
    """The field at ``path`` makes the pod depend on an object of the kind ``resource``."""

    resource: str
    path: Path


def api_references(spec: Place) -> Iterator[Reference]:
    """Yield what ``spec`` depends on, in the order in which it is refused."""
    if spec.get("serviceAccountName"):
        yield Reference("serviceaccounts", (*spec.path, "serviceAccountName"))
    yield from _named(spec)
    if spec.get("resourceClaims"):
        yield Reference("resourceclaims", (*spec.path, "resourceClaims"))
    for volume in spec.each("volumes"):
        for kind, resource in _VOLUME_RESOURCES.items():
            if volume.has(kind):
                yield Reference(resource, (*volume.path, kind))
        yield from _projected(volume)


def _named(spec: Place) -> Iterator[Reference]:
    for kind, resource in _NAMED_RESOURCES.items():
        for reference in pod_references({"spec": spec.value}):
            if reference.kind is kind:
                yield Reference(resource, reference.path)


def _projected(volume: Place) -> Iterator[Reference]:
    projected = volume.child("projected")
    if projected is None:
        return
    for source in projected.each("sources"):
        for kind, resource in _PROJECTED_RESOURCES.items():
            if source.has(kind):
                yield Reference(resource, (*source.path, kind))
