"""The v1 defaults of volumes (rule S3). Works in place on values that conform to the schema."""

from __future__ import annotations

from typing import Any

from manifests.image_names import default_pull_policy

Json = dict[str, Any]

FILE_MODE = 0o644

_DEFAULTS: dict[str, Json] = {
    "secret": {"defaultMode": FILE_MODE},
    "configMap": {"defaultMode": FILE_MODE},
    "downwardAPI": {"defaultMode": FILE_MODE},
    "projected": {"defaultMode": FILE_MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "kind": "Shared",
        "readOnly": False,
    },
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
"""The defaults of fields that are absent or empty, by kind of volume."""

TOKEN_SECONDS = 3600
CERTIFICATE_SECONDS = 24 * 3600


def default_volume(volume: Json) -> None:
    """Fill in the defaults of ``volume``. One without a source becomes an ``emptyDir``."""
    if not any(name != "name" for name in volume):
        volume["emptyDir"] = {}
    for kind, defaults in _DEFAULTS.items():
        if kind in volume:
            given = {name: value for name, value in volume[kind].items() if value != ""}
            volume[kind] = {**volume[kind], **defaults, **given}
    for item in volume.get("downwardAPI", {}).get("items", ()):
        default_field_ref(item)
    for source in volume.get("projected", {}).get("sources", ()):
        _default_projection(source)
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate", {})
    if "spec" in template:
        template["spec"].setdefault("volumeMode", "Filesystem")
    image = volume.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = default_pull_policy(image.get("reference", ""))


def default_field_ref(holder: Json) -> None:
    """Fill in the version that ``holder.fieldRef`` is written for."""
    if "fieldRef" in holder and not holder["fieldRef"].get("apiVersion"):
        holder["fieldRef"]["apiVersion"] = "v1"
    if "fileKeyRef" in holder:
        holder["fileKeyRef"].setdefault("optional", False)


def _default_projection(source: Json) -> None:
    for item in source.get("downwardAPI", {}).get("items", ()):
        default_field_ref(item)
    if "serviceAccountToken" in source:
        source["serviceAccountToken"].setdefault("expirationSeconds", TOKEN_SECONDS)
    if "podCertificate" in source:
        source["podCertificate"].setdefault("maxExpirationSeconds", CERTIFICATE_SECONDS)
