"""Which objects of the API server a static pod depends on (rules S16 and R1-R7).

A static pod must run while the API server is away, so it may reference none; where local files
answer for Secrets and ConfigMaps, those two are allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sources.manifests.fields import Place
from sources.manifests.findings import Path

SECRETS = "secrets"
CONFIG_MAPS = "configmaps"
LOCAL = frozenset({SECRETS, CONFIG_MAPS})
"""What a store of local files can answer."""

_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

_NESTED_SECRETS = {
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "csi": "nodePublishSecretRef",
    "flexVolume": "secretRef",
    "iscsi": "secretRef",
    "rbd": "secretRef",
    "scaleIO": "secretRef",
    "storageos": "secretRef",
}
"""Kinds of volume that name a Secret in an object of their own: the field it is in."""

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
    for path in _secret_paths(spec):
        yield Reference(SECRETS, path)
    for path in _config_map_paths(spec):
        yield Reference(CONFIG_MAPS, path)
    if spec.get("resourceClaims"):
        yield Reference("resourceclaims", (*spec.path, "resourceClaims"))
    for volume in spec.each("volumes"):
        for kind, resource in _VOLUME_RESOURCES.items():
            if volume.has(kind):
                yield Reference(resource, (*volume.path, kind))
        yield from _projected(volume)


def _projected(volume: Place) -> Iterator[Reference]:
    projected = volume.child("projected")
    if projected is None:
        return
    for source in projected.each("sources"):
        for kind, resource in _PROJECTED_RESOURCES.items():
            if source.has(kind):
                yield Reference(resource, (*source.path, kind))


def _secret_paths(spec: Place) -> Iterator[Path]:
    for secret in spec.each("imagePullSecrets"):
        yield from _named(secret)
    yield from _in_containers(spec, "secretRef", "secretKeyRef")
    for volume in spec.each("volumes"):
        yield from _named(volume.child("secret"), "secretName")
        yield from _in_projections(volume, "secret")
        yield from _named(volume.child("azureFile"), "secretName")
        for kind, field in _NESTED_SECRETS.items():
            source = volume.child(kind)
            yield from _named(source.child(field) if source else None)


def _config_map_paths(spec: Place) -> Iterator[Path]:
    yield from _in_containers(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.each("volumes"):
        yield from _named(volume.child("configMap"))
        yield from _in_projections(volume, "configMap")


def _in_containers(spec: Place, whole: str, key: str) -> Iterator[Path]:
    """Yield paths of references in ``envFrom`` (to a ``whole`` object) and ``env`` (to a ``key``)."""
    for name in _CONTAINER_LISTS:
        for container in spec.each(name):
            for origin in container.each("envFrom"):
                yield from _named(origin.child(whole))
            for variable in container.each("env"):
                source = variable.child("valueFrom")
                yield from _named(source.child(key) if source else None)


def _in_projections(volume: Place, kind: str) -> Iterator[Path]:
    projected = volume.child("projected")
    if projected is not None:
        for source in projected.each("sources"):
            yield from _named(source.child(kind))


def _named(reference: Place | None, field: str = "name") -> Iterator[Path]:
    """Yield the path of ``field`` when it names something: empty names reference nothing."""
    if reference is not None and reference.get(field):
        yield (*reference.path, field)
